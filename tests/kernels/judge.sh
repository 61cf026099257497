#!/bin/sh
# Judges the results of a guest; run.sh starts it in the folder with these.
# usage: tests/kernels/judge.sh KERNEL   (the first word of each test's name)
. "${TOP:?}/tests/root/lib.sh"
kernel=${1:?usage: judge.sh KERNEL}

turns="{'plain': 20, 'with_array': 20, 'realigned': 20, 'below': 20, 'main': 1}"
interrupted="{'plain': 20, 'with_array': 20, 'realigned': 20, 'handler': 1, 'main': 1}"

# ended NAME: whether lineburn ended with status 0. The verifier's log is in NAME.verbose.err.
ended() {
	[ "$(cat "$1.status" 2>/dev/null)" = 0 ] && return 0
	echo "status $(cat "$1.status" 2>/dev/null || echo unknown): $(tail -n 1 "$1.err" 2>/dev/null)"
	return 1
}

# profiled NAME EXPRESSION...: as profile_has; also checks for enough samples and no loss
profiled() {
	profiled_name=$1
	shift
	ended "$profiled_name" && profile_has "$profiled_name.json" "s['count'] > 50" \
		"note('lost', s['lost']) == 0" "sums_close()" "$@"
}

# whole NAME EXPRESSION...: as profiled; also, nearly all stacks are whole. The emulated machine is slow, and
# unwind tables are made while the first samples are taken: not those of the first five seconds.
whole() {
	profiled "$@" && profile_has "$1.later.json" "s['count'] > 50" \
		"note('incomplete', percent(s['incomplete_stacks'])) <= 1"
}

# calm: the kernel's log has no warnings; the line with its command line does not count
calm() {
	[ -s kernel.log ] || { echo "it has no log"; return 1; }
	! grep -v 'ommand line:' kernel.log | grep -E 'BUG:|Oops|WARNING:|Call Trace|lockup|rcu.*stall'
}

# unit NAME: results of a unit test, and its skips; the line before "SKIPPED" is the reason
unit() {
	unit_name=$1
	awk '/^\[  SKIPPED \] / { skipped[said]++ } { said = $0 }
		END { for (said in skipped) print said " (tests: " skipped[said] ")" }' \
		"$unit_name.txt" >"$unit_name.skipped"
	while read -r unit_reason; do
		skip "$kernel $unit_name" "$unit_reason"
	done <"$unit_name.skipped"
	# If all tests were skipped and the program ended with status 0, there is no further result.
	if [ ! -s "$unit_name.skipped" ] || [ "$(cat "$unit_name.status" 2>/dev/null)" != 0 ] || grep -qE '^\[ +(OK|FAILED) +\]' "$unit_name.txt"; then
		figure "$kernel $unit_name" unit_ended "$unit_name"
	fi
}

unit_ended() {
	if [ "$(cat "$1.status" 2>/dev/null)" != 0 ]; then
		cat "$1.err" "$1.txt" | grep -E '^\[ +(ERROR|LINE|FAILED) +\]' | head -n 3 | tr '\n' ' '
		return 1
	fi
	unit_verified=$(cat "$1.txt" "$1.err" | sed -n 's/^\([1-9][0-9]* instructions verified\).*/, \1/p')
	echo "$(grep -c '^\[       OK \]' "$1.txt") tests$unit_verified"
}

stacks() {
	unit unwind
	unit jit_probe
	unit map_sizes
	unit sampler
	figure "$kernel deep" whole deep "hottest() == is_at('stacks.c burn')" \
		"total('stacks.c deep') >= 90"
	figure "$kernel deep-frames" stacks_have deep "times($turns, 'burn') >= 95"
	figure "$kernel signal" whole signal "hottest() == is_at('stacks.c burn')"
	figure "$kernel signal-frames" stacks_have signal "times($interrupted, 'burn') >= 95"
	figure "$kernel python" whole python "total('recursion.py bottom') >= 50"
	figure "$kernel python-frames" stacks_have python "times({'down': 31, '<module>': 1}, 'spin') >= 95"
}

machine() {
	# Few of the other processes live long enough to get unwind tables.
	figure "$kernel machine" profiled machine "len(d['processes']) > 10" \
		"hottest() == is_at('stacks.c burn')" \
		"note('kernel', any(f['object'] == '[kernel]' for f in d['functions']))"
		# The program runs when recording begins: until its tables are made, its frames are unknown.
	figure "$kernel machine-frames" stacks_have machine "times($turns, 'burn') >= 85"
}

# chosen NAME EXPRESSION: a condition about the processes that were sampled
chosen() {
	figure "$kernel choice-$1" profiled "$1" \
		"note('processes', [(p['pid'], p['comm']) for p in d['processes']]) and $2"
}

