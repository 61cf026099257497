#!/bin/sh
# Complete stacks of Python, with the calling lines, on the CPythons of this machine: four in the check,
# all with LB_ALL_PYTHONS.
# Takes 75 s.
# shellcheck disable=SC2086 # versions have no blanks

. "${TOP:?}/tests/root/lib.sh"
programs=$WORKLOADS/python
export OPENBLAS_NUM_THREADS=1
unset PYTHONPATH PYTHONHOME PYTHONSTARTUP

# real_python PROGRAM [CONDITION]: prints the real program, not pyenv's wrapper, which is slow to start
real_python() {
	"$1" -c "import sys; print(sys.executable); sys.exit(not (${2:-True}))" 2>/dev/null
}

# python_of VERSION: prints a CPython of that version, of the system or of pyenv
python_of() {
	for candidate in "python$1" "${PYENV_ROOT:-${HOME:-/root}/.pyenv}/versions/$1".*/bin/python3; do
		if found=$(real_python "$candidate" "sys.version_info[:2] == ($(echo "$1" | tr . ,))"); then
			echo "$found"
			return 0
		fi
	done
	return 1
}

# has VERSION: whether there is such a CPython
has() {
	[ -e "python-$1" ]
}
versions="3.9 3.12 3.13 system"
[ -z "${LB_ALL_PYTHONS:-}" ] || versions="3.9 3.10 3.11 3.12 3.13 3.14 3.15 system"
for version in $versions; do
	if [ $version = system ]; then
		[ ! -x /usr/bin/python3 ] || ln -s /usr/bin/python3 python-system
	elif python=$(python_of $version); then
		echo "$python" >"python-$version"
	else
		skip python-$version "no CPython $version here"
	fi
done
# program VERSION: prints its path
program() {
	if [ "$1" = system ]; then echo /usr/bin/python3; else cat "python-$1"; fi
}
PYTHON=$(real_python python3)

# ---- work of 5:3:2, by working and by calling lines; stacks compared with the program's own record ----

for version in $versions; do
	if has $version; then
		member known-$version "$(program $version)" "$programs/calls.py" "$(longer 0.5 1.5)" known-$version.truth
		case $version in
		3.15) ;;
		*) member oracle-$version "$(program $version)" "$programs/oracle.py" "$(longer 0.7 2.5)" record-$version ;;
		esac
	fi
done
together pythons -F 999 --max-frames 512 >why 2>&1 || fail python-known "$(tail -n 1 why)"
check python-sums closes pythons
# as_measured NAME: the totals of lines agree with the program's own measurement
as_measured() {
	python3 -S "$TOP/tests/root/lines.py" "$1.json" "$1.truth"
}
known() {
	profile_has "$1.json" "in_order('calls.py', 'HOT loop five', 'HOT loop three', 'HOT loop two')" \
		"total('calls.py call five') > 0" "total('calls.py call two') > 0"
}
known_shares() {
	profile_has "$1.json" "near(total('calls.py loop five'), total('calls.py call five'), 1.5)" \
		"near(total('calls.py loop two'), total('calls.py call two'), 1.5)" && as_measured "$1"
}
# oracle VERSION [PID]: see oracle.py; without PID also the shares
oracle() {
	oracle_version=$1
	shift
	python3 -S "$TOP/tests/root/oracle.py" "oracle-$oracle_version.pb.gz" "record-$oracle_version" "$programs/oracle.py" "$@"
}
for version in $versions; do
	if has $version; then
		check python-$version-lines known known-$version
		narrow python-$version-known-answers known_shares known-$version
		check python-$version-whole whole known-$version
		narrow python-$version-promptly promptly_whole known-$version
		check python-$version-order stacks_have known-$version "in_order('five', 'timed', 'main', '<module>') == 100"
		if [ -e oracle-$version.json ]; then
			figure python-$version-oracle oracle $version "$(cat oracle-$version.pid)"
			narrow python-$version-oracle-shares oracle $version
		fi
		member steady-$version "$(program $version)" "$programs/calls.py" 60 steady-$version.truth
	fi
