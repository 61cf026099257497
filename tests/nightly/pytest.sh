#!/bin/sh
# "pytest --lineburn": the profile of each test, the summary, the baseline, workers of pytest-xdist.
# Takes 15 s.
. "${TOP:?}/tests/root/lib.sh"
has_numba notebook pytest || exit 0
export PYTHONPATH="$TOP/python" LINEBURN="$LB"
cp "$WORKLOADS/python/test_hot.py" .

# tests NAME OPTION...: runs the tests, which pass; NAME.txt has what pytest says, NAME.pb.gz the profile
tests() {
	tests_name=$1
	shift
	timeout 120 "$PYTHON" -m pytest -p lineburn.pytest_plugin -p no:cacheprovider --rootdir=. --lineburn \
		--lineburn-output "$tests_name.pb.gz" "$@" test_hot.py >"$tests_name.txt" 2>&1 ||
		{ tail -n 1 "$tests_name.txt"; return 1; }
}

# hot_line NAME TEST OTHER...: TEST's samples are at its own line, and none at those of others
hot_line() {
	hot_name=$1
	hot_test=$2
	shift 2
	hot_comm=$(sed -n "s/.*::$hot_test   (lineburn annotate --comm \(.*\))$/\1/p" "$hot_name.txt")
	[ -n "$hot_comm" ] || { echo "the summary lacks $hot_test"; return 1; }
	"$LB" annotate --json --comm "$hot_comm" "$hot_name.pb.gz" >"$hot_name-$hot_test.json" || return 1
	profile_has "$hot_name-$hot_test.json" "hottest() == is_at('test_hot.py $hot_test')" "s['count'] > 50" || return 1
	for hot_other; do
		profile_has "$hot_name-$hot_test.json" "self_('test_hot.py $hot_other') == 0" || return 1
	done
}
# of_each NAME: so it is for each test
of_each() {
	hot_line "$1" test_squares test_cubes test_in_thread && hot_line "$1" test_cubes test_squares test_in_thread &&
		hot_line "$1" test_in_thread test_squares test_cubes
}
check pytest-first tests first --lineburn-baseline base
check pytest-tests of_each first
summary() {
	grep -q '^ *[0-9.]* %  test_hot.py:[0-9]*  total += i \* i % 7 + i \* i % 5  # HOT test_squares' first.txt &&
		grep -qx "stored as the baseline: $PWD/base/baseline.pb.gz" first.txt && cmp first.pb.gz base/baseline.pb.gz
}
check pytest-summary summary
check pytest-workers-run tests workers -n 2
check pytest-workers of_each workers

# Twice the CPU time of one test is a change.
slower() {
	SLOWER=2 tests slower --lineburn-baseline base || return 1
	tail -n 4 slower.txt | head -n 1
	grep -A 1 -x 'test_hot.py::test_squares:' slower.txt | grep -q '^    CPU [0-9.]* s, before [0-9.]* s: +[0-9]'
}
check pytest-baseline slower

# A user without rights: no test runs, and the message has the line to type.
denied() {
	denied_status=0
	as_nobody env LINEBURN="$PWD/theirs/lineburn" "$PYTHON" -m pytest -p lineburn.pytest_plugin -p no:cacheprovider \
		--lineburn --lineburn-output theirs/none.pb.gz test_hot.py >denied.txt 2>&1 || denied_status=$?
	echo "status $denied_status: $(tail -n 1 denied.txt)"
	[ $denied_status -eq 4 ] && grep -q '^ERROR: lineburn: ' denied.txt && grep -q '^    sudo setcap ' denied.txt
}
as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"
}
mkdir -m 777 theirs
cp "$LB" theirs/lineburn
chmod 755 theirs/lineburn
if as_nobody env "$PYTHON" -c 'import lineburn' 2>/dev/null; then
	check pytest-denied denied
else
	skip pytest-denied "the user nobody cannot read the environment of Python"
fi
