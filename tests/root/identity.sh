#!/bin/sh
# Owners of processes: cgroups like those of container runtimes and systemd, names from files like
# theirs, users, pid namespaces, and processes that live 10 ms.
# Takes 30 s.
. "${TOP:?}/tests/root/lib.sh"

ID=3f4b9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7a8
ID2=a8f4b9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f73
POD=6f2c1d3e-4b5a-4c7d-8e9f-0123456789ab
POD_=$(echo $POD | tr - _)
TOP_NAME=lineburn-test-$$
tops=
pids=

# Kill the processes first: a cgroup can be removed only when it is empty.
clean_up() {
	# shellcheck disable=SC2086 # a list of numbers
	kill_own $pids
	wait 2>/dev/null
	for clean_top in $tops; do
		find "$clean_top" -depth -type d -exec rmdir {} + 2>/dev/null
	done
}
trap clean_up EXIT

# spin COMM CGROUP COMMAND...: starts a loop called COMM through COMMAND... in CGROUP ("": ours)
spin() {
	spin_comm=$1
	spin_cgroup=$2
	shift 2
	[ -e "$spin_comm" ] || cp "$(command -v dash || command -v sh)" "$spin_comm"
	if [ -n "$spin_cgroup" ] && ! mkdir -p "$spin_cgroup"; then
		return 1
	fi
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'cgroup=$1; shift; [ -z "$cgroup" ] || echo 0 >"$cgroup/cgroup.procs" || exit 1; exec "$@"' \
		sh "$spin_cgroup" "$@" "./$spin_comm" -c 'ulimit -t 600; while :; do :; done' &
	pids="$pids $!"
}

# of COMM EXPRESSION...: each is true for the process p with this name
of() {
	python3 - "$@" <<'END'
import json
import sys
d = json.load(open("all.json", encoding="ascii"))
found = [p for p in d["processes"] if p["comm"] == sys.argv[1]]
if len(found) != 1:
    sys.exit(f"{len(found)} processes are called {sys.argv[1]}")
p = found[0]
for expression in sys.argv[2:]:
    if not eval(expression):
        sys.exit(f"not {expression}: {p}")
END
}

v2=$(mount_of cgroup2)
v1=$(mount_of cgroup name=systemd)
chmod 755 .

