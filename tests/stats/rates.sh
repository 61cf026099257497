#!/bin/sh
# 9,999 samples a second: sums still close, nothing is lost.
. "${TOP:?}/tests/root/lib.sh"

record_json fast -F 9999 -- "$(build hot.c)" 12 || fail rate-9999 "$(tail -n 1 fast.err)"
narrow rate-9999 profile_has fast.json "s['count'] >= 5000" "s['lost'] == 0" "sums_close()" \
	"near(self_('hot.c five'), 50, 4)" "near(self_('hot.c three'), 30, 4)" \
	"near(self_('hot.c two'), 20, 4)"
record_json slow -F 1 -- "$(build hot.c)" 25 || fail rate-1 "$(tail -n 1 slow.err)"

# A program that works in step with the rate: 30 % of every 10 ms in one function.
in_step() {
	record_json step -F 100 -- "$(build periodic.c)" 10000 30 10 || { tail -n 1 step.err; return 2; }
	python3 - step.json step.txt 3 <<'END'
import json
import sys
d = json.load(open(sys.argv[1], encoding="ascii"))
with open(sys.argv[2], encoding="utf-8") as f:
    one, two = next(map(float, line.split()) for line in f if len(line.split()) == 2)
found = {f["name"]: f["total_cpu_ns"] for f in d["functions"]}
is_ = 100 * found.get("part_one", 0) / (found.get("part_one", 0) + found.get("part_two", 0))
should = 100 * one / (one + two)
print(f"{is_:.1f} % of {d['samples']['count']} samples, it took {should:.1f} %")
# Not all of the ten seconds are its own on a busy machine: three sigma, then.
sys.exit(abs(is_ - should) > max(float(sys.argv[3]), 3 * (is_ * (100 - is_) / d["samples"]["count"]) ** 0.5))
END
}
narrow not-in-step in_step

# Samples count for the periods they were taken with, which are at most a fifth off; on average
# that is the nominal one.
mean_rate() {
	profile_has step.json "note('mean period', s['cpu_ns'] / s['count']) > 9.5e6" \
		"s['cpu_ns'] / s['count'] < 10.5e6" "d['period_ns'] == 10000000" "'budget' not in d" "sums_close()"
}
narrow mean-rate mean_rate

# One that keeps a CPU busy, with a budget that has no room for the rate.
record_json budget -F 2999 --budget 0.1% -- "$(build hot.c)" 60 || fail budget "$(tail -n 1 budget.err)"
narrow budget profile_has budget.json "note('lowest', d['budget']['lowest_hz']) < 1500" \
	"d['budget']['lowered_ns'] > 1e9" "d['budget']['percent'] == 0.1" "d['period_ns'] is None" \
	"400 <= note('interrupt', d['budget']['tick_ns']) <= 100000" "sums_close()" "s['lost'] == 0" \
	"any('because of --budget 0.1%' in w for w in d['warnings'])" \
	"near(self_('hot.c five'), 50, 12)"
# The CPU time does not depend on the rate: what the program says it used.
budget_time() {
	timeout 60 "$LB" run -F 2999 --budget 0.1% -o spent.pb.gz -- python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]))' "$(build hot.c)" 60 >spent.txt 2>spent.err ||
		return 2
	"$LB" report --json spent.pb.gz >spent.json
	python3 - spent.json spent.txt 0.05 <<'END'
import json
import sys
d = json.load(open(sys.argv[1], encoding="ascii"))
with open(sys.argv[2], encoding="utf-8") as f:
    used = float(f.readline())
found = sum(p["samples_cpu_ns"] for p in d["processes"] if p["comm"] == "hot") / 1e9
lowest = d["budget"]["lowest_hz"]
print(f"{found:.2f} s, it took {used:.2f} s, {lowest:.0f} Hz at the least")
# Samples of the lowest rate weigh most: as if all were of that. What a hypervisor took may have
# been taken from it, and it does not know.
bound, stolen = max(float(sys.argv[3]), 3.5 / (lowest * used) ** 0.5), d["losses"]["stolen_ns"] / 1e9
sys.exit(not -bound <= found / used - 1 <= bound + stolen / used)
END
}
narrow budget-time budget_time
