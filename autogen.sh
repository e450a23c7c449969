#!/bin/sh
# Make configure and the Makefile templates; needs autoconf and automake.
set -e
cd "$(dirname "$0")"
autoreconf --force --install --warnings=all,no-obsolete
