#!/bin/sh
# Measures the figures of docs/benchmarks.md, as Markdown. Needs root, a quiet machine, and minutes.
# usage: tests/bench/run.sh BIN [SECTION...]
# Sections: accounting budget cost cost-pairs lines filter task-events depth unwind unwind-tables whole answers truth compilers numba-start perf slowdown machine storm perfmap dwarf dwarf-libdw register lists scale many-stacks diff diff-pairs run-end top numba hook stuck opener forks static install; BENCH_SECONDS: length of "machine" (60), STORM_SECONDS of "storm" (60), TRUTH_SECONDS of each recording of "truth" (3), TASK_SECONDS of each run of "task-events" (2), START_SECONDS of each recording of "numba-start" (13); WHOLE_RATE of "whole" (499); PAIRS and SLOWER_PAIRS of "diff-pairs" (100, 20); END_ROUNDS of "run-end" (5); TOP_ROUNDS and TOP_SECONDS of "top" (3, 30); LB_OTHER, COST_ROUNDS, COST_WORKLOADS, LINES_DETAIL: see cost.sh, cost-pairs.sh, lines.sh; STUCK_ROUNDS of "stuck" (5); LB_OTHER, OPENER_ROUNDS, OPENER_SECONDS of "opener"; STATIC_ROUNDS of "static" (15); INSTALL_ROUNDS of "install" (9).
here=$(cd "$(dirname "$0")" && pwd)
LB=$(realpath "${1:?usage: run.sh BIN [SECTION...]}")
shift
TOP=$(cd "$here/../.." && pwd)
WORK=$(mktemp -d /tmp/lineburn-bench.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
trap 'exit 130' INT TERM
mkdir "$WORK/bin"
export LB TOP WORK
cd "$WORK" || exit 1
. "$TOP/tests/root/lib.sh"
[ "$(id -u)" -eq 0 ] || { echo "bench: needs root" >&2; exit 1; }
[ $# -gt 0 ] || set -- accounting budget cost cost-pairs lines filter task-events depth unwind unwind-tables whole answers truth compilers numba-start perf slowdown machine storm perfmap dwarf dwarf-libdw register lists scale many-stacks diff diff-pairs run-end top numba hook stuck opener forks static install

echo "$("$LB" --version), Linux $(uname -r), $(nproc) CPUs," \
	"$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
for section in "$@"; do
	echo
	"$here/$section.sh" || { echo "bench: $section failed" >&2; failed=1; }
done
exit "${failed:-0}"
