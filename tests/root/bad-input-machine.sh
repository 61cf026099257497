#!/bin/sh
# Machines with an unusual /proc or unusual cgroups. Each test mounts them in a mount namespace
# of its own.
# Takes 35 s.
. "${TOP:?}/tests/root/lib-machine.sh"

# ---- /proc ----

MACHINE='mount -t proc -o hidepid=2 proc /proc || exit 99;'
also check hidepid chosen hidepid "$only_inside" -p "$inside"
also check hidepid-all chosen hidepid-all "$both" -a

# as_user ARGUMENT...: lineburn as another user with the capabilities $as_user_caps
user_dir=$WORK/bad-input-user
mkdir -p "$user_dir" && chmod 777 "$user_dir"
as_user() {
	# shellcheck disable=SC2016 # for the inner shell
	timeout 60 unshare -m --propagation private sh -c "$MACHINE"'
		cd "$1" && caps=$2 && shift 2 &&
		exec setpriv --reuid=54321 --regid=54321 --clear-groups --inh-caps="$caps" \
			--ambient-caps="$caps" --bounding-set="$caps" "$@"' sh "$user_dir" "-all,$as_user_caps" \
		"$LB" "$@"
}
hidden_by_proc() {
	as_user_caps=+bpf,+perfmon
	status=0
	as_user record -d 0.2 -o p.pb.gz -p "$inside" >out 2>err || status=$?
	if [ $status -ne 3 ] || ! grep -q "process $inside is hidden by an option of /proc" err; then
		echo "status $status: $(cat err)"
		return 1
	fi
	one_sentence err || return 1
	as_user record -F 999 -d 2 -o all.pb.gz --comm inside --comm outside >out 2>err ||
		{ tail -n 1 err; return 1; }
	"$LB" report "$user_dir/all.pb.gz" >all.txt && grep -q '/proc hides the processes of other users' all.txt
}
seen_with_ptrace() {
	as_user_caps=+bpf,+perfmon,+sys_ptrace
	as_user record -F 999 -d 2 -o ptrace.pb.gz -p "$inside" >out 2>err || { tail -n 1 err; return 1; }
	"$LB" annotate --json "$user_dir/ptrace.pb.gz" >ptrace.json
	profile_has ptrace.json "sums_close()" "$only_inside" "s['with_line'] >= 0.9 * s['count']"
}
# kptr_restrict hides the addresses of the kernel's functions. The test does not change it.
kernel_is_hidden() {
	[ "$(cat /proc/sys/kernel/kptr_restrict)" != 0 ] || return 77
	as_user_caps=+bpf,+perfmon,+sys_ptrace
	dd if=/dev/zero of=/dev/null bs=1 >/dev/null 2>&1 &
	dd=$!
	ends "$dd"
	as_user record -F 999 -d 2 -o kernel.pb.gz -p $dd >out 2>err || { tail -n 1 err; return 1; }
	kill $dd
	"$LB" annotate --json "$user_dir/kernel.pb.gz" >kernel.json
	profile_has kernel.json "s['kernel'] > 0" || return 1
	"$LB" report "$user_dir/kernel.pb.gz" | grep -q "The kernel's functions have no names"
}
if command -v setpriv >/dev/null; then
	check hidepid-other-user hidden_by_proc
	check hidepid-ptrace seen_with_ptrace
	hidden_status=0
	kernel_is_hidden >hidden.said || hidden_status=$?
	case $hidden_status in
	0) pass kernel-hidden ;;
	77) skip kernel-hidden "kptr_restrict is 0, and is not this test's to change" ;;
	*) fail kernel-hidden "$(tail -n 1 hidden.said)" ;;
	esac
else
	skip hidepid-other-user "no setpriv"
fi

# kernel_without_names NAME: samples a process in the kernel when kernel functions have no names
kernel_without_names() {
	dd if=/dev/zero of=/dev/null bs=1 >/dev/null 2>&1 &
	dd=$!
	ends "$dd"
	chosen "$1" "$pids == {$dd} and s['kernel'] > 0 and not any(f['object'] == '[kernel]' and f['name'] for f in d['functions'])" -p $dd
	kernel_status=$?
	kill $dd
	[ $kernel_status -eq 0 ] || return 1
	"$LB" report "$1.pb.gz" >"$1.txt"
	grep -q "The kernel's functions have no names, because /proc/kallsyms" "$1.txt"
}
MACHINE='mount --bind /dev/null /proc/kallsyms || exit 99;'
check no-kallsyms kernel_without_names no-kallsyms
# The content of kallsyms with kptr_restrict=2.
sed 's/^[0-9a-f]*/0000000000000000/' /proc/kallsyms >kallsyms
MACHINE="mount --bind '$PWD/kallsyms' /proc/kallsyms || exit 99;"
check hidden-kallsyms kernel_without_names hidden-kallsyms
also check no-kallsyms-user chosen no-kallsyms-user "$only_inside and s['with_line'] >= 0.9 * (s['count'] - s['kernel'])" -p "$inside"

