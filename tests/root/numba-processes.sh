#!/bin/sh
# Numba in child processes, in processes older than the recording, and in two environments at once;
# its cache; lines without the uprobe, names without the hook; addresses that are used again.
# Takes 60 s.
. "${TOP:?}/tests/root/lib.sh"
programs=$WORKLOADS/python
has_numba new numba-processes || exit 0
has_old=
[ ! -x "$TOP/build/venv/numba-old/bin/python" ] || has_old=yes

# ---- children, after exec, and with a cache ----

# The user's cache stays unchanged; our cache is kept between runs, so the second run compiles nothing.
sums_of() {
	find "$1" -type f -exec sha256sum {} + | sort
}
mkdir user
cp "$programs/cached.py" user/
env -u PYTHONDONTWRITEBYTECODE "$PYTHON" user/cached.py 0.1 >user.out
sums_of user >before

# The check leaves out joblib (tests/nightly has it) and spawn, which is an exec, as "first" below.
hows="fork $(longer "" "spawn joblib")"
for how in $hows; do
	member "$how" "$PYTHON" "$programs/parallel.py" "$how" "$(longer 0.4 1.5)"
done
# A shell executes this program.
# shellcheck disable=SC2016 # for the inner shell
member first sh -c 'true; exec "$@"' sh env -u PYTHONDONTWRITEBYTECODE "$PYTHON" user/cached.py 0.4
# Two functions at the same address, one of which is never called and must have no sample.
member reuse "$PYTHON" "$programs/reuse.py" "$(longer 1 3)" reuse.truth
together children -F 999 >why 2>&1 || fail numba-children "$(tail -n 1 why)"
check numba-sums closes children

# children HOW SAMPLES: the two workers have their lines and more than SAMPLES samples
children() {
	sed -n 's/^\([0-9][0-9]*\) [0-9][0-9]*$/\1/p' "$1.said" | head -n 2 >"$1.workers"
	[ "$(wc -l <"$1.workers")" -eq 2 ] || { echo "workers: $(tr '\n' ' ' <"$1.workers")"; return 1; }
	while read -r worker; do
		"$LB" annotate --json --pid "$worker" "$1.pb.gz" >worker.json
		profile_has worker.json "self_('parallel.py grow') > 0" "self_('parallel.py square') > 0" \
			"self_('parallel.py grow') + self_('parallel.py square') > 0.8 * file_self('parallel.py')" "s['count'] > $2" || return 1
	done <"$1.workers"
}
for how in $hows; do
	check "numba-$how" children "$how" 0
	narrow "numba-$how-samples" children "$how" 300
	narrow "numba-$how-share" profile_has "$how.json" "file_self('parallel.py') > 10" \
		"self_('parallel.py grow') + self_('parallel.py square') > 0.8 * file_self('parallel.py')"
done
check numba-exec profile_has first.json "file_self('cached.py') > 0"
after_exec() {
	# shellcheck disable=SC2016 # for the inner shell
	record_json exec -F 999 -- sh -c 'true; exec "$@"' sh "$PYTHON" "$programs/known.py" 1 exec.truth ||
		{ tail -n 1 exec.err; return 1; }
	profile_has exec.json "file_self('known.py') > 20" "sums_close()"
}
narrow numba-exec-share after_exec
# reused NAME [PART]: the function that never ran has no sample. At least PART of the samples expected for
# the other function are known, and at least 80 % of them are either known or counted as unknown.
reused() {
	python3 - "$1.json" "$1.truth" ${2:+"$2"} <<'END'
import json
import sys
d, truth = (json.load(open(name, encoding="ascii")) for name in sys.argv[1:3])
if not truth["shared"]:
    sys.exit("no address was used twice: this tests nothing")
count = {name: sum(f["self"] for f in d["functions"] if f["name"] == name) for name in ("runs", "rests")}
due = truth["seconds"] * 1e9 * d["samples"]["count"] / d["samples"]["cpu_ns"]
said = f"{count}, {d['samples']['jit_unknown']} not known, {due:.0f} due, {truth['objects']} objects"
if count["rests"]:
    sys.exit("the function that never ran has samples: " + said)
if count["runs"] + d["samples"]["jit_unknown"] < (0.8 * due if sys.argv[3:] else 20):
    sys.exit("samples are neither known nor told to be unknown: " + said)
if sys.argv[3:] and count["runs"] < float(sys.argv[3]) * due:
    sys.exit("samples are missing: " + said)
print(said)
END
}
figure numba-reuse reused reuse
narrow numba-reuse-share reused reuse 0.8
check numba-reuse-known profile_has reuse.json "function('runs') > 0"

# ---- without the uprobe, by walking the lists: most samples at reused addresses are unknown ----

member reuse-walk "$PYTHON" "$programs/reuse.py" "$(longer 1 3)" reuse-walk.truth
[ "$SUITE" != stats ] || member walked "$PYTHON" "$programs/known.py" 2 walked.truth
member second env -u PYTHONDONTWRITEBYTECODE "$PYTHON" user/cached.py 1.2
together walks -F 999 --no-uprobe >why 2>&1 || fail numba-walks "$(tail -n 1 why)"
check numba-walks-sums closes walks
check numba-no-uprobe profile_has second.json "file_self('cached.py') > 0"
narrow numba-no-uprobe-share profile_has walked.json "file_self('known.py') > 30"
figure numba-reuse-by-walk reused reuse-walk
narrow numba-reuse-by-walk-share reused reuse-walk 0
cached() {
	grep -q compiled user.out || { echo "without us: $(cat user.out)"; return 1; }
	[ "$(grep -c '\.nb[ic]$' before)" -ge 2 ] || { echo "the program has no cache"; return 1; }
	grep -q '^compiled' first.said || { echo "a cache without lines was used"; return 1; }
	sums_of user >after
	cmp before after || return 1
	grep -q '^loaded' second.said || { echo "the second run compiled again"; return 1; }
	env -u PYTHONDONTWRITEBYTECODE "$PYTHON" user/cached.py 0.1 | grep -q loaded || { echo "afterwards, without us, it compiles"; return 1; }
}
check numba-cache cached

