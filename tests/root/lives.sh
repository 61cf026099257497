#!/bin/sh
# A pid that is used again, exec by a thread, a process whose leader has ended, zombies.
# Takes 10 s.
. "${TOP:?}/tests/root/lib.sh"

if ! { lives=$(build lives.c) && brief=$(build brief.c -static); }; then
	fail lives "cannot build its programs"
	exit
fi

# One program under two names has the same addresses: only the process distinguishes the samples.
cp "$brief" one && cp "$brief" two
number_again() {
	status=0
	"$LB" run -F 999 -o again.pb.gz -- "$lives" again "$PWD/one" "$PWD/two" "$(longer 300000 800000)" >again.txt 2>again.err || status=$?
	[ $status -ne 3 ] || { echo "the number was never free"; return 3; }
	[ $status -eq 0 ] || { tail -n 1 again.err; return 2; }
	python3 -S "$TOP/tests/root/lives.py" both again.pb.gz again.txt "$PWD/one" "$PWD/two"
}
status=0
number_again >said.txt 2>&1 || status=$?
number_said() {
	tail -n 1 said.txt
	return $status
}
number_told() {
	"$LB" report --json again.pb.gz >again.json &&
		python3 -S "$TOP/tests/root/lives.py" again again.pb.gz again.json again.txt "$PWD/one" "$PWD/two"
}
case $status in
3) skip number-again "$(tail -n 1 said.txt)" ;;
*)
	check number-again number_said
	narrow number-again-time number_told
	;;
esac

# Samples before and after the exec.
thread_exec() {
	record_json thread-exec -F 999 -- "$lives" thread-exec "$(longer 300 800)" "$brief" "$(longer 300000 800000)" || { tail -n 1 thread-exec.err; return 1; }
	python3 -S "$TOP/tests/root/lives.py" exec thread-exec.pb.gz "$lives" "$brief" || return 1
	profile_has thread-exec.json "sums_close()" "s['lost'] == 0" \
		"self_('lives.c lives') > 0" "self_('brief.c brief') > 0"
}
check thread-exec thread_exec
narrow thread-exec-shares profile_has thread-exec.json \
	"near(self_('lives.c lives') / (self_('lives.c lives') + self_('brief.c brief')), 0.5, 0.15)" \
	"note('on either line', self_('lives.c lives') + self_('brief.c brief')) > 95"

record_json leader-gone -F 999 -- "$lives" leader-gone "$(longer 500 1600)" || fail leader-gone "$(tail -n 1 leader-gone.err)"
check leader-gone profile_has leader-gone.json "hottest() == is_at('lives.c lives')" "s['count'] >= 50" "sums_close()" \
	"s['lost'] == 0"
narrow leader-gone-share profile_has leader-gone.json "self_('lives.c lives') >= 95" "s['count'] >= 200"

record_json zombies -F 999 -- "$lives" zombies "$(longer 500 1600)" || fail zombies "$(tail -n 1 zombies.err)"
check zombies profile_has zombies.json "hottest() == is_at('lives.c lives')" "s['count'] >= 50" "sums_close()"
narrow zombies-share profile_has zombies.json "self_('lives.c lives') >= 95" "s['count'] >= 200"

# The leader, or the children, have ended before lineburn finds the process in /proc.
found() {
	"$lives" "$1" 100000 >/dev/null &
	pid=$!
		# Wait until its leader or its children have ended.
	wait_until 30 sh -c "grep -qs '^State:.*Z' /proc/$pid/status || grep -ls '^PPid:.$pid\$' /proc/[0-9]*/status | grep -q ." ||
		{ echo "it does not begin"; kill $pid; return 1; }
	status=0
	enough 100 "$1-found" "$(longer 0.7 2) 10" -p $pid || status=$?
	kill $pid
	wait $pid
	[ $status -eq 0 ] &&
		profile_has "$1-found.json" "hottest() == is_at('lives.c lives')" "s['count'] >= 20" "sums_close()"
}
for found in zombies leader-gone; do
	check $found-found found $found
	narrow $found-found-share profile_has $found-found.json "self_('lives.c lives') >= 95" "s['count'] >= 50"
done
