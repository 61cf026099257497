#!/bin/sh
# Files that are not profiles: one sentence, status 1, nothing on stdout.
try() {
	status=0
	lineburn "$@" >out || status=$?
	[ ! -s out ] || echo "stdout: $(cat out)"
	[ "$status" -eq 1 ] || echo "status $status: lineburn $*"
}
try annotate
try report missing.pb.gz
: >empty
try annotate empty
try annotate - </dev/null
echo "this is text" >text
try annotate text
try report text
gzip -c text >text.gz
try annotate text.gz
head -c 200 hot.pb.gz >short.pb.gz
try annotate short.pb.gz
{ cat hot.pb.gz; echo trailing; } >trailing.pb.gz
try annotate trailing.pb.gz
mkdir folder
try annotate folder
# 24 gzip members of 64 MB each: 1.5 GB.
head -c 64m /dev/zero | gzip -1 >member.gz
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do cat member.gz; done >bomb.pb.gz
try annotate bomb.pb.gz
printf '\037\213' >magic
try annotate magic