MACHINE='mount -t proc -o subset=pid proc /proc || exit 99;'
subset_of_proc() {
	chosen subset "$only_inside and s['with_line'] >= 0.9 * s['count'] and s['incomplete_stacks'] <= 0.1 * s['count'] + 5" -p "$inside" ||
		return 1
	# The report says what cannot be known.
	"$LB" report subset.pb.gz >subset.txt && grep -q '/proc/stat cannot be read' subset.txt
}
check subset-pid subset_of_proc
also check subset-pid-all chosen subset-all "$both" -a
check subset-pid-kernel kernel_without_names subset-kernel

# ---- cgroups ----

umount_all() {
	echo "awk '\$3 ~ /^($1)\$/ { print \$2 }' /proc/mounts | while read -r m; do umount -l \"\$m\" || exit 99; done;"
}
MACHINE=$(umount_all 'cgroup2?')
also check no-cgroups chosen no-cgroups "$both" -a
also check no-cgroups-process chosen no-cgroups-process "$only_inside" -p "$inside"
check no-cgroups-said says 3 "no hierarchy of cgroups is mounted here" -G "$group"
check no-cgroups-container says 3 "mount cgroup2 at /sys/fs/cgroup" --container "$id12"
also_done
MACHINE=$(umount_all cgroup2)
if [ -n "$memory" ] && mkdir -p "$memory/$group/docker-$id.scope/deep" 2>/dev/null; then
	made="$made $memory/$group"
	echo "$inside" >"$memory/$group/docker-$id.scope/deep/cgroup.procs"
	also check no-v2 chosen no-v2 "$only_inside" -G "$group"
	also check no-v2-container chosen no-v2-container \
		"$only_inside and d['processes'][0]['container'] == '$id' and d['processes'][0]['container_runtime'] == 'docker'" \
		--container "$id12"
	check no-v2-said says 1 "there is no cgroup \"$group-no\"; similar: $group" -G "$group-no"
	also_done
	echo "$inside" >"$memory/cgroup.procs"
else
	skip no-v2 "no cgroup of v1 can be made"
fi
also_done
MACHINE=

# in_namespace DIRECTORY COMMANDS: runs lineburn in this cgroup and a cgroup namespace, where it is "/"
in_namespace() {
	MACHINE="echo 0 >'$1/cgroup.procs' || exit 99; $2
		set -- unshare -C \"\$@\";"
}
# Mounts cgroup2 again inside the namespace, over the former mount.
own_mount='
	exec unshare -C sh -c "mount -t cgroup2 none /sys/fs/cgroup || exit 99; exec \"\$@\"" sh "$@";'
if [ -n "$v2" ] && mkdir "$v2/$group"; then
	made="$made $v2/$group"
	top=$v2/$group
	scope=docker-$id.scope
	mkdir -p "$top/ns/$scope" "$top/beside" "$top/ns/1/2"
	echo "$inside" >"$top/ns/$scope/cgroup.procs"
	echo "$outside" >"$top/beside/cgroup.procs"
	told="d['processes'][0]['container'] == '$id' and d['processes'][0]['container_runtime'] == 'docker'"

	in_namespace "$top/ns" ''
	also check namespace-identity chosen ns-identity "$only_inside and $told and d['processes'][0]['cgroup'] == '/$scope'" -p "$inside"
	also check namespace-path chosen ns-path "$only_inside" -G "/$scope"
	also check namespace-relative chosen ns-relative "$only_inside" -G "$scope"
	also check namespace-mount-path chosen ns-mount-path "$only_inside" -G "$v2/$group/ns/$scope"
	also check namespace-beside chosen ns-beside "$pids == {$outside} and d['processes'][0]['cgroup'] == '/../beside'" -G /../beside
	also check namespace-above chosen ns-above "{$inside, $outside} <= $pids" -G "/../../$group"
	also check namespace-not chosen ns-not "$inside not in $pids and $outside in $pids" --comm inside --comm outside -G "!/$scope"
	also check namespace-container chosen ns-container "$only_inside and $told" --container "$id12"
	also check namespace-unit chosen ns-unit "$only_inside" --unit "$scope"
	check namespace-said says 1 'there is no cgroup "/../besides"; similar: beside' -G /../besides
	check namespace-far-above says 1 'there is no cgroup "/../../../x"' -G /../../../x

	in_namespace "$top/ns" "$own_mount"
	also check namespace-own-mount chosen ns-own "$only_inside" -G "/$scope"
	also check namespace-own-mount-path chosen ns-own-path "$only_inside" -G "/sys/fs/cgroup/$scope"
	also check namespace-own-mount-container chosen ns-own-container "$only_inside and $told" --container "$id12"

	also_done
	# The cgroup path of a process outside the namespace begins with "/..".
	in_namespace "$top/ns/1/2" ''
	also check namespace-outside chosen ns-outside "$only_inside and $told and d['processes'][0]['cgroup'] == '/../../$scope'" -G "/../../$scope"
	also_done
	MACHINE=
	echo "$inside" >"$v2/cgroup.procs"
	echo "$outside" >"$v2/cgroup.procs"
else
	skip namespace "no cgroup of v2 can be made"
fi
rm -rf "$user_dir"
