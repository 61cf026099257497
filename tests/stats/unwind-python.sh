#!/bin/sh
# Whole stacks of Python: which line called what, on every CPython of this machine.
. "${TOP:?}/tests/root/lib.sh"
programs=$WORKLOADS/python
export PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1
unset PYTHONPATH PYTHONHOME PYTHONSTARTUP

# Not pyenv's script of that name, which takes as long to run as what it starts.
real_python() {
	"$1" -c "import sys; print(sys.executable); sys.exit(not (${2:-True}))" 2>/dev/null
}

# python_of VERSION: one of that version, of the system or of pyenv
python_of() {
	for candidate in "python$1" "${PYENV_ROOT:-${HOME:-/root}/.pyenv}/versions/$1".*/bin/python3; do
		if found=$(real_python "$candidate" "sys.version_info[:2] == ($(echo "$1" | tr . ,))"); then
			echo "$found"
			return 0
		fi
	done
	return 1
}

# known NAME PYTHON: work of 5:3:2, by the lines that do it and by those that call
known() {
	record_json "$1" -F 999 --max-frames 512 -- "$2" "$programs/calls.py" 1.5 "$1.truth" || { tail -n 1 "$1.err"; return 1; }
	profile_has "$1.json" "near(total('calls.py loop five'), total('calls.py call five'), 1.5)" \
		"near(total('calls.py loop two'), total('calls.py call two'), 1.5)" || return 1
	python3 "$TOP/tests/root/lines.py" "$1.json" "$1.truth"
}
# running NAME PYTHON: recorded when it has started
running() {
	"$2" "$programs/calls.py" 60 "$1.truth" &
	pid=$!
	sleep 0.4
	running_status=0
	steady "$1" $pid || running_status=1
	kill $pid
	wait $pid 2>/dev/null
	return $running_status
}
# each_python NAME PYTHON
each_python() {
	narrow "python-$1-known-answers" known "known-$1" "$2"
	narrow "python-$1-whole" promptly_whole "known-$1"
	narrow "python-$1-steady" running "steady-$1" "$2"
	narrow "python-$1-order" stacks_have "known-$1" "in_order('five', 'timed', 'main', '<module>') >= 99.5"
}
for version in 3.9 3.10 3.11 3.12 3.13 3.14 3.15; do
	if python=$(python_of $version); then
		each_python $version "$python"
	else
		skip "python-$version" "no CPython $version here"
	fi
done
if [ -x /usr/bin/python3 ]; then
	each_python system /usr/bin/python3
else
	skip python-system "no /usr/bin/python3"
fi
PYTHON=$(real_python python3)

uring_status=0
record_json uring -F 499 --tid -- "$PYTHON" "$programs/uring.py" 3 || uring_status=$?
if [ $uring_status -eq 77 ]; then
	skip python-io_uring "$(grep io_uring: uring.err)"
else
	"$LB" report --by thread uring.pb.gz >by-thread.txt 2>&1
	:
fi

# Code that names its file by the working folder: it is found there.
mkdir relative
printf 'x = 0\nwhile x < 20_000_000:\n    x += 1\n' >relative/loop.py
# shellcheck disable=SC2016 # for the shell that is started
record_json relative -F 499 -- sh -c 'cd relative && exec "$1" -c "exec(compile(open(\"loop.py\").read(), \"loop.py\", \"exec\"))"' sh "$PYTHON" ||
	fail python-relative "$(tail -n 1 relative.err)"

# Deeper than what is kept: the innermost frames stay, and the stack is said to be cut.
# deep NAME OPTION...
deep() {
	deep_name=$1
	shift
	record_json "$deep_name" -F 999 "$@" -- "$PYTHON" "$programs/recursion.py" 1000 2 ||
		{ tail -n 1 "$deep_name.err"; return 1; }
	profile_has "$deep_name.json" "total('clocked.py spin') >= 85" "total('recursion.py bottom') >= 85" \
		"total('recursion.py down') >= 85" "losses['user_truncated'] > 0" \
		"note('incomplete', percent(s['incomplete_stacks'])) >= 85" "s['lost'] == 0" "sums_close()"
}
narrow python-recursion deep recursion
narrow python-recursion-frames stacks_have recursion \
	"share('100 deep', lambda stack: names(stack).count('down') >= 100) >= 85"
