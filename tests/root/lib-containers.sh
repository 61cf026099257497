# shellcheck shell=sh
# For scripts that make containers, each with its own root, cgroups and namespaces. Everything is
# removed when the script ends.
containers_top=lineburn-containers-$$
containers_pids=
containers_cgroups=
containers_mounts=
containers_podman= # names
podman_parents() {
	find /sys/fs/cgroup -maxdepth 2 -type d -name libpod_parent
}
containers_podman_parents=$(podman_parents)

# Kill the processes first: a cgroup can be removed only when it is empty.
containers_clean_up() {
	# shellcheck disable=SC2086 # a list of names
	[ -z "$containers_podman" ] || podman rm -f --ignore -t 0 $containers_podman >/dev/null 2>&1
	# shellcheck disable=SC2086 # a list of numbers
	kill_own $containers_pids
	wait 2>/dev/null
	for clean_mount in $containers_mounts; do
		umount "$clean_mount"
	done
	for clean_cgroup in $containers_cgroups; do
		clean_turns=50
		while [ -d "$clean_cgroup" ] && [ $clean_turns -gt 0 ]; do
			find "$clean_cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
			clean_turns=$((clean_turns - 1))
		done
	done
	# podman leaves this cgroup behind. Remove it if it did not exist before.
	[ -n "$containers_podman_parents" ] || for clean_cgroup in $(podman_parents); do
		find "$clean_cgroup" -depth -type d -exec rmdir {} + 2>/dev/null
	done
}
trap containers_clean_up EXIT

# Hierarchies: v2; of v1 the one of systemd, and the one that counts CPU time.
v2=$(mount_of cgroup2)
v1=$(mount_of cgroup name=systemd)
cpuacct=$(mount_of cgroup cpuacct)

# cgroup HIERARCHY NAME: makes a cgroup and prints its directory
cgroup() {
	mkdir -p "$1/$containers_top/$2" && echo "$1/$containers_top/$2"
}

# Our cgroups of all hierarchies are removed at the end.
for containers_mount in $v2 $v1 $cpuacct; do
	containers_cgroups="$containers_cgroups $containers_mount/$containers_top"
done

# in_cgroups "DIR..." COMMAND...: starts it in these cgroups; sets $pid; it is killed at the end
in_cgroups() {
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'for dir in $1; do echo 0 >"$dir/cgroup.procs" || exit 1; done; shift; exec "$@"' sh "$@" &
	pid=$!
	containers_pids="$containers_pids $pid"
}

# contain "DIR..." ROOT COMMAND...: as in_cgroups, in new namespaces, with ROOT as its root
contain() {
	contain_groups=$1
	contain_root=$2
	shift 2
	in_cgroups "$contain_groups" nice -n -10 unshare -m -p -u -i -C --fork --kill-child chroot "$contain_root" "$@"
}

# contain_system "DIR..." ROOT "PATH..." COMMAND...: as contain; ROOT also has /usr and these folders
# of the host, /proc, and its own /tmp
contain_system() {
	system_groups=$1
	system_root=$PWD/$2
	system_paths="/usr $3"
	shift 3
	mkdir -p "$system_root/proc" "$system_root/tmp" "$system_root/app"
	for system_link in bin sbin lib lib64; do
		[ ! -L /$system_link ] || ln -sfn "$(readlink /$system_link)" "$system_root/$system_link"
	done
	# shellcheck disable=SC2016 # for the inner shell
	in_cgroups "$system_groups" nice -n -10 unshare -m -p -u -i -C --fork --kill-child sh -c '
		for path in $2; do
			mkdir -p "$1$path" && mount --bind "$path" "$1$path" || exit 1
		done
		mount -t proc proc "$1/proc" || exit 1
		root=$1
		shift 2
		exec chroot "$root" "$@"' sh "$system_root" "$system_paths" "$@"
}

# weigh FILE ONE TWO FOUR: writes a program in C, or Python (*.py), with loops that work 1:2:4, on the
# lines with these numbers. Its argument is the number of rounds; the C program has no limit without it.
weigh() {
	PYTHONDONTWRITEBYTECODE=1 python3 - "$@" <<'PYTHON'
import sys

path, *lines = sys.argv[1:]
at = dict(zip(map(int, lines), (1, 2, 4)))
name = path.rsplit("/", 3)[-3]
if path.endswith(".py"):
    text = ["import sys"]
    for number in sorted(at):
        text += [""] * (number - 2 - len(text))
        text += [f"def {name}_{at[number]}(x):", "    for i in "
                 f"range({at[number]}00000): x = (x * 69069 + i) & 0x7FFFFFFF  # {name} {at[number]}", "    return x"]
    text += ["x = 1", "for _ in range(int(sys.argv[1])):", f"    x = {name}_1({name}_2({name}_4(x)))"]
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(text) + "\n")
    sys.exit()
text = ["/* loops of 1:2:4 */", "#include <stdlib.h>"]
for number in sorted(at):
    text += [""] * (number - 2 - len(text))
    text += [f"__attribute__((noinline)) static unsigned long {name}_{at[number]}(unsigned long x) {{",
             f"\tfor (unsigned long i = 0; i < {at[number]}000000; i++) x = x * 6364136223846793005UL + i;"
             f" /* {name} {at[number]} */", "\treturn x; }"]
text += ["int main(int argc, char **argv) {",
         "\tunsigned long x = 1, n = argc > 1 ? strtoul(argv[1], NULL, 10) : -1UL;",
         f"\tfor (; n--;) x = {name}_1({name}_2({name}_4(x)));", "\treturn x == 42; }"]
with open(path, "w", encoding="ascii") as f:
    f.write("\n".join(text) + "\n")
