#!/bin/sh
# Numba in children, in processes that ran before us, in two environments at once; its cache;
# lines without the uprobe, names without the hook; addresses that are used again.
. "${TOP:?}/tests/root/lib.sh"
programs=$WORKLOADS/python
has_numba new numba-processes || exit 0

# Children, by both ways, each with its lines.
children() {
	record_json "$1" -F 999 -- "$PYTHON" "$programs/parallel.py" "$1" 1.5 || { tail -n 1 "$1.err"; return 1; }
	profile_has "$1.json" \
		"self_('parallel.py grow') + self_('parallel.py square') > 0.8 * file_self('parallel.py') > 10" \
		"len(d['processes']) >= 2" "sums_close()" || return 1
	# What it printed first: the workers' ids.
	sed -n 's/^\([0-9][0-9]*\) [0-9][0-9]*$/\1/p' "$1.txt" | head -n 2 >workers
	[ "$(wc -l <workers)" -eq 2 ] || { echo "workers: $(tr '\n' ' ' <workers)"; return 1; }
	while read -r worker; do
		profile_has "$1.json" "any(p['pid'] == $worker and p['samples'] > 300 for p in d['processes'])" ||
			return 1
	done <workers
}
narrow numba-fork children fork
narrow numba-spawn children spawn
narrow numba-joblib children joblib

# After exec, by way of a shell.
# shellcheck disable=SC2016 # for the inner shell
after_exec() {
	record_json exec -F 999 -- sh -c 'true; exec "$@"' sh "$PYTHON" "$programs/known.py" 1 exec.truth ||
		{ tail -n 1 exec.err; return 1; }
	profile_has exec.json "file_self('known.py') > 20" "sums_close()"
}
narrow numba-exec after_exec

# The user's cache stays as it is, byte by byte; ours is kept, so the second run compiles nothing.
sums_of() {
	find "$1" -type f -exec sha256sum {} + | sort
}
cache() {
	unset PYTHONDONTWRITEBYTECODE
	mkdir user
	cp "$programs/cached.py" user/
	"$PYTHON" user/cached.py 0.1 >user.out
	grep -q compiled user.out || { echo "without us: $(cat user.out)"; return 1; }
	sums_of user >before
	[ "$(grep -c '\.nb[ic]$' before)" -ge 2 ] || { echo "the program has no cache"; return 1; }
	record_json first -F 999 -- "$PYTHON" user/cached.py 1 || { tail -n 1 first.err; return 1; }
	sums_of user >after
	cmp before after || return 1
	grep -q '^compiled' first.txt || { echo "a cache without lines was used"; return 1; }
	record_json second -F 999 -- "$PYTHON" user/cached.py 1 || { tail -n 1 second.err; return 1; }
	sums_of user >after
	cmp before after || return 1
	grep -q '^loaded' second.txt || { echo "the second run compiled again"; return 1; }
	profile_has first.json "file_self('cached.py') > 5" && profile_has second.json "file_self('cached.py') > 5"
	"$PYTHON" user/cached.py 0.1 | grep -q loaded || { echo "afterwards, without us, it compiles"; return 1; }
}

# Without the uprobe: by walking the lists. Without the hook: names, and how to get lines.
no_uprobe() {
	record_json walk -F 999 --no-uprobe -- "$PYTHON" "$programs/known.py" 2 walk.truth ||
		{ tail -n 1 walk.err; return 1; }
	profile_has walk.json "file_self('known.py') > 30" "sums_close()" "s['lost'] == 0"
}
narrow numba-no-uprobe no_uprobe
# Of the whole machine there is no uprobe: a function is known from its first samples on, also one
# that runs for a moment only. Without the kernel's word for what it meets a tenth is not.
everybodys() {
	"$LB" record -a -F 999 -o everybodys.pb.gz >everybodys.out 2>everybodys.err &
	recorder=$!
	wait_until 30 records $recorder || { echo "it does not begin"; return 1; }
	PYTHONPATH=$("$LB" python-hook --path) "$PYTHON" "$programs/kinds.py" 0.3 kinds.truth
	kill -INT $recorder
	wait $recorder || { tail -n 1 everybodys.err; return 1; }
	"$LB" annotate --leaf --json --comm 'python*' everybodys.pb.gz >everybodys.json
	profile_has everybodys.json "file_self('kinds.py') > 5" \
		"note('unknown', miss('jit-unknown', 'ambiguous-time')) <= 0.03 * file_self('kinds.py')"
}
narrow numba-whole-machine everybodys
names_only() {
	profile_has "$1" "jit_without_lines() > 30" \
		"any(name.endswith('five') for name in jit_functions())" "sums_close()"
}
no_hook() {
	record_json plain -F 999 --no-python-hook -- "$PYTHON" "$programs/known.py" 2 plain.truth ||
		{ tail -n 1 plain.err; return 1; }
	names_only plain.json && profile_has plain.json "self_('known.py five') == 0"
}
narrow numba-no-hook no_hook

