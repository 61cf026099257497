#!/bin/sh
# Hostile files that root reads: each is a counted miss, without a hang or a leak.
# Takes 30 s.
. "${TOP:?}/tests/root/lib.sh"

perfmap=$(build perfmap.c)
echo "lb_secret 0x1 lb_secret" >secret
i=0
while [ $i -lt 4000 ]; do
	# Read as a perf map, these lines would name any address of JIT code.
	printf '%x000000000 fffffffff lb_secret_%d\n' $i $i
	i=$((i + 1))
done >>secret

# The JIT's code has no name, each time for another reason. A program removes its map at its end,
# so each runs long enough for a drain.
hows="good 0x fifo symlink directory sparse foreign writable garbage"
for how in $hows; do
	member "$how" "$perfmap" 1.3 "$how" "$PWD/secret"
done
MEMBER_VIEW=--leaf
together maps -F 999 >why 2>&1 || fail perf-maps "$(tail -n 1 why)"
MEMBER_VIEW=
check perf-maps-sums profile_has maps.json "sums_close()" "s['lost'] == 0"
secret_unread() {
	gzip -dc maps.pb.gz >maps.raw || return 1
	grep -a -q perfmap maps.raw || { echo "no text is found in it"; return 1; }
	unread_status=0
	grep -a -l lb_secret maps.raw maps.txt maps.err ./*.json || unread_status=$?
	[ $unread_status -eq 1 ] || { echo "the secret was read, or a file was not"; return 1; }
}
check perf-map-secret secret_unread
# map HOW REASON
map() {
	profile_has "$1.json" "miss('$2') > 80" "s['count'] >= 50"
}
for how in $hows; do
	case $how in
	good | 0x) check "perf-map-$how" map "$how" jit-no-lines ;;
	*) check "perf-map-$how" map "$how" jit-file-refused ;;
	esac
done

# ---- a program with damaged debug info ----

# damage SECTION HOW: makes a copy of hot whose SECTION is filled with zeros, random bytes or ff
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
for section in .debug_info .debug_line .debug_abbrev .debug_str .symtab; do
	for how in zeros ff random; do
		damage $section $how || fail "damaged$section-$how" "not made"
		mv damaged "damaged$section-$how"
		member "run$section-$how" "./damaged$section-$how" 1
	done
done
together damages -F 999 >why 2>&1 || fail damaged "$(tail -n 1 why)"
check damaged-sums profile_has damages.json "sums_close()" "s['lost'] == 0"
# damaged NAME SECTION: the samples are there, and have the function if names are not damaged
damaged() {
	profile_has "run$1.json" "s['count'] >= 30" || return 1
	[ "$2" = .debug_str ] || [ "$2" = .symtab ] || profile_has "run$1.json" \
		"sum(f['self'] for f in d['functions'] if f['object'] == 'damaged$1') >= 0.7 * s['count']"
}
for section in .debug_info .debug_line .debug_abbrev .debug_str .symtab; do
	for how in zeros ff random; do
		check "damaged$section-$how" damaged "$section-$how" $section
	done
done

# Truncated after the loaded segments: no section headers, no debug info.
truncated() {
	end=$(readelf -SW "$(build hot.c)" | sed -n 's/.* \.comment *PROGBITS *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')
	whole=$(build hot.c)
	head -c "$((0x$end))" "$whole" >cut-off
	chmod +x cut-off
	record_json cut -F 999 -- ./cut-off 2 || { tail -n 1 cut.err; return 1; }
	profile_has cut.json "s['count'] >= 100" "sum(f['self'] for f in d['functions'] if f['name'] == 'five') == 0" "sums_close()"
}
check truncated-elf truncated

# Names with control characters do not reach the terminal.
escapes() {
	name=$(printf 'evil\033[2J\nname')
	cp "$(build hot.c)" "$name"
	record_json escapes -F 999 -- "./$name" 2 || { tail -n 1 escapes.err; return 1; }
	"$LB" report escapes.pb.gz >>escapes.txt || return 1
	grep -qF 'evil\x1b[2J' escapes.txt || { echo "the name is not in the report"; return 1; }
	! grep -q "$(printf '\033')" escapes.txt escapes.err || { echo "an escape was printed"; return 1; }
	profile_has escapes.json "s['count'] > 50"
}
check names-escaped escapes

# A process of the user nobody, as daemons and containers have them, cannot kill a worker.
kills_no_worker() {
	"$(build hot.c)" 100000 >/dev/null &
	hot=$!
	# Check that this way to kill works: the user nobody may kill its own process.
	setpriv --reuid=65534 --regid=65534 --clear-groups sleep 600 &
	nobodys=$!
	wait_until 60 setpriv --reuid=65534 --regid=65534 --clear-groups kill -9 $nobodys ||
		{ echo "nobody cannot kill at all"; return 1; }
	timeout 60 "$LB" record -F 999 -p $hot -o unkilled.pb.gz >unkilled.txt 2>unkilled.err &
	timeout=$!
	said=0
	# The same check again while lineburn records.
	setpriv --reuid=65534 --regid=65534 --clear-groups sleep 60 &
	sleeper=$!
	wait_until 60 is_nobodys $sleeper
	as_nobody kill -9 $sleeper || { echo "nobody cannot even kill his own"; said=1; }
	if wait_until 60 has_workers; then
		for worker in $workers; do
			if as_nobody kill -9 "$worker" 2>/dev/null || ! kill -0 "$worker"; then
				echo "nobody may kill a worker"
				said=1
			fi
		done
	else
		echo "there is no worker"
		said=1
	fi
	# Workers start before the first sample.
	wait_until 60 records "$(pgrep -P "$timeout")"
	works $hot 100
	kill $hot
	wait $timeout || { echo "record: $(tail -n 1 unkilled.err)"; said=1; }
	return $said
}
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
is_nobodys() {
	[ "$(stat -c %u "/proc/$1")" = 65534 ]
}
has_workers() {
	workers=$(for each in $(family "$timeout"); do
		! grep -qx lineburn-worker "/proc/$each/comm" || echo "$each"
	done)
	[ -n "$workers" ]
}
check nobody-kills-no-worker kills_no_worker