PYTHON
}

# root NAME ONE TWO FOUR: makes a root folder NAME with such a program as /app/hot, and its source
root() {
	mkdir -p "$1/app" "$1/tmp" "$1/proc" "$1/dev" "$1/sys" "$1/etc" "$1/run" && chmod 1777 "$1/tmp" &&
		weigh "$1/app/hot.c" "$2" "$3" "$4" &&
		gcc -O2 -g -static "-fdebug-prefix-map=$PWD/$1=" -o "$1/app/hot" "$PWD/$1/app/hot.c"
}

# lines_are JSON NAME ONE TWO FOUR: the samples on these lines of /app/hot.c or .py, with NAME in the
# text, are 1:2:4, within 3.5 standard deviations or 2 points
lines_are() {
	python3 - "$@" <<'PYTHON'
import json
import sys

d = json.load(open(sys.argv[1], encoding="utf-8"))
name, numbers = sys.argv[2], list(map(int, sys.argv[3:]))
said, is_ = [], {}
for file in d["files"]:
    for line in file["lines"] if file["path"] in ("/app/hot.c", "/app/hot.py") else ():
        said.append(f"{line['line']} \"{(line['text'] or '').rpartition('/*')[2].strip(' */')}\" {line['self']}")
        for weight, number in zip((1, 2, 4), numbers):
            if line["line"] == number and (line["text"] or "").rstrip(" */").endswith(f" {name} {weight}") \
                    and line["function"] == f"{name}_{weight}":
                is_[weight] = is_.get(weight, 0) + line["self"]
count = sum(is_.values())
for weight in (1, 2, 4):
    part = weight / 7
    bound = max(0.02, 3.5 * (part * (1 - part) / max(count, 1)) ** 0.5)
    if count < 100 or not is_.get(weight) or abs(is_.get(weight, 0) / count - part) > bound:
        sys.exit(f"{name}: {is_} of {numbers}; there is {', '.join(said)}")
print(f"{name}: {is_}")
PYTHON
}

# only_of JSON NAME: at least 98 % of the samples are in functions of this program (the rest: its
# start, the kernel)
only_of() {
	python3 - "$@" <<'PYTHON'
import json
import sys

d = json.load(open(sys.argv[1], encoding="utf-8"))
count = d["samples"]["count"]
mine = sum(f["self"] for f in d["functions"] if f["name"].startswith(sys.argv[2] + "_"))
if count < 100 or mine < 0.98 * count:
    sys.exit(f"{mine} of {count} are of {sys.argv[2]}: {[(f['name'], f['self']) for f in d['functions'][:5]]}")
PYTHON
}

# lines_there JSON NAME ONE TWO FOUR [only]: as lines_are, but checks only that all lines have samples
# and their order; with "only": no functions of other such programs
lines_there() {
	python3 - "$@" <<'PYTHON'
import json
import sys

d = json.load(open(sys.argv[1], encoding="utf-8"))
name, numbers, only = sys.argv[2], list(map(int, sys.argv[3:6])), sys.argv[6:]
is_ = {}
for file in d["files"]:
    for line in file["lines"] if file["path"] in ("/app/hot.c", "/app/hot.py") else ():
        for weight, number in zip((1, 2, 4), numbers):
            if line["line"] == number and (line["text"] or "").rstrip(" */").endswith(f" {name} {weight}") \
                    and line["function"] == f"{name}_{weight}":
                is_[weight] = is_.get(weight, 0) + line["self"]
others = {f["name"] for f in d["functions"] if f["self"] and f["name"].endswith(("_1", "_2", "_4"))
          and not f["name"].startswith(name + "_")}
if sum(is_.values()) < 30 or len(is_) < 3 or is_[4] <= is_[1] or only and others:
    sys.exit(f"{name}: {is_} of lines {numbers}; other functions {others}")
print(f"{name}: {is_}")
PYTHON
}

# functions_there JSON NAME: as lines_there with "only", for functions: the source is not available
functions_there() {
	python3 - "$@" <<'PYTHON'
import json
import sys

d = json.load(open(sys.argv[1], encoding="utf-8"))
found = {f["name"] for f in d["functions"] if f["self"] and f["name"].endswith(("_1", "_2", "_4"))}
if found != {f"{sys.argv[2]}_{weight}" for weight in (1, 2, 4)}:
    sys.exit(f"not of {sys.argv[2]} alone: {[(f['name'], f['self']) for f in d['functions'][:5]]}")
PYTHON
}

# watched POINTS NAME=FILE... -- COMMAND...: runs it while usage.py records the counters in the files
watched() {
	watched_points=$1
	shift
	watched_files=
	while [ "$1" != -- ]; do
		watched_files="$watched_files $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # a list of words
	nice -n -15 env PYTHONDONTWRITEBYTECODE=1 python3 -S "$TOP/tests/root/usage.py" watch "$watched_points" \
		$watched_files &
	watched_pid=$!
	containers_pids="$containers_pids $watched_pid"
	sleep 0.5
	watched_status=0
	"$@" || watched_status=$?
	kill $watched_pid
	wait $watched_pid
	return $watched_status
}

# usage_agrees POINTS JSON MEMBER: see usage.py
usage_agrees() {
	PYTHONDONTWRITEBYTECODE=1 python3 -S "$TOP/tests/root/usage.py" agree "$@"
}

# keys_behind TEXT JSON: reduces each group's key to the part after the last TEXT
keys_behind() {
	python3 - "$@" <<'END'
import json
import sys
text, path = sys.argv[1:]
d = json.load(open(path))
for g in d["groups"]:
    g["key"] = (g["key"] or "").rpartition(text)[2]
json.dump(d, open(path, "w"))
END
}
