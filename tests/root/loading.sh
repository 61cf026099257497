#!/bin/sh
# Code that is loaded after the start, and files that were removed or replaced.
. "${TOP:?}/tests/root/lib.sh"

dl=$(build dlopen.c)
# shellcheck disable=SC2086 # a list of flags
gcc $C_FLAGS -shared -fPIC -o plugin.so "$WORKLOADS/plugin.c"
record_json dlopen -F 999 -- "$dl" ./plugin.so "$(longer 300 1000)" || fail dlopen "$(tail -n 1 dlopen.err)"
check dlopen profile_has dlopen.json "self_('plugin.c plugin') > 0" "self_('dlopen.c before') > 0" \
	"total('dlopen.c call') > 0" "sums_close()"
narrow dlopen-shares profile_has dlopen.json "self_('plugin.c plugin') >= 65" \
	"near(self_('plugin.c plugin') + self_('dlopen.c before'), 100, 2)" "total('dlopen.c call') >= 65"

# Programs whose files are removed or replaced before the recording begins.
cp "$(build hot.c)" ./deleted
cp deleted ./replaced
member deleted ./deleted 200
member replaced ./replaced 200
# shellcheck disable=SC2086 # a list of flags
gcc $C_FLAGS -Dfive=other -o other "$WORKLOADS/syscalls.c"
change() {
	wait_until 60 started deleted && wait_until 60 started replaced && rm -f ./deleted && mv other replaced
}
change &
(
	while [ -e deleted ] || [ -e other ]; do sleep 0.05; done
) &
gate=$!
for name in $members; do
	# shellcheck disable=SC1090 # what "member" wrote
	. "./$name.member" &
done
wait $gate
enough 400 gone "$(longer 1 2) 10" -p "$(cat deleted.pid)" -p "$(cat replaced.pid)" >enough.out ||
	fail gone "$(tail -n 1 enough.out)"
kill "$(cat deleted.pid)" "$(cat replaced.pid)"
take_part gone
check gone-sums profile_has gone.json "sums_close()" "s['lost'] == 0"
for name in deleted replaced; do
	check $name-binary profile_has $name.json "s['count'] >= 20" "file_self('hot.c') > 85"
	narrow $name-binary-share profile_has $name.json "s['count'] >= 200" \
		"s['with_line'] >= 0.98 * s['count']" "near(self_('hot.c five'), 50, 12)"
done
