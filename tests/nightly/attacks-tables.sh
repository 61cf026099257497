#!/bin/sh
# Attacks of docs/security.md that fill what users share: 16 and 18.
# Takes 160 s.
# Runs alone.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-attacks.sh"

# cheap NAME PERCENT: lineburn and its helpers used at most that much of one CPU
cheap() {
	echo "$(cat "$1.cost") % of a CPU"
	[ "$(cat "$1.cost")" -le "$2" ]
}

# ---- 16: what is shared is full before the victim begins ----

# A victim whose code needs thousands of rules and a layout: an interpreter without frame pointers.
mkdir own
cat >own/victim.py <<'END'
import decimal
import json
import re
import signal
import sys
import zlib


def spin():
    while True:
        text = json.dumps([{"a": i, "b": [str(i)] * 5} for i in range(2000)])
        json.loads(text)
        zlib.compress(text.encode())
        re.sub("[0-9]+", lambda found: found.group()[::-1], text[:20000])
        sum(decimal.Decimal(i) / 7 for i in range(1, 500))


signal.alarm(int(sys.argv[1]))
spin()
END
victim_python=/usr/bin/python3
victim_begins() {
	sleep "$(($1 / 3))"
	# Before others: its stacks shall be those of its work, and not of its first moment only.
	nice -n -10 setpriv --reuid 30116 --regid 30116 --clear-groups env LD_LIBRARY_PATH="$PWD/own" \
		"$victim_python" -S -E own/victim.py $ATTACK_S &
	victim=$!
	attackers="$attackers $victim"
	sleep "$(($1 - $1 / 3))"
}

# is_whole NAME: 95 % of the victim's stacks, those of its first moment included, are whole, with its function.
# NAME.whole has the figures.
is_whole() {
	"$LB" annotate --json --pid "$victim" "$1.pb.gz" >"$1.victim.json" || return 1
	profile_has "$1.victim.json" "s['count'] >= 500" \
		"note('whole', walked('complete')) >= 0.95 * s['count']" \
		"note('spin', max(f['total'] for f in d['functions'] if f['name'] == 'spin')) >= 0.9 * s['count']" >"$1.whole"
}

# full NAME SECONDS: records; the victim begins after a third of that
full() {
	during=victim_begins
	full_status=0
	beside "$1" "$2" -a || full_status=1
	during="sleep"
	[ $full_status -eq 0 ] && is_whole "$1"
}

rules() {
	python3 "$WORKLOADS/attacks/rules.py" 0 16384 >rules.S && gcc -o rules-program rules.S || return 1
	as 30016 timeout $ATTACK_S ./rules-program &
	attackers="$attackers $!"
	full rules 15 && profile_has rules.json "note('refused', losses['unwind_rules_refused']) > 0" \
		"any('uid 30016' in w and 'used up its quarter of the' in w for w in note('warnings', d['warnings']))" &&
		cat rules.whole
}
figure attack-16-rules rules

# Each is sampled now and then, and keeps its layout: it is not the CPU time that the victim shall lack.
layouts() {
	for i in $(seq 80); do
		mkdir "layout-$i" || return 1
		# shellcheck disable=SC2086 # a list of flags
		gcc $C_FLAGS -rdynamic -DSPARE="$i" -o "layout-$i/python3.13" "$WORKLOADS/lying-python.c" \
			"$WORKLOADS/not-python.c" -pthread || return 1
	done
	for i in $(seq 80); do
		# shellcheck disable=SC2016 # for the inner shell
		as 30017 timeout $ATTACK_S sh -c 'while echo none 5000 layout; do sleep 1; done | "$0" >/dev/null' \
			"./layout-$i/python3.13" &
		attackers="$attackers $!"
	done
	# 16 of the table's 64 places are the attacker's part; the others are refused.
	full layouts 24 && profile_has layouts.json "note('refused', losses['pythons_unknown']) >= 48" && cat layouts.whole
}
figure attack-16-layouts layouts

# Copies each file of code that the victim maps, with a build id of its own, to where the victim takes it from:
# they need places that no other program's files have.
own_files() {
	/usr/bin/python3 -S -E - own <<'END'
import decimal
import json
import os
import re
import sys
import zlib

with open("/proc/self/maps", encoding="utf-8") as f:
    mapped = {line.split()[5] for line in f if " r-xp " in line and "/" in line}
for path in mapped:
    with open(path, "rb") as f:
        code = bytearray(f.read())
    note = re.search(rb"\x14\0\0\0\x03\0\0\0GNU\0", code)
    if note:
        code[note.end() : note.end() + 8] = os.urandom(8)
    copy = os.path.join(sys.argv[1], os.path.basename(path))
    with open(copy, "wb") as f:
        f.write(code)
    os.chmod(copy, 0o755)
END
	# Named as they are looked for.
	for copy in own/*.so.*; do
		soname=$(readelf -d "$copy" | sed -n 's/.*SONAME.*\[\(.*\)\]$/\1/p')
		[ -z "$soname" ] || [ -e "own/$soname" ] || mv "$copy" "own/$soname" || return 1
	done
	victim_python=$(echo own/python3.*)
	[ -x "$victim_python" ]
}

# More files than there are places for all (8,192), as the victim begins; 2,048 are the attacker's part.
memfds() {
	own_files || { echo "the victim's files cannot be copied: $(ls own)"; return 1; }
	for process in 1 2; do
		attack memfds-$process held as 30018 "$(build attacks/code.c)" $ATTACK_S 12000 || return 1
	done
	full memfds 30 && profile_has memfds.json "note('dropped', losses['files_dropped']) > 4096" \
		"any('uid 30018' in w and 'used up its quarter of the open files' in w for w in note('warnings', d['warnings']))" &&
		cat memfds.whole
}
figure attack-16-memfds memfds

# Uids of a user's range are on his account: none of them has too many files, all together have. With an
# /etc/subuid of its own.
subuids() {
	echo "30020:165000:65536" >subuid
	# shellcheck disable=SC2016 # for the inner shell
	printf '#!/bin/sh\nexec unshare -m sh -c %s "%s" "$@"\n' \
		"'mount --bind subuid /etc/subuid && exec \"\$0\" \"\$@\"'" "$LB" >with-subuid
	chmod 755 with-subuid
	for uid in 165001 165002 165003 165004; do
		attack subuids-$uid held as $uid "$(build attacks/code.c)" $ATTACK_S 1000 || return 1
	done
	own_lb=$LB
	LB=./with-subuid
	subuids_status=0
	beside subuids 8 -a || subuids_status=1
	LB=$own_lb
	[ $subuids_status -eq 0 ] && profile_has subuids.json "note('dropped', losses['files_dropped']) > 1000" \
		"any('uid 30020' in w and 'used up its quarter of the open files' in w for w in note('warnings', d['warnings']))"
}
if [ -e /etc/subuid ]; then
	figure attack-16-subuids subuids
else
	skip attack-16-subuids "no /etc/subuid to mount another one on"
fi

# ---- 18: as many mappings as the kernel allows, and a storm of more ----

mappings() {
	attack mappings held as 30019 "$(build attacks/mappings.c)" $ATTACK_S || return 1
	beside mappings 8 -a --memory 256 && cheap mappings 25 || return 1
	profile_has mappings.json "note('rss', d['cost']['collector_peak_rss_bytes']) < 256e6"
}
figure attack-18 mappings

figure attacks-tables-times soon layouts
