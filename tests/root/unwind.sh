#!/bin/sh
# Whole stacks of code without frame pointers: C and C++ in every way that a stack is left
# or begun, and what comes, goes and changes while it is recorded.
# Takes 20 s.
. "${TOP:?}/tests/root/lib.sh"

NO_FP="-fomit-frame-pointer -fno-builtin -fplt -Wl,-z,lazy"
stacks=$(build unwind/stacks.c "$NO_FP") || { fail unwind-build "no program"; exit 0; }
has_cc=yes
g++ -O2 -g -fomit-frame-pointer -fno-inline -o stackscc "$WORKLOADS/unwind/stacks.cc" 2>gxx.err || has_cc=

# ---- from their start ----

for way in deep signal longjmp context plt; do
	member $way "$stacks" $way 250
done
member vdso "$stacks" vdso 500
if [ -n "$has_cc" ]; then
	member cc ./stackscc deep 250
	member exceptions ./stackscc exceptions 800
fi
# A library that is loaded while it is recorded.
gcc -O2 -g -fomit-frame-pointer -shared -fPIC -o plugin.so "$WORKLOADS/plugin.c"
gcc -O2 -g -fomit-frame-pointer -o dl "$WORKLOADS/dlopen.c" -ldl
member plugin ./dl ./plugin.so 600
together ways -F 999 >why 2>&1 || fail unwind-ways "$(tail -n 1 why)"
check unwind-ways-sums profile_has ways.json "sums_close()" "s['lost'] == 0"

# What is called on a way so many times below the work, and the line of the first call.
deep="{'plain': 20, 'with_array': 20, 'realigned': 20, 'below': 20, 'main': 1}"
half="{'plain': 20, 'with_array': 20, 'realigned': 20, 'handler': 1, 'main': 1}"
check unwind-deep whole deep
check unwind-deep-frames stacks_have deep "times($deep, 'burn') == 100"
check unwind-deep-line profile_has deep.json "total('stacks.c deep') > 50"
check unwind-signal-stack whole signal
check unwind-signal-frames stacks_have signal "times($half, 'burn') == 100" \
	"in_order('burn', 'realigned', 'handler', 'raise', 'realigned', 'main') == 100"
check unwind-longjmp whole longjmp
check unwind-longjmp-frames stacks_have longjmp "times($deep, 'burn') == 100"
# Its outermost frame is the coroutine's first: main is on another stack.
check unwind-swapcontext whole context
check unwind-swapcontext-frames stacks_have context "times({'realigned': 20, 'coroutine': 1, 'main': 0}, 'burn') == 100"
check unwind-plt whole plt
check unwind-plt-line profile_has plt.json "total('stacks.c calling') > 50"
check unwind-vdso whole vdso
check unwind-vdso-line profile_has vdso.json "total('stacks.c reading') > 50"
if [ -n "$has_cc" ]; then
	check unwind-c++ whole cc
	check unwind-c++-frames stacks_have cc \
		"times({'Virtual::down': 16, 'pass<Step>': 15, 'closure': 15, '{lambda}::operator()': 15}, 'burn') == 100" \
		"in_order('burn', 'Virtual::down', 'main') == 100"
	check unwind-exceptions whole exceptions
	check unwind-exceptions-line profile_has exceptions.json "total('stacks.cc call') > 50"
else
	skip unwind-c++ "no g++: $(tail -n 1 gxx.err)"
fi
check unwind-dlopen whole plugin
check unwind-dlopen-line profile_has plugin.json "self_('plugin.c plugin') > 0" "total('dlopen.c call') > 0"

# ---- several processes, or several images of one ----

# family NAME WAY ROUNDS
family() {
	record_json "$1" -F 999 -- "$stacks" "$2" "$3" || { tail -n 1 "$1.err"; return 1; }
	whole "$1" && profile_has "$1.json" "sums_close()"
}
check unwind-fork family fork fork 250
check unwind-fork-frames stacks_have fork "times($deep, 'burn') == 100" "in_order('burn', 'fork_here', 'below', 'main') == 100"
# All start at once, and leave little to the one who makes the tables.
check unwind-threads family threads threads 8
check unwind-threads-frames stacks_have threads "share('whole', has('start_thread')) > 0" \
	"times({'realigned': 20, 'deep': 1, 'thread': 1, 'start_thread': 1}, 'burn') == 100"
# Two images of one process, one after the other.
check unwind-exec family exec exec 500
check unwind-exec-frames stacks_have exec "times($deep, 'burn') == 100" "0 < share('executing', has('executing')) < 100"
# Processes that come and go: each lives for less than a tenth of a second.
churn() {
	# shellcheck disable=SC2016 # for the inner shell
	record_json churn -F 999 -- sh -c 'for i in $(seq 40); do "$0" deep 20; done' "$stacks" ||
		{ tail -n 1 churn.err; return 1; }
	whole churn && stacks_have churn "times($deep, 'burn') == 100"
}
check unwind-churn churn

# Frames beyond what was asked for are left out at the outer end, and said to be.
truncated() {
	record_json shallow -F 999 --max-frames 40 -- "$stacks" deep 250 || { tail -n 1 shallow.err; return 1; }
	profile_has shallow.json "losses['user_truncated'] == note('truncated', d['stacks']['truncated']) >= counts('stacks.c burn', 'self') > 0" \
		"s['incomplete_stacks'] >= losses['user_truncated']" || return 1
	stacks_have shallow "times({'main': 0, 'burn': 1}, 'burn') == 100"
}
check unwind-max-frames truncated

# ---- all is there before we are ----

member running "$stacks" deep 100000
attached attached -F 999 --max-frames 512 -d 1.6 --window 0.7s >why 2>&1 || fail unwind-attached "$(tail -n 1 why)"
check unwind-attached late_whole running
check unwind-attached-frames stacks_have running "times($deep, 'burn') == 100"

# ---- code of 32 bits: its stack is not walked, and that is said ----

# shellcheck disable=SC2086 # a list of flags
if ! gcc -m32 $C_FLAGS -nostdlib -static -ffreestanding -fno-stack-protector -fno-pic -no-pie \
	-o word32 "$WORKLOADS/unwind/word32.c" 2>word32-gcc.err; then
	skip unwind-32-bit "gcc makes no code of 32 bits: $(tail -n 1 word32-gcc.err)"
elif ! ./word32 2>/dev/null; then
	skip unwind-32-bit "no program of 32 bits runs here (CONFIG_IA32_EMULATION)"
else
	record_json word32 -F 999 -- ./word32 || fail unwind-32-bit "$(tail -n 1 word32.err)"
	check unwind-32-bit-line profile_has word32.json "hottest() == is_at('word32.c work')" "sums_close()"
	figure unwind-32-bit-counted stacks_have word32 "statuses('work32') == ['32-bit']" \
		"share('leaf only', lambda stack: stack[-1][0] == 'work32', has('work32')) == 100"
	check unwind-32-bit-incomplete profile_has word32.json "d['stacks']['32-bit'] >= 100" \
		"s['incomplete_stacks'] >= d['stacks']['32-bit']"
	check unwind-32-bit-said grep -q 'stacks of 32-bit code are not walked' word32.txt
fi