choices() {
	inside=$(cat inside.pid)
	outside=$(cat outside.pid)
	pids="{p['pid'] for p in d['processes']}"
	chosen cgroup "$pids == {$inside}"
	chosen not-cgroup "$inside not in $pids and $outside in $pids"
	chosen container "$pids == {$inside} and d['processes'][0]['container_runtime'] == 'docker'"
	chosen unit "$pids == {$outside} and d['processes'][0]['unit'] == 'other.service'"
	# 520 samples: the cached answer to --comm must be renewed on each CPU.
	chosen comm "$pids == {$inside} and s['count'] > 520 and d['processes'][0]['container'].startswith('5f0c0ffee5f0')"
	chosen not-comm "$inside not in $pids and $outside in $pids"
	chosen user "$pids == {$outside} and d['processes'][0]['user'] == '54321'"
	chosen thread "$pids == {$inside}"
	chosen children "{p['comm'] for p in d['processes']} <= {'stacks', 'sh'} and len($pids) > 1"
		# The exclusion of a process ends when it begins to exit; the rest of its exit may be sampled.
	chosen not-children "{$inside, $outside} <= $pids and sum(p['samples'] for p in d['processes'] if p['comm'] == 'stacks') <= 2"
}

# judged NAME: runs a script about the windows of NAME, if lineburn ended with status 0
judged() {
	[ "$(cat "$1.status")" = 0 ] && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TOP/tests/kernels python3 -
}

# Windows are adjacent also across sleeps, in which nothing is sampled; afterwards both CPUs are sampled.
suspended() {
	judged suspend <<'END'
import sys
from windows import uptimes, windows
times = uptimes("suspend")
slept = [end - begin for begin, end in zip(times[::2], times[1::2])]
of = [(d["time_ns"] / 1e9, d["duration_ns"] / 1e9, d["samples"]["cpu_ns"] / 1e9, d["samples"]["count"])
      for d in windows("suspend")]
print("slept", ", ".join(f"{seconds:.1f} s" for seconds in slept), "of uptime;",
      ", ".join(f"{cpu:.1f} s of CPU in {length:.1f} s" for _, length, cpu, _ in of))
awake = sum(length for _, length, _, _ in of)
wall = of[-1][0] + of[-1][1] - of[0][0]
if not (max(slept) > 3 and len(slept) == 2 and wall > awake + 0.5 * sum(slept)):
    sys.exit(f"it did not sleep: {wall} s by the clock, {awake} s of windows")
for _, length, cpu, count in of:
    if cpu > 2.04 * length or abs(count / 199 - cpu) > 0.2 * cpu:
        sys.exit(f"{count} samples, {cpu} s of CPU in {length} s; windows {of}")
# An emulated CPU misses some ticks; without one of two CPUs it would be 1.0 at most.
if of[-2][2] < 1.3 * of[-2][1]:
    sys.exit(f"a CPU is not sampled after the sleep: {of[-2][2]} s of CPU in {of[-2][1]} s")
END
}
suspend() {
	if [ -e suspend.uptime ]; then
		figure "$kernel suspend" suspended
	else
		skip "$kernel suspend" "it cannot be suspended to RAM"
	fi
}

# A change of the clock loses no window and makes none longer.
stepped() {
	judged clock <<'END'
import sys
from windows import uptimes, windows
before, begin, end, after = uptimes("clock")
found = windows("clock")
lengths = [d["duration_ns"] / 1e9 for d in found]
starts = sorted(d["time_ns"] / 1e9 for d in found)
print(f"{len(found)} windows of {min(lengths):.1f} to {max(lengths):.1f} s in {end - begin:.1f} s")
# By the clock, which is set back by a minute for 15 s, one would have 15 s. In a slow guest the loop may wait
# some seconds for a helper's start.
if not end - begin < sum(lengths) + 0.1 or sum(lengths) > after - before or max(lengths) > 10:
    sys.exit(f"{lengths} s in {end - begin} s, {after - before} s with begin and end")
if starts[-1] - starts[0] < 3500:
    sys.exit("the clock was not set")
END
}
clock() {
	figure "$kernel clock" stepped
}

loading() {
	figure "$kernel loading" loaded
}
loaded() {
	ended loading && grep -o '[0-9]* instructions verified' loading.err
}

# Doctor and a recording agree, and the kernels of Debian restrict perf events. The last line is a figure.
rights() {
	figure "$kernel rights" agreed
}
agreed() {
	[ "$(wc -l <rights.txt)" -eq 12 ] || { echo "not all were tried"; return 1; }
	awk '$4 == 4 {$4 = 0} $3 != $4 {print; wrong = 1} END {exit wrong}' rights.txt || return 1
	[ "$(grep -c -e '^2 bpf,perfmon 0 ' -e '^4 sys_admin 0 ' rights.txt)" -eq 2 ] || { echo "nobody records: $(tr '\n' ';' <rights.txt)"; return 1; }
	for value in 3 4; do
		if grep -q "^$value bpf,perfmon 3 3" rights.txt; then echo "$value asks for CAP_SYS_ADMIN"; else echo "$value is taken as 2"; fi
	done | tr '\n' ' '
}

# refused NAME: lineburn ended, and said why it does not record on this kernel
refused() {
	[ "$(cat "$1.status")" != 0 ] && cat "$1.txt" "$1.err" | grep 'this PREEMPT_RT kernel'
}
# The lock of its ring buffers sleeps.
case $kernel in
5.10.*-rt-*)
	check "$kernel doctor-refuses" refused doctor
	check "$kernel refuses" refused loading
	check "$kernel dmesg" calm
	exit 0
	;;
esac

check "$kernel doctor" ended doctor
for part in loading rights stacks machine choices suspend clock; do
	case ",${ONLY:-$part}," in
	*",$part,"*) $part ;;
	esac
done
check "$kernel dmesg" calm