if [ -n "$v2" ]; then
	top=$v2/$TOP_NAME
	tops="$tops $top"
	spin in-docker "$top/system.slice/docker-$ID.scope"
	spin in-pod "$top/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod$POD_.slice/cri-containerd-$ID2.scope"
	spin in-service "$top/system.slice/foo\\x2dbar.service"
	spin in-odd "$top/$(printf 'x\033[31m;)\377.service')"
	odd=${pids##* }
fi
if [ -n "$v1" ]; then
	tops="$tops $v1/$TOP_NAME"
	spin in-lxc "$v1/$TOP_NAME/lxc.payload.web"
fi
spin in-pid-ns "" unshare -p -f --kill-child
spin as-nobody "" setpriv --reuid=65534 --clear-groups
spin in-user-ns "" unshare -U -r
spin in-root ""
last=${pids##* }

# Files of container runtimes, in a mount namespace that only lineburn sees.
cat >record.sh <<'END'
mount -t tmpfs none /var/lib && mount -t tmpfs none /var/log || exit 1
mkdir -p "/var/lib/docker/containers/$1" /var/log/containers
echo '{"ID":"x","Name":"/sad_tesla"}' >"/var/lib/docker/containers/$1/config.v2.json"
ln -s /var/log/pods/x "/var/log/containers/web-0_shop_nginx-$2.log"
exec nice -n -16 "$LB" record -a -F 999 -d "$3" -o all.pb.gz
END
# A name that no other script uses.
cp "$(build shortlived.c)" ./in-short
if [ -n "$v2" ]; then
	# shellcheck disable=SC2016 # for the inner shell
	nice -n -15 sh -c 'echo 0 >"$1/cgroup.procs"; sleep 0.5; for i in $(seq 10000); do "$2"; done' \
		sh "$top/system.slice/docker-$ID.scope" ./in-short &
	pids="$pids $!"
fi
timeout 60 unshare -m sh record.sh $ID $ID2 "$(longer 2 3)" >record.out 2>record.err ||
	fail record "$(tail -n 1 record.err)"
# The report lists only few processes, so record two of them separately.
timeout 60 "$LB" record -p "${odd:-$last}" -p "$last" -F 499 -d 1 -o odd.pb.gz 2>>record.err
# shellcheck disable=SC2086 # a list of numbers
kill_own $pids
"$LB" annotate --json all.pb.gz >all.json 2>>record.err
"$LB" report odd.pb.gz >report.txt 2>>record.err

if [ -n "$v2" ]; then
	check docker of in-docker "p['container'] == '$ID'" "p['container_runtime'] == 'docker'" \
		"p['container_name'] == 'sad_tesla'" "p['unit'] == 'docker-$ID.scope'" \
		"p['cgroup'] == '/$TOP_NAME/system.slice/docker-$ID.scope'"
	check kubernetes of in-pod "p['container'] == '$ID2'" "p['pod'] == '$POD'" \
		"p['container_runtime'] == 'containerd'" "p['container_name'] == 'shop/web-0/nginx'"
	check service of in-service "p['unit'] == 'foo-bar.service'" "p['container'] == ''" \
		"'pod' not in p" "'container_name' not in p"
	check odd-name of in-odd 'p["unit"] == "x\x1b[31m;)\ufffd.service"'
	odd_is_escaped() {
		if grep -q "$(printf '\033')" report.txt; then
			echo "an escape came through"
			return 1
		fi
		grep -qF 'x\x1b[31m;)' report.txt
	}
	check odd-name-in-text odd_is_escaped
	# short_have_container LEAST: of at least LEAST processes 95 % have their container (0: no bounds)
	short_have_container() {
		python3 - "$1" <<'END'
import json
import sys
d = json.load(open("all.json", encoding="ascii"))
short = [p for p in d["processes"] if p["comm"] == "in-short"]
inside = [p for p in short if p.get("container_name") == "sad_tesla"]
# A process that ended before it was known has no owner; none may have a wrong one.
nobodys = [p for p in short if "user" not in p]
least = int(sys.argv[1])
if not inside or len(inside) + len(nobodys) < len(short) or least and (
        len(short) < least or len(nobodys) > 0.05 * len(short)):
    sys.exit(f"{len(inside)} of {len(short)} are in the container, not "
             f"{[p for p in short if p not in inside][:2]}")
END
	}
	check short-lived short_have_container 0
	narrow short-lived-known short_have_container 5
else
	skip cgroup-v2 "no cgroup2 is mounted"
fi
if [ -n "$v1" ]; then
	check lxc-v1 of in-lxc "p['container'] == 'web'" "p['container_name'] == 'web'" \
		"p['container_runtime'] == 'lxc'"
else
	skip cgroup-v1 "systemd has no hierarchy of cgroup v1 here"
fi
check pid-namespace of in-pid-ns "p['ns_pid'] == 1" "p['pid'] > 1"
check initial-pid-namespace of in-root "'ns_pid' not in p" "p['container'] == ''"
check user of as-nobody "p['user'] == 'nobody'"
check root of in-root "p['user'] == 'root'"
check other-user-namespace of in-user-ns "p['user'] == '0'"
exe_is_told() {
	PYTHONDONTWRITEBYTECODE=1 python3 -S "$TOP/tests/root/labels.py" all.pb.gz exe >exe.txt &&
		grep -q "^$PWD/in-root " exe.txt && return 0
	head -n 3 exe.txt | tr '\n' ' '
	return 1
}
check executable exe_is_told

# If v2 is the only hierarchy, each sample has its cgroup. So a process that moves during the
# recording has both cgroups, and processes that end before /proc is read have theirs.
if [ -n "$v2" ]; then
	pids=
	spin moves "$top/machine.slice/libpod-$ID.scope"
	mover=${pids##* }
	mkdir -p "$top/system.slice/later.service" "$top/machine.slice/libpod-$ID2.scope"
	cat >alone.sh <<'END'
awk '$3 ~ /^cgroup/ { print $2 }' /proc/self/mounts | xargs -n 1 umount -l
mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit 1
exec "$LB" record -a -F 999 -d 300 -o moved.pb.gz
END
	unshare -m sh alone.sh >moved.out 2>moved.err &
	recording=$!
	pids="$pids $recording"
	wait_until 60 records $recording
	cp in-short in-passing
	sh -c 'echo 0 >"$1/cgroup.procs"; i=0; while [ $i -lt 100 ]; do ./in-passing; i=$((i + 1)); done' \
		sh "$top/machine.slice/libpod-$ID2.scope"
	echo "$mover" >"$top/system.slice/later.service/cgroup.procs"
	begin=$(cut -d ' ' -f 1 "/proc/$mover/schedstat")
	works "$mover" "$(longer 200 2000)"
	end=$(cut -d ' ' -f 1 "/proc/$mover/schedstat")
	kill -INT $recording
	wait $recording
	"$LB" report --by cgroup --comm moves --json moved.pb.gz >moved.json
	# moved_is_told [NS]: both cgroups have samples; after the move NS of CPU time, within 5 %
	moved_is_told() {
		python3 - "/$TOP_NAME" "$@" <<'END'
import json
import sys
top = sys.argv[1]
d = json.load(open("moved.json", encoding="ascii"))
groups = {g["name"]: g["cpu_ns"] for g in d["groups"]}
after = groups.get(top + "/system.slice/later.service", 0)
before = sum(ns for name, ns in groups.items() if "/machine.slice/libpod-" in name)
used = [int(ns) for ns in sys.argv[2:]]
if len(groups) != 2 or not before or not after or any(
        before < 0.3e9 or abs(after - ns) > 0.05 * ns + 0.1e9 for ns in used):
    sys.exit(f"{groups}, used afterwards {used}")
END
	}
	check moved moved_is_told
	narrow moved-time moved_is_told $((end - begin))
	"$LB" report --by container --comm in-passing --json moved.pb.gz >passing.json
	# passing_is_told [all]: no sample has a wrong container; with "all", each has one
	passing_is_told() {
		python3 - $ID2 "$@" <<'END'
import json
import sys
d = json.load(open("passing.json", encoding="ascii"))
groups = {g["container"]: g["samples"] for g in d["groups"]}
unknown = groups.pop(None, 0)
if list(groups) != [sys.argv[1]] or groups[sys.argv[1]] < 20 or "all" in sys.argv and unknown:
    sys.exit(f"{groups}, {unknown} without; {d['stacks']}, {d['losses']}")
END
	}
	check in-passing passing_is_told
	narrow in-passing-all passing_is_told all
	kill -9 "$mover"
fi
