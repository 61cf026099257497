#!/bin/sh
# A terminal gets its listing through $PAGER; a pipe never does. Without its carriage returns.
export TERM=xterm NO_COLOR=1 PAGER='sed "s/^/> /"'
in_terminal() {
	script -qec "$1" /dev/null </dev/null | tr -d '\r' | head -n 3
	echo "--"
}
in_terminal 'lineburn annotate hot.pb.gz'
in_terminal 'lineburn report hot.pb.gz'
in_terminal 'lineburn annotate --no-pager hot.pb.gz'
in_terminal 'PAGER= lineburn annotate hot.pb.gz'
in_terminal 'TERM=dumb lineburn annotate hot.pb.gz'
in_terminal 'lineburn annotate --format csv hot.pb.gz'
# The user leaves early: no failure.
in_terminal 'PAGER="head -n 1" lineburn annotate hot.pb.gz; echo "exit $?"'
in_terminal 'lineburn annotate missing.pb.gz; echo "exit $?"'
lineburn annotate hot.pb.gz | head -n 1