done
# Record programs that run already.
attached_too=$HAVE_TABLES
attached steady 50 "0.7 5 30" -F 999 --max-frames 512 >why 2>&1 || fail python-steady "$(tail -n 1 why)"
for version in $versions; do
	if has $version; then
		check python-$version-steady late_whole steady-$version
		narrow python-$version-steady-promptly steady steady-$version
	fi
done

# ---- threads that the kernel makes for a process ----

# They have no user stack, and so no line of Python; in particular not the line of the sleeping
# thread that made them.
# made_by_kernel NAME FUNCTION: checks threads called NAME-PID, whose second outermost frame is FUNCTION
made_by_kernel() {
	"$LB" annotate --json --comm="$1-*" uring.pb.gz >"$1.json" || return 1
	profile_has "$1.json" "note('samples', s['count']) >= 20" \
		"note('no-user', d['stacks']['no-user']) == s['count']" "s['kernel'] == s['count']" \
		"s['function_only'] + s['unknown'] == s['count']" "s['incomplete_stacks'] == 0" \
		"note('files', d['files']) == []" \
		"note('threads', [p['comm'] for p in d['processes']]) == ['$1-%d' % d['processes'][0]['pid']]" ||
		return 1
	stacks_have uring "statuses('$2') == ['no-user']" \
		"share('ends in the kernel', lambda stack: stack[-1][0].startswith('ret_from_fork'), has('$2')) == 100"
}
uring_status=0
record_json uring -F 499 --tid -- "$PYTHON" "$programs/uring.py" 1 || uring_status=$?
if [ $uring_status -eq 77 ]; then
	skip python-io_uring "$(grep io_uring: uring.err)"
else
	check python-io_uring-sums profile_has uring.json "note('status', $uring_status) == 0" "sums_close()" \
		"self_('uring.py sleep') < 5"
	figure python-io_uring-poll made_by_kernel iou-sqp io_sq_thread
	figure python-io_uring-workers made_by_kernel iou-wrk io_wq_worker
	"$LB" report --by thread uring.pb.gz >by-thread.txt 2>&1
	check python-io_uring-threads grep -q 'iou-sqp-' by-thread.txt
fi

# ---- a source file with a relative path is found in the program's working folder ----

mkdir relative
printf 'x = 0\nwhile x < 5_000_000:\n    x += 1\n' >relative/loop.py
# shellcheck disable=SC2016 # for the shell that is started
member relative sh -c 'cd relative && exec "$1" -c "exec(compile(open(\"loop.py\").read(), \"loop.py\", \"exec\"))"' sh "$PYTHON"

# ---- stacks deeper than --max-frames: the innermost frames are kept, and the stack counts as truncated ----

member recursion "$PYTHON" "$programs/recursion.py" 1000 "$(longer 0.6 2)"
together shallow -F 999 >why 2>&1 || fail python-shallow "$(tail -n 1 why)"
check python-relative profile_has relative.json \
	"[f['source']['found'] for f in d['files'] if f['path'].endswith('/relative/loop.py')] == [True]"
# deep NAME FRAMES: all stacks at the bottom have at least FRAMES frames, and truncated stacks are counted
deep() {
	profile_has "$1.json" "total('clocked.py spin') > 0" "total('recursion.py bottom') > 0" "total('recursion.py down') > 0" \
		"losses['user_truncated'] >= d['stacks']['truncated'] > 20" "s['incomplete_stacks'] >= d['stacks']['truncated']" &&
		stacks_have "$1" "share('$2 deep', lambda stack: names(stack).count('down') >= $2, has('spin')) == 100"
}
# deep_shares NAME FRAMES: nearly all stacks are such stacks
deep_shares() {
	profile_has "$1.json" "total('clocked.py spin') >= 85" "total('recursion.py bottom') >= 85" "total('recursion.py down') >= 85" \
		"note('incomplete', percent(s['incomplete_stacks'])) >= 85" &&
		stacks_have "$1" "share('$2 deep', lambda stack: names(stack).count('down') >= $2) >= 85"
}
check python-recursion-sums closes shallow
check python-recursion deep recursion 100
narrow python-recursion-shares deep_shares recursion 100

