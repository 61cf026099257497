#!/bin/sh
# Sampling rates, and the budget that lowers them: sums add up, nothing is lost.
# Takes 25 s.
. "${TOP:?}/tests/root/lib.sh"

hot=$(build hot.c)
record_json fast -F 9999 -- "$hot" "$(longer 4 12)" || fail rate-9999 "$(tail -n 1 fast.err)"
check rate-9999 profile_has fast.json "s['count'] >= 1000" "s['lost'] == 0" "sums_close()" "d['period_ns'] == 100010" \
	"all(self_('hot.c ' + line) > 0 for line in ('five', 'three', 'two'))"
narrow rate-9999-shares profile_has fast.json "s['count'] >= 5000" \
	"near(self_('hot.c five'), 50, 4)" "near(self_('hot.c three'), 30, 4)" "near(self_('hot.c two'), 20, 4)"
record_json slow -F 1 -- "$hot" 15 || fail rate-1 "$(tail -n 1 slow.err)"
# All of the few ticks may hit other programs.
check rate-1 profile_has slow.json "s['count'] <= 20" "s['count'] + losses['other'] + losses['idle'] > 0" "d['period_ns'] == 1000000000" "sums_close()"
narrow rate-1-samples profile_has slow.json "s['count'] >= 1"

# A program that works in step with the sampling rate: 30 % of every 10 ms in one function.
# in_step BATCHES: that many programs, one after the other. One that got almost no CPU may have no samples.
in_step() {
	# shellcheck disable=SC2016 # for the inner shells
	record_json step -F 100 -- sh -c 'for i in $(seq "$1"); do
		sh -c "echo pid \$\$; exec \"\$0\" 10000 30 1" "$0"
	done' "$(build periodic.c)" "$1" || return 1
	profile_has step.json "d['period_ns'] == 10000000" "'budget' not in d" "sums_close()" >&2 || return 1
	python3 - "$LB" step <<'END'
import json
import re
import subprocess
import sys
lineburn, step = sys.argv[1:]
with open(step + ".txt", encoding="utf-8") as f:
    said = re.findall(r"^pid (\d+)\n(\S+) (\S+)$", f.read(), re.MULTILINE)
with open(step + ".json", encoding="ascii") as f:
    sampled = {p["pid"] for p in json.load(f)["processes"] if p["comm"] == "periodic"}
for pid, one, two in said:
    one, two = float(one), float(two)
    if int(pid) not in sampled and one + two < 0.3:
        continue
    d = json.loads(subprocess.run([lineburn, "report", "--json", "--pid", pid, step + ".pb.gz"],
                                  check=True, stdout=subprocess.PIPE).stdout)
    found = {f["name"]: f["total_cpu_ns"] for f in d["functions"]}
    both = found.get("part_one", 0) + found.get("part_two", 0)
    # Too few samples for a share.
    if d["samples"]["count"] < 20 or not both:
        continue
    print("part-in-step", 100 * found.get("part_one", 0) / both, 100 * one / (one + two), 0)
    # The periods of samples vary by a fifth; their mean is the nominal period.
    print("period", 100 * d["samples"]["cpu_ns"] / d["samples"]["count"] / 10e6, 100, 0)
END
}
statistic not-in-step 5 in_step
# Ten seconds in a row: only on a quiet machine.
step_share() {
	record_json step -F 100 -- "$(build periodic.c)" 10000 30 10 || { tail -n 1 step.err; return 2; }
	python3 - step.json step.txt <<'END'
import json
import sys
d = json.load(open(sys.argv[1], encoding="ascii"))
with open(sys.argv[2], encoding="utf-8") as f:
    one, two = next(map(float, line.split()) for line in f if len(line.split()) == 2)
found = {f["name"]: f["total_cpu_ns"] for f in d["functions"]}
is_ = 100 * found.get("part_one", 0) / (found.get("part_one", 0) + found.get("part_two", 0))
should = 100 * one / (one + two)
print(f"{is_:.1f} % of {d['samples']['count']} samples, it took {should:.1f} %")
sys.exit(abs(is_ - should) > max(3, 3 * (is_ * (100 - is_) / d["samples"]["count"]) ** 0.5))
END
}
narrow not-in-step-for-long step_share
# The periods of samples vary by a fifth; their mean is the nominal period.
narrow mean-rate profile_has step.json "9.5e6 < note('mean period', s['cpu_ns'] / s['count']) < 10.5e6" \
	"d['period_ns'] == 10000000" "'budget' not in d" "sums_close()"

# A busy program, with a budget too small for the rate. The sampled CPU time must equal the time that the
# program used, whatever the rate.
record_json budget -F 2999 --budget 0.1% -- python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]))' "$hot" "$(longer 30 60)" ||
	fail budget "$(tail -n 1 budget.err)"
check budget profile_has budget.json "note('lowest', d['budget']['lowest_hz']) < 1500" \
	"d['budget']['lowered_ns'] > 0" "d['budget']['percent'] == 0.1" "d['period_ns'] is None" \
	"400 <= note('interrupt', d['budget']['tick_ns'])" "sums_close()" "s['lost'] == 0" \
	"any('because of --budget 0.1%' in w for w in d['warnings'])"
narrow budget-shares profile_has budget.json "d['budget']['lowered_ns'] > 1e9" "note('interrupt', d['budget']['tick_ns']) <= 100000" \
	"near(self_('hot.c five'), 50, 12)"
budget_time() {
	python3 - budget.json budget.txt 0.05 <<'END'
import json
import sys
d = json.load(open(sys.argv[1], encoding="ascii"))
with open(sys.argv[2], encoding="utf-8") as f:
    used = float(f.readline())
found = sum(p["samples_cpu_ns"] for p in d["processes"] if p["comm"] == "hot") / 1e9
lowest = d["budget"]["lowest_hz"]
print(f"{found:.2f} s, it took {used:.2f} s, {lowest:.0f} Hz at the least")
# The bound is that of the lowest rate, as its samples weigh most. Stolen time may be in the
# profile, but not in the program's own measurement.
bound, stolen = max(float(sys.argv[3]), 3.5 / (lowest * used) ** 0.5), d["losses"]["stolen_ns"] / 1e9
sys.exit(not -bound <= found / used - 1 <= bound + stolen / used)
END
}
narrow budget-time budget_time
budget_roomy() {
	"$LB" run --budget 50 -o roomy.pb.gz -- "$hot" 8 >roomy.txt 2>roomy.err || { tail -n 1 roomy.err; return 1; }
	"$LB" report --json roomy.pb.gz >roomy.json
	profile_has roomy.json "d['budget']['lowered_ns'] == 0" "d['period_ns'] == 10101010"
}
check budget-roomy budget_roomy
