#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Install what tests/packages.txt names and this machine lacks (Debian 12).
#
# Needs root only when something is missing, and the network likewise.
set -eu

cd "$(dirname "$0")"

# Names without comments, one a line.
wanted() { sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' packages.txt; }

is_installed() {
	state=$(dpkg-query --show --showformat='${db:Status-Status}' "$1" \
		2> /dev/null) && [ "$state" = installed ]
}

missing=
for package in $(wanted); do
	is_installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "not installed, and only root can do it:$missing" >&2
	exit 1
fi

# No service starts because its package arrives: tests start their own peers.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap 'rm -f $policy' EXIT
	printf '#!/bin/sh\nexit 101\n' > $policy
	chmod 755 $policy
fi

export DEBIAN_FRONTEND=noninteractive
apt="apt-get -q -y -o Acquire::Retries=3 -o Dpkg::Use-Pty=0"
echo "installing:$missing"
# A source of somebody else's that is out of reach is not our failure.
$apt update < /dev/null || echo "apt-get update failed, trying without" >&2
# shellcheck disable=SC2086 # a list of words
$apt install --no-install-recommends $missing < /dev/null