# ---- without the hook: names, and how to get lines ----

names_only() {
	profile_has "$1.json" "jit_without_lines() > 0" "self_('known.py five') == 0" \
		"any(name.endswith('five') for name in jit_functions())"
}
member plain "$PYTHON" "$programs/known.py" "$(longer 0.7 2)" plain.truth
together no-hook -F 999 --no-python-hook >why 2>&1 || fail numba-no-hook "$(tail -n 1 why)"
check numba-no-hook-sums closes no-hook
check numba-no-hook names_only plain
narrow numba-no-hook-share profile_has plain.json "jit_without_lines() > 30"

# ---- processes older than the recording, with and without the hook in their environment ----

hook=$("$LB" python-hook --path 2>hook.err) || fail numba-hook-path "$(tail -n 1 hook.err)"
for name in known_new known_old known_late; do
	cp "$programs/known.py" $name.py
done
member hooked env PYTHONPATH="$hook" "$PYTHON" known_new.py 300 new.truth
member bare "$PYTHON" "$programs/known.py" 300 bare.truth
[ -z "$has_old" ] || member old env PYTHONPATH="$hook" "$TOP/build/venv/numba-old/bin/python" known_old.py 300 old.truth
# have_compiled NAME...: whether each has used 3.5 s of CPU, and so has compiled everything
have_compiled() {
	for name; do
		awk '{ sub(/.*\) /, ""); exit $12 + $13 < 350 }' "/proc/$(cat "$name.pid")/stat" || return 1
	done
}
for name in $members; do
	# shellcheck disable=SC1090 # what "member" wrote
	. "./$name.member" &
done
# shellcheck disable=SC2086 # a list of names
wait_until 100 have_compiled $members || fail numba-attach "they do not run"
"$LB" record -F 999 -d 2 -p "$(cat hooked.pid)" -p "$(cat bare.pid)" -o attached.pb.gz >out 2>attached.err &
recorder=$!
# Records the whole machine while one more program starts, whose functions run for a moment each. It has
# no uprobe: the walk finds a function when it is first sampled.
"$LB" record -a -F 999 -o everybodys.pb.gz >everybodys.out 2>everybodys.err &
everybodys=$!
wait_until 30 records $everybodys || fail numba-whole-machine "it does not begin"
PYTHONPATH=$hook "$PYTHON" known_late.py "$(longer 0.2 1)" late.truth &
late=$!
wait $late $recorder || fail numba-attach "$(tail -n 1 attached.err)"
kill -INT $everybodys
wait $everybodys || fail numba-whole-machine "$(tail -n 1 everybodys.err)"
for name in $members; do
	kill "$(cat "$name.pid")"
done
wait
for name in hooked bare; do
	"$LB" annotate --json --pid "$(cat $name.pid)" attached.pb.gz >$name.json
done
"$LB" annotate --json attached.pb.gz >attached.json
check numba-attach-sums profile_has attached.json "sums_close()"
check numba-attach profile_has hooked.json "file_self('known_new.py') > 50"
narrow numba-attach-share profile_has hooked.json "file_self('known_new.py') > 90"
check numba-attach-plain names_only bare
narrow numba-attach-plain-share profile_has bare.json "jit_without_lines() > 30"
"$LB" annotate --leaf --json everybodys.pb.gz >everybodys.json
check numba-whole-machine-sums profile_has everybodys.json "sums_close()" "s['lost'] == 0"
"$LB" annotate --leaf --json --pid $late everybodys.pb.gz >late.json
check numba-whole-machine python3 -S "$TOP/tests/root/truth.py" there late.json late.truth known_late.py two=two,step
if [ -n "$has_old" ]; then
	check numba-two-environments profile_has everybodys.json "file_self('known_old.py') > 0" "file_self('known_new.py') > 0" \
		"file_self('known_late.py') > 0"
	narrow numba-two-environments-shares profile_has everybodys.json "file_self('known_old.py') > 10" \
		"file_self('known_new.py') > 10" "file_self('known_late.py') > 2"
else
	skip numba-two-environments "no second environment here"
fi

# Functions that run for a moment only. Without the BPF program's requests a tenth would be unknown.
moments() {
	"$LB" record -a -F 999 -o moments.pb.gz >moments.out 2>moments.err &
	recorder=$!
	wait_until 30 records $recorder || { echo "it does not begin"; return 1; }
	PYTHONPATH=$hook "$PYTHON" "$programs/kinds.py" 0.3 kinds.truth
	kill -INT $recorder
	wait $recorder || { tail -n 1 moments.err; return 1; }
	"$LB" annotate --leaf --json --comm 'python*' moments.pb.gz >moments.json
	profile_has moments.json "file_self('kinds.py') > 5" \
		"note('unknown', miss('jit-unknown', 'ambiguous-time')) <= 0.03 * file_self('kinds.py')"
}
narrow numba-moments moments
