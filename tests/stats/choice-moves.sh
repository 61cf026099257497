#!/bin/sh
# "record -G": CPU time of a process that is moved into the chosen cgroup and out again. (The check only
# tests that the process has samples: tests/root/choice.sh.)
. "${TOP:?}/tests/root/lib.sh"

cp "$(build hot.c)" ./in-it
./in-it 100000 &
inside=$!
group=lineburn-moves-$$
clean_up() {
	kill $inside
	wait
	for dir in $v2/$group $memory/$group; do
		[ ! -d "$dir" ] || rmdir "$dir"
	done
}
v2=$(mount_of cgroup2)
memory=$(mount_of cgroup memory)
trap 'clean_up 2>/dev/null' EXIT

# Moves the process into the chosen cgroup and out again, and prints the CPU time between, by the
# kernel's own clock. The process is stopped while it is moved.
cat >moves.py <<'END'
import os, signal, subprocess, sys, time
lb, group, root, pid = sys.argv[1:4] + [int(sys.argv[4])]

def stat():
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return f.read().rpartition(")")[2].split()

def used():
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0]) / 1e9

def move(to):
    os.kill(pid, signal.SIGSTOP)
    while stat()[0] != "T":
        time.sleep(0.001)
    with open(f"{to}/cgroup.procs", "w", encoding="ascii") as f:
        f.write(str(pid))
    now = used()
    os.kill(pid, signal.SIGCONT)
    return now

def samples(recorder):
    for fd in os.listdir(f"/proc/{recorder}/fdinfo"):
        with open(f"/proc/{recorder}/fdinfo/{fd}", encoding="ascii") as f:
            if "prog_type:\t7" in f.read():
                return True
    return False

recorder = subprocess.Popen([lb, "record", "-F", "499", "-o", "moves.pb.gz", "-G", group])
while not samples(recorder.pid):
    if recorder.poll() is not None:
        sys.exit("it did not begin")
    time.sleep(0.1)
time.sleep(0.7)
sum_s = 0
for _ in range(3):
    begin = move(group)
    while used() < begin + 0.8:
        time.sleep(0.05)
    sum_s += move(root) - begin
    time.sleep(0.3)
recorder.send_signal(signal.SIGINT)
recorder.wait()
print(sum_s)
END
moves() {
	timeout 120 python3 moves.py "$LB" "$1/$group" "$1" $inside >moves.txt 2>err || { tail -n 1 err; return 2; }
	"$LB" annotate --json moves.pb.gz >moves.json
	profile_has moves.json "sums_close()" "{p['pid'] for p in d['processes']} == {$inside}" \
		"abs(note('seconds', s['cpu_ns'] / 1e9) - note('used', $(cat moves.txt))) <= max(0.02, 3.5 / s['count'] ** 0.5) * $(cat moves.txt)"
}

# moved KIND MOUNT
moved() {
	if [ -n "$2" ] && mkdir "$2/$group"; then
		narrow "choice-$1-moves" moves "$2"
	else
		skip "choice-$1-moves" "no cgroup can be made"
	fi
}
moved v2 "$v2"
moved memory "$memory"