# ---- Python with threads, generators, coroutines, C extensions and several stacks ----

stacks_python=$TOP/build/venv/stacks/bin/python
member recursion512 "$PYTHON" "$programs/recursion.py" 1000 "$(longer 0.6 2)"
for how in threads generators coroutines released; do
	member $how "$PYTHON" "$programs/flows.py" $how "$(longer 0.4 1.5)" $how.truth
done
# The kernels of OpenBLAS are assembly without unwind tables.
! has_numba new python-blas || member blas "$PYTHON" "$programs/flows.py" blas "$(longer 0.4 1.5)" blas.truth
PYTHON=$(real_python python3)
if [ -e "$TOP/build/venv/stacks/.whole" ]; then
	member greenlets "$stacks_python" "$programs/flows.py" greenlets "$(longer 0.4 1.5)" greenlets.truth
	member gevent "$stacks_python" "$programs/flows.py" gevent "$(longer 0.4 1.5)" gevent.truth
else
	skip python-greenlets "no build/venv/stacks here (tools/venv.sh makes it)"
	skip python-gevent "no build/venv/stacks here (tools/venv.sh makes it)"
fi
# Several interpreters in one process.
for version in 3.12 3.13${LB_ALL_PYTHONS:+ 3.14}; do
	if has $version; then
		member interpreters-$version "$(program $version)" "$programs/interpreters.py" "$(longer 0.4 1)" interpreters-$version.truth
	else
		skip python-$version-interpreters "no CPython $version here"
	fi
