#!/bin/sh
# Complete stacks of C and C++ without frame pointers: signals, longjmp, contexts, exceptions, and
# code that is loaded, replaced or ends during the recording.
# Takes 40 s.
. "${TOP:?}/tests/root/lib.sh"

NO_FP="-fomit-frame-pointer -fno-builtin -fplt -Wl,-z,lazy"
stacks=$(build unwind/stacks.c "$NO_FP") || { fail unwind-build "no program"; exit 0; }
has_cc=yes
g++ -O2 -g -fomit-frame-pointer -fno-inline -o stackscc "$WORKLOADS/unwind/stacks.cc" 2>gxx.err || has_cc=

# ---- programs from their start ----

for way in deep signal longjmp context plt; do
	member $way "$stacks" $way "$(longer 250 600)"
done
member vdso "$stacks" vdso "$(longer 500 1200)"
if [ -n "$has_cc" ]; then
	member cc ./stackscc deep "$(longer 250 600)"
	member exceptions ./stackscc exceptions "$(longer 800 2500)"
fi
# A library that is loaded during the recording.
gcc -O2 -g -fomit-frame-pointer -shared -fPIC -o plugin.so "$WORKLOADS/plugin.c"
gcc -O2 -g -fomit-frame-pointer -o dl "$WORKLOADS/dlopen.c" -ldl
member plugin ./dl ./plugin.so "$(longer 600 1500)"
together ways -F 999 >why 2>&1 || fail unwind-ways "$(tail -n 1 why)"
check unwind-ways-sums closes ways

# whole_and NAME MEMBER [SAMPLES]: checks "whole"; under make stats also "promptly_whole"
whole_and() {
	check "unwind-$1" whole "$2"
	narrow "unwind-$1-promptly" promptly_whole "$2" "" ${3:+"$3"}
}
# line NAME MEMBER MARKER PERCENT: the line has more than half of the time; under make stats, PERCENT of it
line() {
	check "unwind-$1-line" profile_has "$2.json" "total('$3') > 50"
	narrow "unwind-$1-share" profile_has "$2.json" "total('$3') >= $4"
}

# The number of frames of each function on a stack of "deep" and "signal".
deep="{'plain': 20, 'with_array': 20, 'realigned': 20, 'below': 20, 'main': 1}"
half="{'plain': 20, 'with_array': 20, 'realigned': 20, 'handler': 1, 'main': 1}"
whole_and deep deep
check unwind-deep-frames stacks_have deep "times($deep, 'burn') == 100"
line deep deep 'stacks.c deep' 98.5
whole_and signal-stack signal
check unwind-signal-frames stacks_have signal "times($half, 'burn') == 100" \
	"in_order('burn', 'realigned', 'handler', 'raise', 'realigned', 'main') == 100"
whole_and longjmp longjmp
check unwind-longjmp-frames stacks_have longjmp "times($deep, 'burn') == 100"
# The outermost frame is the coroutine's first function: main is on another stack.
whole_and swapcontext context
check unwind-swapcontext-frames stacks_have context "times({'realigned': 20, 'coroutine': 1, 'main': 0}, 'burn') == 100"
whole_and plt plt
line plt plt 'stacks.c calling' 98
whole_and vdso vdso
line vdso vdso 'stacks.c reading' 98
if [ -n "$has_cc" ]; then
	whole_and c++ cc
	check unwind-c++-frames stacks_have cc \
		"times({'Virtual::down': 16, 'pass<Step>': 15, 'closure': 15, '{lambda}::operator()': 15}, 'burn') == 100" \
		"in_order('burn', 'Virtual::down', 'main') == 100"
	whole_and exceptions exceptions
	line exceptions exceptions 'stacks.cc call' 96
else
	skip unwind-c++ "no g++: $(tail -n 1 gxx.err)"
fi
whole_and dlopen plugin
check unwind-dlopen-line profile_has plugin.json "self_('plugin.c plugin') > 0" "total('dlopen.c call') > 0"
narrow unwind-dlopen-share profile_has plugin.json "total('dlopen.c call') >= 65"

# ---- several processes, or several images of one ----

