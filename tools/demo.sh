#!/bin/sh
# Sets up, builds, and profiles real programs in Numba, C and Node, and one of Python, C and Numba
# together, of which it writes a page for the browser: build/demo.html.
set -eu
cd "$(dirname "$0")/.."
. tools/as-root.sh

tools/setup.sh demo
echo "demo: building" >&2
make -s -j"$(nproc)" >/dev/null
give_back

workloads=$PWD/tests/workloads
page=$PWD/build/demo.html
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
PATH=$PWD:$PATH
gcc -O2 -g -fno-omit-frame-pointer -o "$dir/hot" "$workloads/hot.c"
cp "$workloads/python/dither.py" "$workloads/python/mixed.py" "$workloads/python/clocked.py" "$workloads/hot.js" "$dir/"
ln -s "$PWD/build/venv/numba-new" "$dir/venv"
# "run" starts the command as the user who called sudo, who must own the folder.
[ -z "${SUDO_UID:-}" ] || chown -hR "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$dir"
cd "$dir"

# show TEXT COMMAND...
show() {
	printf '\n%s\n\n' "$1"
	shift
	printf '   $ %s\n\n' "$*"
	"$@"
}

if [ -e venv/.whole ]; then
	show "1. A Numba program, as it is: which of its lines take the time of an image's dithering?" \
		lineburn run -F 999 --file dither.py -- venv/bin/python dither.py
	show "2. The same, written faster." \
		lineburn run -F 999 --file dither.py -- venv/bin/python dither.py fast
else
	printf '\n1., 2. Numba programs: skipped, as there is no Numba here (see above).\n'
fi
show "3. A C program: three functions that do 5 : 3 : 2 parts of the work." \
	lineburn run -F 999 -- ./hot 20
show "4. A Node program of the same kind; node --perf-prof tells the lines of its compiled code." \
	lineburn run -F 999 --file hot.js -- node --perf-prof hot.js 15
show "5. The functions of that program, from the file that \"run\" wrote." \
	lineburn report --min-percent 5
if [ -e venv/.whole ]; then
	show "6. A page of a program of Python, C and Numba, for the browser." \
		lineburn run -F 999 -o "$page" -- venv/bin/python mixed.py 3 truth.json
	(cd "${page%/build/*}" && give_back)
fi
echo
echo "Your own: sudo ./lineburn run -- COMMAND, or sudo ./lineburn record -a -d 10, then ./lineburn annotate."
