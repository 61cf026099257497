#!/bin/sh
# Processes that end before a drain, forks without exec, and threads.
. "${TOP:?}/tests/root/lib.sh"

# shellcheck disable=SC2016 # for the inner shell
record_json short -F 999 -- sh -c 'i=0; while [ $i -lt 60 ]; do "$0"; i=$((i + 1)); done' "$(build shortlived.c)" ||
	fail short-lived "$(tail -n 1 short.err)"
# A short process spends nearly all its time on one line; the rest is exec, loader and page faults.
short_has_lines() {
	python3 - short.json <<'END'
import json
import sys
d = json.load(open(sys.argv[1], encoding="ascii"))
lines = sorted(((line["self"], line["text"] or "") for f in d["files"] for line in f["lines"]), reverse=True)
pids = sum(p["comm"] == "shortlived" for p in d["processes"])
if "HOT short" not in lines[0][1] or pids < 30:
    sys.exit(f"{pids} processes; hottest {lines[0]}; {d['misses']}")
END
}
check short-lived short_has_lines
short_shares() {
	python3 - short.json <<'END'
import json
import sys
d = json.load(open(sys.argv[1], encoding="ascii"))
mine = sum(p["samples"] for p in d["processes"] if p["comm"] == "shortlived")
hot = sum(line["self"] for f in d["files"] if f["path"].endswith("/shortlived.c")
          for line in f["lines"] if "HOT short" in (line["text"] or ""))
pids = sum(p["comm"] == "shortlived" for p in d["processes"])
late = sum(m["samples"] for m in d["misses"]
           if m["reason"] in ("no-process", "no-mapping", "file-gone", "file-late", "ambiguous-time"))
if mine < 300 or hot < 0.85 * mine or pids < 57 or late > 0.05 * mine:
    sys.exit(f"{hot} of {mine} samples of {pids} processes on the hot line, {d['misses']}")
END
}
narrow short-lived-shares short_shares
check short-lived-sums profile_has short.json "sums_close()" "s['lost'] == 0"

record_json forks -F 999 -- "$(build forks.c)" 4 "$(longer 120 200)" || fail fork-without-exec "$(tail -n 1 forks.err)"
check fork-without-exec profile_has forks.json "hottest() == is_at('forks.c burn')" \
	"note('processes with it', sum(p['samples'] >= 5 for p in d['processes'])) == 4" "sums_close()"
narrow fork-without-exec-shares profile_has forks.json "self_('forks.c burn') >= 97" \
	"sum(p['samples'] > 60 for p in d['processes']) == 4"

record_json threads --tid -F 999 -- "$(build threads.c)" "$(longer 400 1200)" || fail threads "$(tail -n 1 threads.err)"
check threads profile_has threads.json "in_order('threads.c', 'HOT three', 'HOT one')" "sums_close()"
narrow threads-shares profile_has threads.json "near(self_('threads.c three'), 75, 5)" "near(self_('threads.c one'), 25, 5)"
thread_labels() {
	python3 -S "$TOP/tests/root/labels.py" threads.pb.gz comm >comms && grep -q '^lb-three ' comms && grep -q '^lb-one ' comms &&
		python3 -S "$TOP/tests/root/labels.py" threads.pb.gz tid >tids && [ "$(wc -l <tids)" -ge 2 ] && return 0
	tr '\n' ' ' <comms
	return 1
}
check thread-labels thread_labels
if command -v go >/dev/null; then
	pprof_shows() {
		pprof -tags threads.pb.gz >tags.txt 2>&1 && grep -q lb-three tags.txt && grep -q lb-one tags.txt && return 0
		tr -s '\n ' ' ' <tags.txt
		return 1
	}
	check thread-labels-in-pprof pprof_shows
else
	skip thread-labels-in-pprof "no go"
fi
