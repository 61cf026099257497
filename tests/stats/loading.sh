#!/bin/sh
# Code that is loaded after the start, and files that are not there any more.
. "${TOP:?}/tests/root/lib.sh"

dl=$(build dlopen.c)
# shellcheck disable=SC2086 # a list of flags
gcc $C_FLAGS -shared -fPIC -o plugin.so "$WORKLOADS/plugin.c"
record_json dlopen -F 999 -- "$dl" ./plugin.so 1000 || fail dlopen "$(tail -n 1 dlopen.err)"
narrow dlopen profile_has dlopen.json "self_('plugin.c plugin') >= 65" \
	"near(self_('plugin.c plugin') + self_('dlopen.c before'), 100, 2)" \
	"total('dlopen.c call') >= 65"

# gone NAME COMMAND...: a program runs, its file is changed by the command, then it is recorded.
gone() {
	gone_name=$1
	shift
	cp "$(build hot.c)" ./victim
	./victim 200 &
	victim=$!
	sleep 0.3
	"$@"
	timeout 30 "$LB" record -F 999 -d 1.5 -p "$victim" -o "$gone_name.pb.gz" 2>"$gone_name.err" ||
		fail "$gone_name" "$(tail -n 1 "$gone_name.err")"
	kill "$victim"
	wait "$victim" 2>/dev/null
	"$LB" annotate --json "$gone_name.pb.gz" >"$gone_name.json"
	narrow "$gone_name" profile_has "$gone_name.json" "s['count'] >= 200" \
		"s['with_line'] >= 0.98 * s['count']" "near(self_('hot.c five'), 50, 12)" "sums_close()"
}

gone deleted-binary rm -f ./victim
replace() {
	# shellcheck disable=SC2086 # a list of flags
	gcc $C_FLAGS -Dfive=other -o other "$WORKLOADS/syscalls.c" && mv other victim
}
gone replaced-binary replace
