#!/bin/sh
# Makes the Python environments of the demo, the tests and the bench:
#   build/venv/numba-new   the newest Numba, with python3 (or PYTHON=...)
#   build/venv/numba-old   numba 0.56, if there is a CPython 3.9 or 3.10, also pyenv's
#   build/venv/stacks      gevent, which has its own stacks, and Cython, which makes C
#   build/venv/numba-servers  Numba with gunicorn and Jupyter, which start other Pythons
#   build/venv/numba-notebook  Numba with what executes notebooks and tests
# Ends quickly if they exist. "make clean" keeps them, "make distclean" does not.
# usage: tools/venv.sh [new|old|stacks|servers|notebook]...   (default: all)
set -eu
cd "$(dirname "$0")/.."
umask 022

log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM

# venv NAME PYTHON MODULE REQUIREMENT...: makes an environment. Returns 1 if that fails or it has no
# MODULE; the log says why. A complete environment has its requirements in .whole; an incomplete one,
# or one with other requirements, is made again.
venv() {
	dir=build/venv/$1
	python=$2
	module=$3
	shift 3
	[ "$(cat "$dir/.whole" 2>/dev/null)" != "$*" ] || return 0
	echo "tools/venv.sh: making $dir: $*, from the network" >&2
	rm -rf "$dir"
	mkdir -p build/venv
	"$python" -m venv "$dir" >"$log" 2>&1 || return 1
	# Wheels only, so that no compiler is needed.
	"$dir/bin/python" -m pip install -q --disable-pip-version-check --only-binary :all: "$@" \
		>>"$log" 2>&1 </dev/null || return 1
	"$dir/bin/python" -c "import $module" >>"$log" 2>&1 || return 1
	echo "$*" >"$dir/.whole"
}

# suits PYTHON: whether it is a CPython that numba 0.56 supports
suits() {
	"$1" -c 'import ensurepip, sys
sys.exit(sys.implementation.name != "cpython" or not (3, 9) <= sys.version_info[:2] <= (3, 10))' \
		>/dev/null 2>&1
}

# Prints a CPython for numba 0.56. Under sudo, also searches the calling user's pyenv.
old_python() {
	caller=
	[ -z "${SUDO_USER:-}" ] || caller=$(getent passwd "$SUDO_USER" | cut -d : -f 6)
	for candidate in python3.10 python3.9 \
		"${PYENV_ROOT:-${HOME:-/root}/.pyenv}"/versions/3.10*/bin/python3 \
		"${PYENV_ROOT:-${HOME:-/root}/.pyenv}"/versions/3.9*/bin/python3 \
		"${caller:-/nonexistent}"/.pyenv/versions/3.10*/bin/python3 \
		"${caller:-/nonexistent}"/.pyenv/versions/3.9*/bin/python3; do
		if suits "$candidate"; then
			echo "$candidate"
			return 0
		fi
	done
	return 1
}

reason() {
	grep -iE 'error|not|fail' "$log" | tail -n 1 | cut -c1-200
}

make_new() {
	if ! venv numba-new "${PYTHON:-python3}" numba numba numpy joblib; then
		echo "tools/venv.sh: could not make build/venv/numba-new ($(reason)): see that pip" \
			"reaches a package index (pip config list) and that ${PYTHON:-python3} has" \
			"Numba's wheels, or name another one with PYTHON=..., then run it again" >&2
		return 1
	fi
}

# Some machines have no such Python; the tests then skip it.
make_old() {
	if ! python=$(old_python); then
		echo "tools/venv.sh: no CPython 3.9 or 3.10 here, so none of numba 0.56," \
			"skipping (pyenv install 3.10 adds one)" >&2
	elif ! venv numba-old "$python" numba numba==0.56.4 'numpy<1.24' 'setuptools<70'; then
		echo "tools/venv.sh: could not make build/venv/numba-old ($(reason)), skipping" >&2
	fi
}

# Only some tests need this environment, so a failure is not an error.
make_stacks() {
	if ! venv stacks "${PYTHON:-python3}" gevent gevent cython; then
		echo "tools/venv.sh: could not make build/venv/stacks ($(reason)), skipping" >&2
	fi
}

make_servers() {
	if ! venv numba-servers "${PYTHON:-python3}" numba numba gunicorn ipykernel jupyter_client; then
		echo "tools/venv.sh: could not make build/venv/numba-servers ($(reason)), skipping" >&2
	fi
}

make_notebook() {
	if ! venv numba-notebook "${PYTHON:-python3}" numba numba ipykernel jupyter_client nbclient pandas pytest \
		pytest-xdist; then
		echo "tools/venv.sh: could not make build/venv/numba-notebook ($(reason)), skipping" >&2
	fi
}

[ $# -gt 0 ] || set -- new old stacks servers notebook
for which in "$@"; do
	case $which in
	new | old | stacks | servers | notebook) ;;
	*)
		echo "usage: tools/venv.sh [new|old|stacks|servers|notebook]..." >&2
		exit 2
		;;
	esac
done
for which in "$@"; do
	"make_$which"
done