done
# Cython: lines of the .pyx between lines of Python.
cython() {
	cp "$programs/spinning.pyx" "$programs/cython_program.py" "$programs/clocked.py" .
	"$stacks_python" -m cython -3 --line-directives spinning.pyx || return 1
	# shellcheck disable=SC2046 # two words
	gcc -O2 -g -fPIC -shared -fno-inline $("$stacks_python" -c 'import sysconfig
print("-I" + sysconfig.get_path("include"), "-o", "spinning" + sysconfig.get_config_var("EXT_SUFFIX"))') spinning.c
}
headers=$("$stacks_python" -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)
if [ ! -e "$TOP/build/venv/stacks/.whole" ]; then
	skip python-cython "no build/venv/stacks here (tools/venv.sh makes it)"
elif [ ! -e "$headers/Python.h" ]; then
	skip python-cython "no headers of this Python ($headers/Python.h)"
elif cython >why 2>&1; then
	member cython "$stacks_python" cython_program.py "$(longer 0.4 1.5)" cython.truth
else
	fail python-cython "$(tail -n 1 why)"
fi
# Calls of Numba's code; and four libraries of different kinds.
if has_numba new python-numba; then
	member question "$PYTHON" "$programs/question.py" "$(longer 1000000 8000000)" question.truth
	member mixed "$PYTHON" "$programs/mixed.py" "$(longer 1 12)" mixed.truth
fi
together flows -F 999 --max-frames 512 >why 2>&1 || fail python-flows "$(tail -n 1 why)"
check python-flows-sums closes flows
check python-recursion-512 deep recursion512 480
narrow python-recursion-512-shares deep_shares recursion512 480

# flow TEST NAME ORDER...: functions and their callers; under make stats, also their CPU time
flow() {
	check "python-$1" orders "$@"
	narrow "python-$1-share" stacks_have "$2" "share('$2', has('timed')) > 50"
	narrow "python-$1-measured" as_measured "$2"
}
orders() {
	orders_name=$2
	shift 2
	for order; do
		stacks_have "$orders_name" "share('$orders_name', has('timed')) > 0" "in_order($order) == 100" || return 1
	done
}
# whole_flow TEST NAME ORDER...: also checks that machine code is walked to the outermost frame
whole_flow() {
	check "python-$1-whole" whole "$2"
	narrow "python-$1-promptly" promptly_whole "$2"
	flow "$@"
}
whole_flow threads threads "'timed', 'Thread.run'" "'threads.<locals>.three', 'Thread.run'"
whole_flow generators generators \
	"'timed', 'generators.<locals>.doubled', 'generators.<locals>.consume', '<module>'" \
	"'generators.<locals>.numbers', 'generators.<locals>.doubled', 'generators.<locals>.consume', '<module>'"
whole_flow coroutines coroutines "'timed', 'BaseEventLoop._run_once', '<module>'" \
	"'coroutines.<locals>.inner', 'coroutines.<locals>.middle', 'coroutines.<locals>.outer', 'Handle._run', 'run', '<module>'"
whole_flow gil-released released "'released.<locals>.packed', 'Thread.run'"
[ ! -e blas.json ] || flow blas blas "'timed', 'blas', '<module>'"
if [ -e greenlets.json ]; then
	whole_flow greenlets greenlets "'greenlets.<locals>.nested', 'greenlets.<locals>.second'"
	# A greenlet of gevent's hub has no callers below its first function.
	flow gevent gevent "'timed', 'gevent.<locals>.job'"
fi
for version in 3.12 3.13 3.14; do
	[ -e interpreters-$version.json ] || continue
	check python-$version-interpreters profile_has interpreters-$version.json \
		"total('interpreters.py main') > 0" "self_('clocked.py spin') > total('interpreters.py main')" "s['count'] >= 50"
	narrow python-$version-interpreters-promptly promptly_whole interpreters-$version
	# Both interpreters spin on the same line; only the first one is called from a line of this program.
	narrow python-$version-interpreters-shares profile_has interpreters-$version.json "self_('clocked.py spin') > 50" \
		"total('interpreters.py main') > 10"
	narrow python-$version-interpreters-measured as_measured interpreters-$version
done
if [ -e cython.json ]; then
	whole_flow cython cython "'spin', '__pyx_pw_8spinning_3call_back', 'timed', '<module>'"
	check python-cython-lines profile_has cython.json "self_('spinning.pyx turn') > 0" "total('spinning.pyx work') > 0" \
		"total('spinning.pyx call back') > 0" "total('cython_program.py there and back') > 0"
	narrow python-cython-shares profile_has cython.json "self_('spinning.pyx turn') > 10" \
		"near(total('spinning.pyx work'), file_self('spinning.pyx'), 2)" \
		"near(total('spinning.pyx call back'), total('cython_program.py there and back'), 2)" "total('spinning.pyx call back') > 10"
fi
if [ -e mixed.json ]; then
	check python-call-of-numba profile_has question.json "total('question.py numba') > 0" "total('question.py normal') > 0"
	check python-mixed profile_has mixed.json "all(total('mixed.py ' + kind) > 0 for kind in ('blas', 'zlib', 'json', 'numba'))"
	# Is Numba's or Python's function dearer to call? The profile must agree with the clocks.
	narrow python-call-of-numba-measured as_measured question
	narrow python-mixed-lines profile_has mixed.json "note('with line', percent(s['with_line'])) >= 97"
	narrow python-mixed-measured as_measured mixed
fi

# ---- short processes ----

short() {
	# shellcheck disable=SC2016 # for the inner shell
	record_json short -F 999 -- sh -c 'for i in $(seq 12); do "$0" -S -E "$1" 0.08; done' "$(real_python python3)" "$programs/short.py" ||
		{ tail -n 1 short.err; return 1; }
	profile_has short.json "hottest() == is_at('short.py short')" "total('short.py call') >= self_('short.py short')" \
		"s['lost'] == 0" "sums_close()"
}
check python-short short
# The start of the interpreter takes half of the time.
narrow python-short-shares profile_has short.json "self_('short.py short') > 40" "total('short.py call') > 40"
