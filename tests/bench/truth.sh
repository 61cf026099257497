#!/bin/sh
# How often a line is right: judges every sample of programs whose every possible stack is known (truth.py,
# truth_programs.py), from the first instruction ("run") and attached, at 99 and 999 Hz.
# TRUTH_SECONDS (3): CPU time of each recording. TRUTH_SAMPLES (0): at least so many samples of all programs
# together; the rest is recorded at 9,999 Hz. TRUTH_ONLY="c go": only these programs. Fails if a line or a
# caller is wrong.
. "${TOP:?}/tests/root/lib.sh"
SECONDS_EACH=${TRUTH_SECONDS:-3}
SAMPLES=${TRUTH_SAMPLES:-0}
programs=$WORKLOADS/python
JUDGE="python3 -S $TOP/tests/bench/truth.py"
unset PYTHONPATH PYTHONHOME PYTHONSTARTUP
export PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1
: >results
all=

# has NAME NEEDS COMMAND...: whether the program is wanted and the command passes; otherwise prints why not
has() {
	has_name=$1
	has_needs=$2
	shift 2
	case " ${TRUTH_ONLY:-$has_name} " in *" $has_name "*) ;; *) return 1 ;; esac
	"$@" >build.out 2>&1 && return 0
	echo "skipped: $has_name, $has_needs: $(tail -n 1 build.out)" >>skipped
	return 1
}

# program NAME UNIT COMMAND: adds a program. In the command, N is the amount of work. UNIT: CPU seconds of
# N = 1; "measure": measure it. NAME.attached: the command for recordings that attach, if it is another one.
program() {
	all="$all $1"
	echo "$3" >"$1.run"
	[ -e "$1.attached" ] || cp "$1.run" "$1.attached"
	if [ "$2" = measure ]; then
		# shellcheck disable=SC2046 # words
		awk "BEGIN { print 10 / $(rounds $(sed 's/ N$//' "$1.run") 10 2>/dev/null) }" >"$1.unit"
	else
		echo "$2" >"$1.unit"
	fi
}
# command_of FILE UNITS-FILE SECONDS: prints the command that takes so long; seconds are not rounded
command_of() {
	command_n=$(awk "BEGIN { u = $(cat "$2"); n = $3 / u; printf(u == 1 ? \"%.2f\" : \"%d\", u == 1 ? n : n + 1) }")
	sed "s/\\<N\\>/$command_n/g" "$1"
}

