#!/bin/sh
# A closed pipe is not a failure: SIGPIPE ends lineburn; if SIGPIPE is ignored, the status is 0
# and nothing is printed.
for command in "annotate hot.pb.gz" "report hot.pb.gz" "annotate --json hot.pb.gz" help; do
	# shellcheck disable=SC2086 # words
	python3 -c '
import os, subprocess, sys
read, write = os.pipe()
os.close(read)
for restore in (True, False):
    p = subprocess.run(sys.argv[1:], stdout=write, restore_signals=restore)
    print(" ".join(sys.argv[1:]) + ":", p.returncode, flush=True)' lineburn $command
done