narrow python-recursion-512 deep recursion512 --max-frames 512
narrow python-recursion-512-frames stacks_have recursion512 \
	"share('480 deep', lambda stack: names(stack).count('down') >= 480) >= 85"

# flow WHOLE NAME PYTHON HOW INNERMOST-AND-ITS-CALLERS...
# WHOLE: whole; or "cut", where machine code is not followed to the outermost frame
flow() {
	flow_whole=$1
	flow_how=$4
	shift
	flow_name=$1
	record_json "$flow_name" -F 999 --max-frames 512 -- "$2" "$programs/flows.py" "$flow_how" 1.5 "$flow_name.truth" ||
		{ tail -n 1 "$flow_name.err"; return 1; }
	shift 3
	[ "$flow_whole" = cut ] || promptly_whole "$flow_name" || return 1
	for order in "$@"; do
		stacks_have "$flow_name" "share('$flow_name', has('timed')) > 50" "in_order($order) >= 99" || return 1
	done
	python3 "$TOP/tests/root/lines.py" "$flow_name.json" "$flow_name.truth"
}
narrow python-threads flow promptly_whole threads "$PYTHON" threads "'timed', 'Thread.run'" "'threads.<locals>.three', 'Thread.run'"
narrow python-generators flow promptly_whole generators "$PYTHON" generators \
	"'timed', 'generators.<locals>.doubled', 'generators.<locals>.consume', '<module>'" \
	"'generators.<locals>.numbers', 'generators.<locals>.doubled', 'generators.<locals>.consume', '<module>'"
narrow python-coroutines flow promptly_whole coroutines "$PYTHON" coroutines "'timed', 'BaseEventLoop._run_once', '<module>'" \
	"'coroutines.<locals>.inner', 'coroutines.<locals>.middle', 'coroutines.<locals>.outer', 'Handle._run', 'run', '<module>'"
narrow python-gil-released flow promptly_whole released "$PYTHON" released "'released.<locals>.packed', 'Thread.run'"
if has_numba new python-blas; then
	# The kernels of OpenBLAS are assembly without unwind tables.
	narrow python-blas flow cut blas "$PYTHON" blas "'timed', 'blas', '<module>'"
fi
stacks_python=$TOP/build/venv/stacks/bin/python
if [ -e "$TOP/build/venv/stacks/.whole" ]; then
	narrow python-greenlets flow promptly_whole greenlets "$stacks_python" greenlets \
		"'greenlets.<locals>.nested', 'greenlets.<locals>.second'"
	# The hub's stack is where the greenlets that it started have theirs: nothing is below.
	narrow python-gevent flow cut gevent "$stacks_python" gevent "'timed', 'gevent.<locals>.job'"
else
	skip python-greenlets "no build/venv/stacks here (tools/venv.sh makes it)"
	skip python-gevent "no build/venv/stacks here (tools/venv.sh makes it)"
fi

# Several interpreters in one process.
interpreters() {
	record_json interpreters -F 999 --max-frames 512 -- "$1" "$programs/interpreters.py" 1 interpreters.truth ||
		{ tail -n 1 interpreters.err; return 1; }
	promptly_whole interpreters || return 1
	# Both spin on the same line; only the first is called from a line of its own.
	profile_has interpreters.json "self_('clocked.py spin') > 50" "total('interpreters.py main') > 10" || return 1
	python3 "$TOP/tests/root/lines.py" interpreters.json interpreters.truth
}
for version in 3.12 3.13; do
	if python=$(python_of $version); then
		narrow python-$version-interpreters interpreters "$python"
	else
		skip python-$version-interpreters "no CPython $version here"
	fi
