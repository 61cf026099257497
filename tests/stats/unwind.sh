#!/bin/sh
# Whole stacks of code without frame pointers: C and C++ in every way that a stack is left
# or begun, and what comes, goes and changes while it is recorded.
. "${TOP:?}/tests/root/lib.sh"

NO_FP="-fomit-frame-pointer -fno-builtin -fplt -Wl,-z,lazy"
stacks=$(build unwind/stacks.c "$NO_FP") || { fail unwind-build "no program"; exit 0; }

# record_stacks NAME PROGRAM WAY ROUNDS
record_stacks() {
	record_json "$1" -F 999 -- "$2" "$3" "$4" && return 0
	fail "unwind-$1" "$(tail -n 1 "$1.err")"
}

deep="{'plain': 20, 'with_array': 20, 'realigned': 20, 'below': 20, 'main': 1}"
half="{'plain': 20, 'with_array': 20, 'realigned': 20, 'handler': 1, 'main': 1}"

# A way, what is called on it so many times below the work, and the line of the first call.
record_stacks deep "$stacks" deep 600
narrow unwind-deep promptly_whole deep
narrow unwind-deep-frames stacks_have deep "times($deep, 'burn') >= 99.5"
narrow unwind-deep-line profile_has deep.json "total('stacks.c deep') >= 98.5"
record_stacks signal "$stacks" signal 600
narrow unwind-signal-stack promptly_whole signal
narrow unwind-signal-frames stacks_have signal "times($half, 'burn') >= 99.5" \
	"in_order('burn', 'realigned', 'handler', 'raise', 'realigned', 'main') >= 99.5"
record_stacks longjmp "$stacks" longjmp 600
narrow unwind-longjmp promptly_whole longjmp
narrow unwind-longjmp-frames stacks_have longjmp "times($deep, 'burn') >= 99.5"
# Its outermost frame is the coroutine's first: main is on another stack.
record_stacks context "$stacks" context 600
narrow unwind-swapcontext promptly_whole context
narrow unwind-swapcontext-frames stacks_have context \
	"times({'realigned': 20, 'coroutine': 1, 'main': 0}, 'burn') >= 99.5"
record_stacks fork "$stacks" fork 600
narrow unwind-fork promptly_whole fork
narrow unwind-fork-frames stacks_have fork "times($deep, 'burn') >= 99.5" \
	"in_order('burn', 'fork_here', 'below', 'main') >= 99.5"
record_stacks threads "$stacks" threads 15
# All start at once, and leave little to the one who makes the tables.
narrow unwind-threads promptly_whole threads 300
narrow unwind-threads-frames stacks_have threads "share('whole', has('start_thread')) >= 98" \
	"times({'realigned': 20, 'deep': 1, 'thread': 1, 'start_thread': 1}, 'burn') >= 99.5"
# Two images of one process, one after the other.
record_stacks exec "$stacks" exec 1200
narrow unwind-exec promptly_whole exec
narrow unwind-exec-frames stacks_have exec "times($deep, 'burn') >= 99.5" \
	"share('executing', has('executing')) > 35"
record_stacks plt "$stacks" plt 600
narrow unwind-plt promptly_whole plt
narrow unwind-plt-line profile_has plt.json "total('stacks.c calling') >= 98"
record_stacks vdso "$stacks" vdso 1200
narrow unwind-vdso promptly_whole vdso
narrow unwind-vdso-line profile_has vdso.json "total('stacks.c reading') >= 98"

# Frames beyond what was asked for are left out at the outer end, and said to be.
truncated() {
	record_json shallow -F 999 --max-frames 40 -- "$stacks" deep 1000 || { tail -n 1 shallow.err; return 1; }
	profile_has shallow.json "note('incomplete', percent(s['incomplete_stacks'])) >= 99" \
		"total('stacks.c burn') >= 99" "losses['user_truncated'] > 0" || return 1
	stacks_have shallow "times({'main': 0, 'burn': 1}, 'burn') >= 99.5"
}
narrow unwind-max-frames truncated

if g++ -O2 -g -fomit-frame-pointer -fno-inline -o stackscc "$WORKLOADS/unwind/stacks.cc" 2>gxx.err; then
	record_stacks cc ./stackscc deep 600
	narrow unwind-c++ promptly_whole cc
	narrow unwind-c++-frames stacks_have cc \
		"times({'Virtual::down': 16, 'pass<Step>': 15, 'closure': 15, '{lambda}::operator()': 15}, 'burn') >= 99.5" \
		"in_order('burn', 'Virtual::down', 'main') >= 99.5"
	record_stacks exceptions ./stackscc exceptions 2500
	narrow unwind-exceptions promptly_whole exceptions
	narrow unwind-exceptions-line profile_has exceptions.json "total('stacks.cc call') >= 96"
else
	skip unwind-c++ "no g++: $(tail -n 1 gxx.err)"
fi

# A library that is loaded while it is recorded.
gcc -O2 -g -fomit-frame-pointer -shared -fPIC -o plugin.so "$WORKLOADS/plugin.c"
gcc -O2 -g -fomit-frame-pointer -o dl "$WORKLOADS/dlopen.c" -ldl
record_json plugin -F 999 -- ./dl ./plugin.so 1500 || fail unwind-dlopen "$(tail -n 1 plugin.err)"
narrow unwind-dlopen promptly_whole plugin
narrow unwind-dlopen-line profile_has plugin.json "total('dlopen.c call') >= 65"

# All is there before we are.
attached() {
	"$stacks" deep 100000 &
	pid=$!
	sleep 0.3
	attached_status=0
	steady attached $pid || attached_status=1
	kill $pid
	wait $pid 2>/dev/null
	return $attached_status
}
narrow unwind-attached attached
narrow unwind-attached-frames stacks_have attached "times($deep, 'burn') >= 99.5"

# Processes that come and go: each lives for a tenth of a second.
churn() {
	# shellcheck disable=SC2016 # for the inner shell
	record_json churn -F 999 -- sh -c 'for i in $(seq 40); do "$0" deep 50; done' "$stacks" ||
		{ tail -n 1 churn.err; return 1; }
	promptly_whole churn
}
narrow unwind-churn churn

# shellcheck disable=SC2086 # a list of flags
# Code of 32 bits: its stack is not walked, and that is said.
if ! gcc -m32 $C_FLAGS -nostdlib -static -ffreestanding -fno-stack-protector -fno-pic -no-pie \
	-o word32 "$WORKLOADS/unwind/word32.c" 2>word32-gcc.err; then
	skip unwind-32-bit "gcc makes no code of 32 bits: $(tail -n 1 word32-gcc.err)"
elif ! ./word32 2>/dev/null; then
	skip unwind-32-bit "no program of 32 bits runs here (CONFIG_IA32_EMULATION)"
else
	record_json word32 -F 999 -- ./word32 || fail unwind-32-bit "$(tail -n 1 word32.err)"
	narrow unwind-32-bit-line profile_has word32.json "self_('word32.c work') >= 95" "sums_close()"
	:
fi
