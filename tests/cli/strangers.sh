#!/bin/sh
# If another user may have written a profile, lineburn opens no source file that it names, unless the
# command line asks for it.
printf 'int secret;\n' >secret.c
mkfifo fifo.c
mkdir -p sub/deep
printf 'int below;\n' >sub/deep/below.c
here=$(pwd)
python3 naming.py names.pb.gz "$here/secret.c" "$here/fifo.c" /proc/self/status /b/deep/below.c /b/../secret.c

# shown FILE...: the source text that is shown of each file
shown() {
	lineburn annotate --json "$@" 2>err | HERE="$here" python3 -c '
import json, os, sys
for f in sorted(json.load(sys.stdin)["files"], key=lambda f: f["path"]):
    text = [line["text"] for line in f["lines"]]
    print(" ", f["path"].replace(os.environ["HERE"], "HERE"), text, f["source"]["note"].replace(os.environ["HERE"], "HERE"))'
	cat err
}
# piped COMMAND...: runs a command with the profile from a pipe
piped() {
	# shellcheck disable=SC2002 # that is what is tested
	cat names.pb.gz | "$@"
}
echo "ours:"
shown names.pb.gz
echo "from a pipe:"
piped shown -
piped lineburn annotate - >/dev/null
echo "that everybody may write:"
chmod o+w names.pb.gz
shown names.pb.gz
echo "asked for:"
shown --sources names.pb.gz
echo "with a folder for some:"
piped shown --source-path "/b=$here/sub" -