# judged NAME SETTING: adds the recording to the results
judged() {
	"$LB" annotate --json "$1.pb.gz" >"$1.json" && $JUDGE judge "$1" "$2" "$1.pb.gz" "$1.json" results
	# shellcheck disable=SC2046 # words
	rm -f jit-*.dump isolate-*.log $(python3 -S -c 'import json, sys
for process in json.load(open(sys.argv[1]))["processes"]:
    print("/tmp/perf-%(pid)d.map /tmp/jit-%(pid)d.dump" % process)' "$1.json")
}

# from_start NAME RATE SECONDS
from_start() {
	# shellcheck disable=SC2046 # words
	timeout 300 "$LB" run -F "$2" -o "$1.pb.gz" -- \
		$(command_of "$1.run" "$1.unit" "$3") >"$1.out" 2>"$1.err" || [ -s "$1.pb.gz" ] ||
		{ tail -n 1 "$1.err" >&2; return 1; }
	judged "$1" "run $2"
}

# cpu_ms PID: the CPU time of all of its threads
cpu_ms() {
	awk '{ sub(/.*\) /, ""); print ($12 + $13) * 10 }' "/proc/$1/stat"
}
used() {
	[ "$(cpu_ms "$1")" -ge "$2" ]
}

# while_running NAME RATE SECONDS: attaches when the program has used a second (or the milliseconds of
# NAME.ready) of CPU time and NAME.before has passed, and records until it has used SECONDS more
while_running() {
	# shellcheck disable=SC2046,SC2091 # words of a command
	$(command_of "$1.attached" "$1.unit" 100000) >"$1.out" 2>&1 &
	running=$!
	wait_until 300 used $running "$(cat "$1.ready" 2>/dev/null || echo 1000)" || echo "$1 does not run" >&2
	[ ! -e "$1.before" ] || PID=$running sh -e "./$1.before" || echo "$1: cannot prepare it" >&2
	"$LB" record -F "$2" -o "$1.pb.gz" -p $running >"$1.out" 2>"$1.err" &
	recorder=$!
	wait_until 60 records $recorder
	wait_until 300 used $running "$(awk "BEGIN { print int($(cpu_ms $running) + 1000 * $3) }")"
	kill $recorder
	wait $recorder || tail -n 1 "$1.err" >&2
	kill -9 $running
	wait $running 2>/dev/null
	judged "$1" "attached $2"
}

# each_fault: every page fault of pages.c is a sample
each_fault() {
	fault_n=$((SAMPLES / nr / 6 / 1000 + 1))
	fault_orders=$(awk "BEGIN { while (i++ < $fault_n) print \"touch 1000\" }")
	(
		IFS='
'
		# shellcheck disable=SC2086 # an order is an argument
		exec "$LB" run -e page-faults -o pages.pb.gz -- ./pages $fault_orders
	) >pages.out 2>pages.err || { tail -n 1 pages.err >&2; return 1; }
	judged pages "faults $((1000 * fault_n))"
}

# ---- the programs ----

gcc_of() {
	gcc -O2 -g -fomit-frame-pointer -o "$1" "$WORKLOADS/$1.c" -pthread -ldl
}
for name in c:hot inline:inline kernel:syscalls; do
	! has "${name%:*}" gcc gcc_of "${name#*:}" || program "${name%:*}" measure "./${name#*:} N"
done
! has pages gcc gcc_of pages || all="$all pages"
! has c++ g++ g++ -O2 -g -fomit-frame-pointer -o hotcc "$WORKLOADS/hot.cc" || program c++ measure "./hotcc N"
! has rust rustc rustc -O -g -o hotrs "$WORKLOADS/hot.rs" || program rust measure "./hotrs N"
! has go go build_go hot.go || program go measure "$(build_go hot.go) N"

for version in 3.9 3.10 3.11 3.12 3.13 3.14 3.15; do
	for python in "${PYENV_ROOT:-${HOME:-/root}/.pyenv}/versions/$version".*/bin/python3; do :; done
	! has python-$version "no CPython $version" "$python" -c "" ||
		program python-$version 1 "$python $programs/calls.py N truth"
done
! has python-system "no /usr/bin/python3" /usr/bin/python3 -c "" ||
	program python-system 1 "/usr/bin/python3 $programs/calls.py N truth"

hook=$("$LB" python-hook --path)
for which in new old; do
	if has numba-$which "tools/venv.sh makes it" [ -e "$TOP/build/venv/numba-$which/.whole" ]; then
		has_numba $which numba
		echo "env PYTHONPATH=$hook $PYTHON $programs/known.py N truth" >numba-$which.attached
		echo 4000 >numba-$which.ready
		program numba-$which 1 "$PYTHON $programs/known.py N truth"
	fi
done
if has lljit "tools/venv.sh makes it" [ -e "$TOP/build/venv/numba-new/.whole" ]; then
	has_numba new numba
	program lljit 1 "$PYTHON $programs/lljit.py N"
fi

! has node "no node" node -e 0 || program node measure "node --perf-prof $WORKLOADS/hot.js N"
! has jitdump gcc gcc_of jit-reuse || program jitdump 2 "./jit-reuse . N"
! has perf-map gcc gcc_of perfmap || program perf-map 1 "./perfmap N kept"
erlang() {
	[ "$(erl -noshell -eval 'io:format("~s", [erlang:system_info(emu_flavor)])' -s init stop)" = jit ] &&
		erlc "$WORKLOADS/hot.erl"
}
if has erlang "no erlang with a JIT" erlang; then
	echo 1500 >erlang.ready
	program erlang 1.0001 "erl +JPperf true -noshell -run hot main N -s init stop"
fi
if has java "no javac" javac -d . "$WORKLOADS/Hot.java"; then
	# One compiler, so that no code is compiled after the map is written.
	java="java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UseOnStackReplacement"
	echo "$java Hot N" >java.attached
	# shellcheck disable=SC2016 # for while_running
	echo 'jcmd $PID Compiler.perfmap >jcmd.out' >java.before
	program java 1 "$java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit Hot N"
fi
php_jit="-d opcache.enable_cli=1 -d opcache.jit_buffer_size=64M -d opcache.jit=tracing -d opcache.jit_debug=256"
php_works() {
	# shellcheck disable=SC2086 # options
	[ "$(php $php_jit -r 'echo opcache_get_status()["jit"]["on"] ? "on" : "off";')" = on ]
}
! has php "no php with a JIT" php_works || program php 1 "php $php_jit $WORKLOADS/hot.php N"
! has luajit "no luajit" luajit -v || program luajit 1 "luajit $WORKLOADS/hot.lua N"

# ---- the recordings ----

nr=$(echo "$all" | wc -w)
for name in $all; do
	[ "$name" != pages ] || { each_fault; continue; }
	for rate in 99 999; do
		from_start "$name" $rate "$SECONDS_EACH"
		while_running "$name" $rate "$SECONDS_EACH"
	done
	for again in 1 2 3 4 5 6 7 8; do
		left=$((SAMPLES / nr - $($JUDGE count "$name" results)))
		[ $left -gt 0 ] || break
		seconds=$(awk "BEGIN { print $left / 2 / 9999 + 0.1 * $again }")
		from_start "$name" 9999 "$seconds"
		while_running "$name" 9999 "$seconds"
	done
done

echo "## How often a line is right"
echo
[ ! -e skipped ] || { cat skipped; echo; }
$JUDGE table results
