#!/bin/sh
# Sets up, builds, and profiles two real programs: one in C, one in Node.
set -eu
cd "$(dirname "$0")/.."
. tools/as-root.sh

tools/setup.sh build
command -v node >/dev/null 2>&1 || {
	echo "demo: installing nodejs" >&2
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs >/dev/null
}
make -s -j"$(nproc)"

lineburn=$PWD/lineburn
workloads=$PWD/tests/workloads
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cc -O2 -g -fno-omit-frame-pointer -o "$dir/hot" "$workloads/hot.c"
cd "$dir"

echo
echo "1. A C program: three functions that do 5 : 3 : 2 parts of the work."
echo "   \$ lineburn run -F 999 -- ./hot"
echo
"$lineburn" run -F 999 -- ./hot

echo
echo "2. A Node program of the same kind; node --perf-prof tells the lines of its compiled code."
echo "   \$ lineburn run -F 999 -- node --perf-prof hot.js"
echo
"$lineburn" run -F 999 --file hot.js -- node --perf-prof "$workloads/hot.js"
