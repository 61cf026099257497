#!/bin/sh
# What diff refuses, and the remedies; options that select and move.
here=$(dirname "$0")
record() {
	python3 "$here/../lib/recording.py" "$1"
}
try() {
	lineburn diff "$@" >out
	echo "exit $?"
	[ ! -s out ] || echo "stdout: $(cat out)"
}
try
try hot.pb.gz
try hot.pb.gz hot.pb.gz hot.pb.gz
try hot.pb.gz --after
try --after hot.pb.gz
try - - <hot.pb.gz
try hot.pb.gz missing.pb.gz
try hot.pb.gz naming.py
try --per fortnight hot.pb.gz hot.pb.gz
try --per before=1 hot.pb.gz hot.pb.gz
try --per before=0,after=1 hot.pb.gz hot.pb.gz
try --per before=1+,after=1 hot.pb.gz hot.pb.gz
try --per before=1+2+3,after=1 hot.pb.gz hot.pb.gz
try --noise 101 hot.pb.gz hot.pb.gz
try --fail-if 'five' hot.pb.gz hot.pb.gz
try --fail-if 'fiv +10%' hot.pb.gz hot.pb.gz
try --fail-if 'hot.c:99 +10%' hot.pb.gz hot.pb.gz
try --per sample --fail-if 'total +10%' hot.pb.gz hot.pb.gz
try --format csv hot.pb.gz hot.pb.gz
try --limit x hot.pb.gz hot.pb.gz
try --context 3 hot.pb.gz hot.pb.gz
try --comm nobody hot.pb.gz hot.pb.gz
record heap.pb.gz <<EOT
plain
type inuse_space bytes
1000 f@a.c:3
EOT
record empty.pb.gz </dev/null
record timeless.pb.gz <<EOT
1000 f@/build/1/a.c:3
EOT
record moved.pb.gz <<EOT
1500 f@/build/2/a.c:3
EOT
try hot.pb.gz heap.pb.gz
try heap.pb.gz heap.pb.gz
try empty.pb.gz hot.pb.gz
try --per second timeless.pb.gz hot.pb.gz
lineburn diff --noise 0 timeless.pb.gz moved.pb.gz
lineburn diff --moved /build/1=/build/2 --noise 0 timeless.pb.gz moved.pb.gz
lineburn diff --pid '!1' --per second -- hot.pb.gz hot.pb.gz | head -n 3
for filter in --pid=!1 --focus=five --ignore=two --hide=libc; do
	lineburn diff "$filter" hot.pb.gz hot.pb.gz | grep select
	lineburn diff --json "$filter" hot.pb.gz hot.pb.gz | grep narrowed
done
