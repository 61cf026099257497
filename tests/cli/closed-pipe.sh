#!/bin/sh
# A closed pipe is not a failure: SIGPIPE ends lineburn; if SIGPIPE is ignored, the status is 0
# and nothing is printed. A full disk is one sentence and status 1.
formats=$(lineburn export -f x hot.pb.gz 2>&1 | sed -n 's/.*the formats \(.*\), not .*/\1/p' | tr -d ,)
{
	printf '%s hot.pb.gz\n' annotate report 'annotate --json' 'annotate --format csv' 'annotate --format quickfix' \
		'report --by comm' 'report --callers=five' 'diff hot.pb.gz' 'diff --format html hot.pb.gz' 'html -o -'
	for format in $formats; do
		echo "export -f $format hot.pb.gz"
	done
	echo help
} >commands
python3 - <<'EOF'
import os, subprocess
for command in open("commands"):
    said = []
    for restore in (True, False):
        read, write = os.pipe()
        os.close(read)
        p = subprocess.run(["lineburn", *command.split()], stdout=write, stderr=subprocess.PIPE, restore_signals=restore)
        os.close(write)
        said.append(f"{p.returncode}{p.stderr.decode()}")
    with open("/dev/full", "w") as full:
        p = subprocess.run(["lineburn", *command.split()], stdout=full, stderr=subprocess.PIPE)
    print(f"{command.strip()}: {' '.join(said)}; {p.returncode} {p.stderr.decode().strip()}")
EOF
