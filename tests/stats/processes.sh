#!/bin/sh
# Processes that end before the drain, fork without exec, and threads.
. "${TOP:?}/tests/root/lib.sh"

short=$(build shortlived.c)
# shellcheck disable=SC2016 # for the inner shell
record_json short -F 999 -- sh -c 'i=0; while [ $i -lt 60 ]; do "$0"; i=$((i + 1)); done' "$short" ||
	fail short-lived "$(tail -n 1 short.err)"
# Nearly all of a short life is on one line; the rest is exec, loader and page faults.
short_has_lines() {
	python3 - short.json <<'END'
import json
import sys
d = json.load(open(sys.argv[1], encoding="ascii"))
mine = sum(p["samples"] for p in d["processes"] if p["comm"] == "shortlived")
hot = sum(line["self"] for f in d["files"] if f["path"].endswith("/shortlived.c")
          for line in f["lines"] if "HOT short" in (line["text"] or ""))
pids = sum(p["comm"] == "shortlived" for p in d["processes"])
late = sum(m["samples"] for m in d["misses"]
           if m["reason"] in ("no-process", "no-mapping", "file-gone", "ambiguous-time"))
if mine < 300 or hot < 0.85 * mine or pids < 57 or late > 0.05 * mine:
    sys.exit(f"{hot} of {mine} samples of {pids} processes on the hot line, {d['misses']}")
END
}
narrow short-lived short_has_lines

record_json forks -F 999 -- "$(build forks.c)" 4 200 || fail fork-without-exec "$(tail -n 1 forks.err)"
narrow fork-without-exec profile_has forks.json "self_('forks.c burn') >= 97" \
	"sum(p['samples'] > 60 for p in d['processes']) == 4"

record_json threads --tid -F 999 -- "$(build threads.c)" 1200 || fail threads "$(tail -n 1 threads.err)"
narrow threads profile_has threads.json "near(self_('threads.c three'), 75, 5)" \
	"near(self_('threads.c one'), 25, 5)" "sums_close()"
if command -v go >/dev/null; then
	thread_labels() {
		pprof -tags threads.pb.gz >tags.txt 2>&1 || return 1
		tids=$(sed -n '/^ *tid: /,/^ *$/p' tags.txt | grep -c '%')
		# The two threads, and perhaps the first one.
		if [ "$tids" -ge 3 ] && grep -q lb-three tags.txt && grep -q lb-one tags.txt; then
			return 0
		fi
		echo "$tids lines about tid: $(tr -s '\n ' ' ' <tags.txt)"
		return 1
	}
	:
else
	skip thread-labels "no go"
fi
