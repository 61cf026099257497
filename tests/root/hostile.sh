#!/bin/sh
# What strangers left for a reader that is root: a counted miss, no hang, no leak.
# Runs beside others.
. "${TOP:?}/tests/root/lib.sh"

perfmap=$(build perfmap.c)
echo "lb_secret 0x1 lb_secret" >secret
i=0
while [ $i -lt 4000 ]; do
	# A page of a JIT is somewhere in here, if it were read as a map.
	printf '%x000000000 fffffffff lb_secret_%d\n' $i $i
	i=$((i + 1))
done >>secret

# map HOW REASON...: the JIT's code has no name, for one of the reasons. It runs long
# enough for a drain, as it removes its map in the end.
map() {
	map_how=$1
	map_reasons=$2
	begin=$(date +%s)
	record_json "$map_how" -F 999 -- "$perfmap" 2.2 "$map_how" "$PWD/secret" ||
		{ tail -n 1 "$map_how.err"; return 1; }
	[ $(($(date +%s) - begin)) -lt 60 ] || { echo "it took $(($(date +%s) - begin)) s"; return 1; }
	! grep -a -q lb_secret "$map_how.json" "$map_how.txt" "$map_how.err" || { echo "the secret was read"; return 1; }
	"$LB" annotate --leaf --json "$map_how.pb.gz" >leaf.json
	profile_has leaf.json "miss($map_reasons) >= 80" "sums_close()" "s['count'] >= 100"
}
refused="'jit-file-refused'"
check perf-map-good map good "'jit-no-lines'"
check perf-map-0x map 0x "'jit-no-lines'"
for how in fifo symlink directory sparse foreign writable garbage; do
	check perf-map-$how map $how "$refused"
done

# ---- a program with damaged debug info ----

# damage SECTION HOW: a copy of hot, HOW is zeros, random or ff
damage() {
	python3 - "$(build hot.c)" damaged "$@" <<'END'
import random
import re
import subprocess
import sys
source, out, section, how = sys.argv[1:]
data = bytearray(open(source, "rb").read())
table = subprocess.run(["readelf", "-SW", source], capture_output=True, text=True, check=True).stdout
found = re.search(rf" {re.escape(section)} +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", table)
begin, size = (int(found.group(i), 16) for i in (1, 2))
random.seed(1)
data[begin:begin + size] = {"zeros": bytes(size), "ff": b"\xff" * size,
                            "random": random.randbytes(size)}[how]
open(out, "wb").write(data)
END
	chmod +x damaged
}
damaged() {
	rm -f damaged
	damage "$1" "$2" || return 1
	record_json damaged -F 999 -- ./damaged 3 || { tail -n 1 damaged.err; return 1; }
	# It goes on: the samples are there, and the function where its name is whole.
	profile_has damaged.json "s['count'] >= 100" "sums_close()" || return 1
	[ "$1" = .debug_str ] || [ "$1" = .symtab ] || profile_has damaged.json \
		"sum(f['self'] for f in d['functions'] if f['object'] == 'damaged') >= 0.7 * s['count']"
}
for section in .debug_info .debug_line .debug_abbrev .debug_str .symtab; do
	for how in zeros ff random; do
		check "damaged$section-$how" damaged $section $how
	done
done

# Cut off after what is loaded: no section headers, no debug info.
truncated() {
	end=$(readelf -SW "$(build hot.c)" | sed -n 's/.* \.comment *PROGBITS *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')
	whole=$(build hot.c)
	head -c "$((0x$end))" "$whole" >cut-off
	chmod +x cut-off
	record_json cut -F 999 -- ./cut-off 3 || { tail -n 1 cut.err; return 1; }
	profile_has cut.json "s['count'] >= 100" "sum(f['self'] for f in d['functions'] if f['name'] == 'five') == 0" "sums_close()"
}
check truncated-elf truncated

# Names with control characters do not reach the terminal.
escapes() {
	name=$(printf 'evil\033[2J\nname')
	cp "$(build hot.c)" "$name"
	record_json escapes -F 999 -- "./$name" 4 || { tail -n 1 escapes.err; return 1; }
	"$LB" report escapes.pb.gz >>escapes.txt
	! grep -q "$(printf '\033')" escapes.txt escapes.err || { echo "an escape was printed"; return 1; }
	profile_has escapes.json "s['count'] > 200"
}
check names-escaped escapes

# A process of nobody, as daemons and containers have them, ends no worker.
kills_no_worker() {
	"$(build hot.c)" 100000 >/dev/null &
	hot=$!
	timeout 60 "$LB" record -F 999 -p $hot -o unkilled.pb.gz >unkilled.txt 2>unkilled.err &
	timeout=$!
	said=0
	if wait_until 20 has_workers; then
		for worker in $workers; do
			! setpriv --reuid=65534 --regid=65534 --clear-groups kill -9 "$worker" 2>/dev/null ||
				{ echo "nobody may kill a worker"; said=1; }
		done
	else
		echo "there is no worker"
		said=1
	fi
	# They are there before the first sample is.
	sleep 2
	kill $hot
	wait $timeout || { echo "record: $(tail -n 1 unkilled.err)"; said=1; }
	return $said
}
has_workers() {
	workers=$(pgrep -P "$(pgrep -P "$timeout")" -x lineburn-worker)
}
check nobody-kills-no-worker kills_no_worker