# family NAME ROUNDS [SAMPLES]
family() {
	record_json "$1" -F 999 -- "$stacks" "$1" "$2" || fail "unwind-$1" "$(tail -n 1 "$1.err")"
	check "unwind-$1-sums" profile_has "$1.json" "sums_close()"
	whole_and "$1" "$1" ${3:+"$3"}
}
family fork "$(longer 250 600)"
check unwind-fork-frames stacks_have fork "times($deep, 'burn') == 100" "in_order('burn', 'fork_here', 'below', 'main') == 100"
# All threads start at once, and leave little CPU time for making tables.
family threads "$(longer 8 15)" 300
check unwind-threads-frames stacks_have threads "share('whole', has('thread')) > 0" \
	"times({'realigned': 20, 'deep': 1, 'thread': 1}, 'burn') == 100"
narrow unwind-threads-share stacks_have threads "share('whole', has('thread')) >= 98"
# Two images of one process, one after the other.
family exec "$(longer 500 1200)"
check unwind-exec-frames stacks_have exec "times($deep, 'burn') == 100" "0 < share('executing', has('executing')) < 100"
narrow unwind-exec-share stacks_have exec "share('executing', has('executing')) > 35"
# Short processes: each lives for a tenth of a second.
# shellcheck disable=SC2016 # for the inner shell
record_json churn -F 999 -- sh -c 'for i in $(seq 40); do "$0" deep "$1"; done' "$stacks" "$(longer 20 50)" ||
	fail unwind-churn "$(tail -n 1 churn.err)"
whole_and churn churn
check unwind-churn-frames stacks_have churn "times($deep, 'burn') == 100"

# --max-frames drops the outermost frames, and such stacks are counted as truncated.
truncated() {
	record_json shallow -F 999 --max-frames 40 -- "$stacks" deep "$(longer 250 1000)" || { tail -n 1 shallow.err; return 1; }
	profile_has shallow.json "losses['user_truncated'] == note('truncated', d['stacks']['truncated']) > 0" \
		"d['stacks']['truncated'] + d['stacks']['no-mapping'] + d['stacks']['no-table'] >= counts('stacks.c burn', 'self') > 0" \
		"s['incomplete_stacks'] >= losses['user_truncated']" || return 1
	stacks_have shallow "times({'main': 0, 'burn': 1}, 'burn') == 100"
}
check unwind-max-frames truncated
narrow unwind-max-frames-shares profile_has shallow.json "note('incomplete', percent(s['incomplete_stacks'])) >= 99" \
	"total('stacks.c burn') >= 99"

# ---- a program that runs already ----

member running "$stacks" deep 100000
attached_too=$HAVE_TABLES
attached attached 50 "0.7 5 30" -F 999 --max-frames 512 >why 2>&1 || fail unwind-attached "$(tail -n 1 why)"
check unwind-attached late_whole running
check unwind-attached-frames stacks_have running "times($deep, 'burn') == 100"
narrow unwind-attached-promptly steady running
narrow unwind-attached-frames-promptly stacks_have running-steady "times($deep, 'burn') >= 99.5"

# ---- 32-bit code: its stack is not walked, and the report says so ----

# shellcheck disable=SC2086 # a list of flags
if ! gcc -m32 $C_FLAGS -nostdlib -static -ffreestanding -fno-stack-protector -fno-pic -no-pie \
	-o word32 "$WORKLOADS/unwind/word32.c" 2>word32-gcc.err; then
	skip unwind-32-bit "gcc makes no code of 32 bits: $(tail -n 1 word32-gcc.err)"
elif ! ./word32 2>/dev/null; then
	skip unwind-32-bit "no program of 32 bits runs here (CONFIG_IA32_EMULATION)"
else
	record_json word32 -F 999 -- ./word32 || fail unwind-32-bit "$(tail -n 1 word32.err)"
	check unwind-32-bit-line profile_has word32.json "hottest() == is_at('word32.c work')" "sums_close()"
	narrow unwind-32-bit-share profile_has word32.json "self_('word32.c work') >= 95"
	figure unwind-32-bit-counted stacks_have word32 "statuses('work32') == ['32-bit']" \
		"share('leaf only', lambda stack: stack[-1][0] == 'work32', has('work32')) == 100"
	check unwind-32-bit-incomplete profile_has word32.json "d['stacks']['32-bit'] >= 100" \
		"s['incomplete_stacks'] >= d['stacks']['32-bit']"
	check unwind-32-bit-said grep -q 'stacks of 32-bit code are not walked' word32.txt
fi
