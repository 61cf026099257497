#!/bin/sh
# Containers on machines with cgroup v1 only (crun) and v2 only (runc), which a mount namespace
# imitates for podman and lineburn, and a container of systemd-nspawn.
# Takes 10 s.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-containers.sh"

payload=
hierarchies_clean_up() {
	# The program in the container outlives systemd-nspawn.
	[ -z "$payload" ] || xargs -r kill -9 <"$payload" 2>/dev/null
	containers_clean_up
}
trap hierarchies_clean_up EXIT

chmod 755 .
if ! root alpha 5 15 25; then
	fail hierarchies "cannot build the programs"
	exit 0
fi
mkdir -p alpha/usr # nspawn refuses a root without it

# Status 77: podman cannot start a container here. The trap removes the container inside the namespace,
# where podman sees it.
cat >alone.sh <<'END'
trap 'podman rm -f --ignore -t 0 "$3" >/dev/null 2>&1' EXIT
trap 'exit 130' INT TERM
case $1 in
v1) awk '$3 == "cgroup2" { print $2 }' /proc/self/mounts | xargs -r -n 1 umount -l ;;
v2)
	awk '$3 ~ /^cgroup/ { print $2 }' /proc/self/mounts | xargs -n 1 umount -l
	mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit 77
	;;
esac
podman --runtime "$2" --cgroup-manager cgroupfs run -d --name "$3" --pids-limit 0 --ulimit nofile=1024:1024 \
	--ulimit nproc=1024:1024 --network none --rootfs "$PWD/alpha" /app/hot >id 2>start.err || exit 77
# For longer, if the container had no CPU time meanwhile.
has_enough() {
	"$LB" annotate --json --container "$1" "$2" |
		python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["samples"]["count"] < 200)'
}
for seconds in $4 10; do
	"$LB" record --container "$3" -F 999 -d "$seconds" -o "$1.pb.gz" &&
		"$LB" record -a -F 999 -d "$seconds" -o "$1-all.pb.gz" || exit
	! { has_enough "$3" "$1.pb.gz" && has_enough "$3" "$1-all.pb.gz"; } || break
done
END

# by_name VERSION NAME: --container chose it, and the profile of the whole machine has its name
by_name() {
	"$LB" annotate --json "$1.pb.gz" >"$1.json"
	"$LB" annotate --json --container "$2" "$1-all.pb.gz" >"$1-all.json"
	profile_has "$1.json" "sums_close()" "s['lost'] == 0" \
		"note('whose', {(p.get('container_name'), p['container_runtime']) for p in d['processes']}) == {('$2', 'podman')}" &&
		lines_there "$1.json" alpha 5 15 25 only && lines_there "$1-all.json" alpha 5 15 25 only
}

# alone VERSION RUNTIME
alone() {
	alone_name=lb-$1-$$
	if ! command -v podman >/dev/null || ! command -v "$2" >/dev/null; then
		skip "hierarchies-$1" "no podman with $2"
		return
	fi
	containers_podman="$containers_podman $alone_name"
	alone_status=0
	timeout 100 unshare -m sh alone.sh "$1" "$2" "$alone_name" "$(longer 1 3)" 2>"$1.err" || alone_status=$?
	case $alone_status in
	0)
		check "hierarchies-$1" by_name "$1" "$alone_name"
		narrow "hierarchies-$1-shares" lines_are "$1.json" alpha 5 15 25
		narrow "hierarchies-$1-shares-of-all" lines_are "$1-all.json" alpha 5 15 25
		narrow "hierarchies-$1-only" only_of "$1-all.json" alpha
		;;
	77) skip "hierarchies-$1" "podman with $2 starts nothing here: $(tail -n 1 start.err | cut -c1-200)" ;;
	*) fail "hierarchies-$1" "$(tail -n 1 "$1.err")" ;;
	esac
}
if [ -n "$v1" ]; then alone v1 crun; else skip hierarchies-v1 "no cgroup v1 here"; fi
if [ -n "$v2" ]; then alone v2 runc; else skip hierarchies-v2 "no cgroup2 is mounted"; fi

# In the scope that systemd-machined would make for the container.
machine=lbspawn$$
if [ -z "$v2" ] || ! command -v systemd-nspawn >/dev/null; then
	skip hierarchies-nspawn "no systemd-nspawn, or no cgroup2"
	exit 0
fi
group=$(cgroup "$v2" "machine.slice/machine-$machine.scope")
payload=$group/payload/cgroup.procs
in_cgroups "$group" systemd-nspawn -q -D "$PWD/alpha" -M $machine --register=no --keep-unit /app/hot >nspawn.out 2>&1
if ! wait_until 60 grep -q . "$payload"; then
	skip hierarchies-nspawn "systemd-nspawn starts nothing here: $(tail -n 1 nspawn.out | cut -c1-200)"
	exit 0
fi
of_nspawn() {
	enough 200 nspawn "$(longer 1 3) 10" --container $machine || return 1
	profile_has nspawn.json "sums_close()" \
		"note('whose', {(p['container'], p['container_runtime']) for p in d['processes'] if p['comm'] == 'hot'}) == {('$machine', 'systemd-nspawn')}" &&
		lines_there nspawn.json alpha 5 15 25
}
check hierarchies-nspawn of_nspawn
narrow hierarchies-nspawn-shares lines_are nspawn.json alpha 5 15 25
