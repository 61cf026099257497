#!/bin/sh
# Outputs whose reader opens the sources warn of files that have changed since the recording.
here=$(pwd)
# said COMMAND...: what it says beside its output
said() {
	"$@" 2>err >out
	status=$?
	[ -s out ] || echo "no output"
	sed "s|$here|HERE|g" err
	[ $status -eq 0 ] || echo "exit $status"
}
# A recording has the text, so a file of the same length and age is another one, too.
mkdir src
lineburn export -f firefox hot.pb.gz -o text.json.gz
python3 -c '
import gzip, json
print(next(text for text in json.load(gzip.open("text.json.gz"))["shared"]["sources"]["content"] if text), end="")' >src/hot.c
for format in csv quickfix; do
	echo "annotate --format $format, of the recorded file:"
	said lineburn annotate --format $format --source-path "/example/src=$here/src" hot.pb.gz
done
sed 's/five/FIVE/' src/hot.c >changed && touch -r src/hot.c changed && mv changed src/hot.c
for format in csv quickfix json; do
	echo "annotate --format $format, of a changed one:"
	said lineburn annotate --format $format --source-path "/example/src=$here/src" hot.pb.gz
done
echo "of a file that is not listed:"
said lineburn annotate --format csv --file libc_start_call_main.h --source-path "/example/src=$here/src" hot.pb.gz

# Another tool's profile has no text: its time decides.
printf 'one\ntwo\n' >work.c
touch -d @1700000000 work.c
python3 other_tool.py old.pb.gz source="$here/work.c" time=1700000001 cpu/nanoseconds=8,4
python3 other_tool.py new.pb.gz source="$here/work.c" time=1699999999 cpu/nanoseconds=8,4
python3 other_tool.py long.pb.gz source="$here/work.c" lines=1,3 time=1700000001 cpu/nanoseconds=8,4
echo "export, of a younger file:"
for format in $(lineburn export -f x old.pb.gz 2>&1 | sed -n 's/.*the formats \(.*\), not .*/\1/p' | tr -d ,); do
	[ "$format" = autofdo ] || said lineburn export -f "$format" -o - new.pb.gz >warning
	[ "$format" = autofdo ] || echo "$format: $(cat warning)"
done
echo "of one that is not, of a shorter one, of one that may not be opened:"
said lineburn export -f folded-emacs old.pb.gz
said lineburn export -f folded-emacs long.pb.gz
chmod o+w new.pb.gz
said lineburn export -f folded-emacs new.pb.gz
for n in 1 2 3 4 5 6 7; do
	: >work$n.c
done
python3 naming.py many.pb.gz "$here"/work?.c
echo "of many:"
said lineburn export -f callgrind many.pb.gz
