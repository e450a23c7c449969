#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The drawing of one RPC's way is the same in session.c and README.md, and each
# function in it exists.
set -u
cd "${srcdir:-.}" || exit 1
rc=0

drawing() { # file: the lines from the heading to the last arrow, no margin
	sed -e 's/^ \* *//' -e 's/^ *//' "$1" |
		sed -n '/^client  *one session  *brick$/,/^conn_flush(client)/p' |
		sed -e 's/  */ /g'
}

in_code=$(drawing daemon/session.c)
in_readme=$(drawing README.md)
if [ -z "$in_code" ] || [ "$in_code" != "$in_readme" ]; then
	echo 'the drawings of daemon/session.c and README.md differ:'
	echo "$in_code"
	echo "$in_readme"
	rc=1
fi
for name in $(echo "$in_code" | tail -n +3 | sed 's/([a-z]*)//g; s/[^:]*://' |
	tr -cs 'a-z_' ' '); do
	grep -qE "^[a-z].*[ *]$name\(" daemon/*.c && continue
	echo "no function $name in daemon/"
	rc=1
done
exit $rc