done

# Each is over before anybody has looked at it.
short() {
	# shellcheck disable=SC2016 # for the inner shell
	record_json short -F 999 -- sh -c 'for i in $(seq 12); do "$0" -S -E "$1" 0.08; done' "$PYTHON" "$programs/short.py" ||
		{ tail -n 1 short.err; return 1; }
	# Half of each life is the interpreter's start.
	profile_has short.json "self_('short.py short') > 40" "total('short.py call') > 40" "s['lost'] == 0" "sums_close()"
}
narrow python-short short

# Lines as the program itself has them.
oracle() {
	record_json oracle -F 999 --max-frames 512 -- "$1" "$programs/oracle.py" 2.5 record || { tail -n 1 oracle.err; return 1; }
	PYTHONDONTWRITEBYTECODE=1 python3 "$TOP/tests/root/oracle.py" oracle.pb.gz record "$programs/oracle.py"
}
for version in 3.9 3.10 3.11 3.12 3.13 3.14; do
	if python=$(python_of $version); then
		narrow python-$version-oracle oracle "$python"
	else
		skip python-$version-oracle "no CPython $version here"
	fi
done

# Cython: lines of the .pyx between lines of Python.
cython() {
	cp "$programs/spinning.pyx" "$programs/cython_program.py" "$programs/clocked.py" .
	"$stacks_python" -m cython -3 --line-directives spinning.pyx 2>cython.err || { tail -n 1 cython.err; return 1; }
	# shellcheck disable=SC2046 # two words
	gcc -O2 -g -fPIC -shared -fno-inline $("$stacks_python" -c 'import sysconfig
print("-I" + sysconfig.get_path("include"), "-o", "spinning" + sysconfig.get_config_var("EXT_SUFFIX"))') spinning.c 2>gcc.err ||
		{ tail -n 1 gcc.err; return 1; }
	record_json cython -F 999 --max-frames 512 -- "$stacks_python" cython_program.py 1.5 cython.truth || { tail -n 1 cython.err; return 1; }
	promptly_whole cython || return 1
	profile_has cython.json "self_('spinning.pyx turn') > 10" "near(total('spinning.pyx work'), file_self('spinning.pyx'), 2)" \
		"near(total('spinning.pyx call back'), total('cython_program.py there and back'), 2)" \
		"total('spinning.pyx call back') > 10" || return 1
	stacks_have cython "in_order('spin', '__pyx_pw_8spinning_3call_back', 'timed', '<module>') >= 99" || return 1
	python3 "$TOP/tests/root/lines.py" cython.json cython.truth
}
headers=$("$stacks_python" -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)
if [ ! -e "$TOP/build/venv/stacks/.whole" ]; then
	skip python-cython "no build/venv/stacks here (tools/venv.sh makes it)"
elif [ ! -e "$headers/Python.h" ]; then
	skip python-cython "no headers of this Python ($headers/Python.h)"
else
	narrow python-cython cython
fi

has_numba new python-numba || exit 0
# Which is dearer to call? The clocks and the profile agree; a tracing profiler does not.
question() {
	record_json question -F 999 --max-frames 512 -- "$PYTHON" "$programs/question.py" 8000000 question.truth ||
		{ tail -n 1 question.err; return 1; }
	python3 "$TOP/tests/root/lines.py" question.json question.truth
}
narrow python-call-of-numba question

mixed() {
	record_json mixed -F 999 --max-frames 512 -- "$PYTHON" "$programs/mixed.py" 12 mixed.truth || { tail -n 1 mixed.err; return 1; }
	profile_has mixed.json "note('with line', percent(s['with_line'])) >= 97" || return 1
	python3 "$TOP/tests/root/lines.py" mixed.json mixed.truth
}
narrow python-mixed mixed