# Processes that ran before us: with the hook in their environment, and without.
hook=$("$LB" python-hook --path 2>hook.err) || fail numba-hook-path "$(tail -n 1 hook.err)"
# attach NAME COMMAND...: records python, by the command, when it has long compiled all
attach() {
	attach_name=$1
	shift
	"$@" "$PYTHON" "$programs/known.py" 300 "$attach_name.truth" &
	attach_pid=$!
	sleep 5
	timeout 60 "$LB" record -F 999 -d 2 -p $attach_pid -o "$attach_name.pb.gz" >out 2>"$attach_name.err"
	attach_status=$?
	kill $attach_pid
	wait $attach_pid 2>/dev/null
	[ $attach_status -eq 0 ] || { tail -n 1 "$attach_name.err"; return 1; }
	"$LB" annotate --json "$attach_name.pb.gz" >"$attach_name.json"
}
attach_lines() {
	attach hooked env PYTHONPATH="$hook" || return 1
	profile_has hooked.json "file_self('known.py') > 90" "sums_close()"
}
attach_plain() {
	attach bare env || return 1
	names_only bare.json
}
[ -z "$hook" ] || narrow numba-attach attach_lines
narrow numba-attach-plain attach_plain

# Two environments at once, while a third program starts: the whole machine.
two_environments() {
	old=$TOP/build/venv/numba-old/bin/python
	cp "$programs/known.py" known_old.py
	cp "$programs/known.py" known_new.py
	cp "$programs/known.py" known_late.py
	PYTHONPATH=$hook "$old" known_old.py 300 old.truth &
	first=$!
	PYTHONPATH=$hook "$PYTHON" known_new.py 300 new.truth &
	second=$!
	sleep 5
	(sleep 1; PYTHONPATH=$hook exec "$PYTHON" known_late.py 1 late.truth) &
	third=$!
	timeout 60 "$LB" record -a -F 499 -d 6 -o both.pb.gz >out 2>both.err
	both_status=$?
	kill $first $second
	wait $first $second $third 2>/dev/null
	[ $both_status -eq 0 ] || { tail -n 1 both.err; return 1; }
	"$LB" annotate --json both.pb.gz >both.json
	profile_has both.json "file_self('known_old.py') > 10" "file_self('known_new.py') > 10" \
		"file_self('known_late.py') > 2" "sums_close()"
}
if [ -n "$hook" ] && [ -x "$TOP/build/venv/numba-old/bin/python" ]; then
	narrow numba-two-environments two_environments
else
	skip numba-two-environments "no second environment here"
fi

# The same address for two functions, of which one is never called: it has no sample.
# reuse RUNS-AT-LEAST OPTION...: the part of the samples due that must be found
reuse() {
	least=$1
	shift
	record_json reuse -F 999 "$@" -- "$PYTHON" "$programs/reuse.py" 3 reuse.truth || { tail -n 1 reuse.err; return 1; }
	python3 - reuse.json reuse.truth "$least" 0.8 <<'END'
import json
import sys
d, truth = (json.load(open(name, encoding="ascii")) for name in sys.argv[1:3])
if not truth["shared"]:
    sys.exit("no address was used twice: this tests nothing")
count = {name: sum(f["self"] for f in d["functions"] if f["name"] == name) for name in ("runs", "rests")}
ambiguous = d["samples"]["jit_unknown"]
due = truth["seconds"] * 1e9 * d["samples"]["count"] / d["samples"]["cpu_ns"]
said = f"{count}, {ambiguous} not known, {due:.0f} due, {truth['objects']} objects"
if count["rests"]:
    sys.exit("the function that never ran has samples: " + said)
if count["runs"] + ambiguous < float(sys.argv[4]) * due:
    sys.exit("samples are neither known nor told to be unknown: " + said)
if count["runs"] < float(sys.argv[3]) * due:
    sys.exit("samples are missing: " + said)
print(said)
END
}
narrow numba-reuse reuse 0.8
# Lists are walked seldom: most of it is not known then, but nothing is wrong.
narrow numba-reuse-by-walk reuse 0 --no-uprobe
