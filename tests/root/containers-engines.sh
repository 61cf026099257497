#!/bin/sh
# Containers of podman with runc: names from the engine's files, containers that end and begin
# during the recording, files of images (overlayfs), and lineburn in a container.
# Takes 25 s.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-containers.sh"

image=
engines_clean_up() {
	containers_clean_up
	[ -z "$image" ] || podman rmi -f "$image" >/dev/null 2>&1
}
trap engines_clean_up EXIT

# Disables podman 5's warning that cgroup v1 is deprecated.
export PODMAN_IGNORE_CGROUPSV1_WARNING=1

# start NAME OPTION... IMAGE-OR-ROOT COMMAND...: starts a container that runs until the end. The
# limits are low, because the machine may not allow podman's defaults.
start() {
	start_name=$1
	shift
	containers_podman="$containers_podman $start_name"
	nice -n -10 podman --runtime runc --cgroup-manager cgroupfs run -d --name "$start_name" \
		--ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --network none "$@" >"$start_name.id" 2>"$start_name.err"
}
# in_container OPTION... ROOT COMMAND...: runs a container and waits for it
in_container() {
	podman --runtime runc --cgroup-manager cgroupfs run --rm --name "lb-self-$$" \
		--ulimit nofile=8192:8192 --ulimit nproc=1024:1024 --network none "$@"
}
containers_podman="lb-self-$$"
# stat_of NAME: prints the path of the container's cpu.stat
stat_of() {
	stat_pid=$(podman inspect -f '{{.State.Pid}}' "$1") &&
		echo "$v2$(sed -n 's/^0:://p' "/proc/$stat_pid/cgroup")/cpu.stat"
}
# used FILE SECONDS: whether this cpu.stat has reached that CPU time
used() {
	[ "$(sed -n 's/^usage_usec //p' "$1")" -ge $(($2 * 1000000)) ]
}

chmod 755 .
if ! command -v podman >/dev/null || ! command -v runc >/dev/null; then
	skip engines "no podman with runc"
	exit 0
fi
if ! { root alpha 5 15 25 && root beta 25 12 5; }; then
	fail engines "cannot build the programs"
	exit 0
fi
web=lb-web-$$
db=lb-db-$$
late=lb-late-$$
if [ -z "$v2" ] || ! start $web --rootfs "$PWD/alpha" /app/hot || ! stat_of $web >/dev/null; then
	skip engines "podman starts nothing here: $(tail -n 1 $web.err 2>/dev/null | cut -c1-200)"
	exit 0
fi

# ---- three containers: one ends and one begins during the recording ----

start $db --rootfs "$PWD/beta" /app/hot || fail engines-start "$(tail -n 1 $db.err)"
db_id=$(cat $db.id)
db_stat=$(stat_of $db)
web_stat=$(stat_of $web)
come_and_go() {
	nice -n -16 "$LB" record -a -F 999 -o all.pb.gz 2>all.err &
	recorder=$!
	containers_pids="$containers_pids $recorder"
	wait_until 60 records $recorder
	wait_until 60 used "$db_stat" $(($(sed -n 's/^usage_usec //p' "$db_stat") / 1000000 + $(longer 1 2)))
	podman rm -f -t 0 $db >/dev/null
	start $late --rootfs "$PWD/beta" /app/hot || tail -n 1 $late.err
	wait_until 60 used "$(stat_of $late)" 1
	kill -INT $recorder
	wait $recorder
}
if ! watched all.points "$(cat $web.id)=$web_stat" "$db_id=$db_stat" -- come_and_go; then
	fail engines-record "$(tail -n 1 all.err)"
fi
"$LB" report --by container all.pb.gz >by.txt
"$LB" report --json --by container all.pb.gz >by.json
"$LB" annotate --json --container $web all.pb.gz >web.json
"$LB" annotate --json --container "$(echo "$db_id" | cut -c 1-12)" all.pb.gz >db.json
"$LB" annotate --json --container $late all.pb.gz >late.json
names_are_told() {
	for told in $web $db $late; do
		grep -q " $told (.*, podman)" by.txt || { echo "no $told: $(grep podman by.txt | tr '\n' ';')"; return 1; }
	done
}
check engines-names names_are_told
check engines-lines lines_there web.json alpha 5 15 25 only
check engines-lines-of-ended lines_there db.json beta 25 12 5 only
check engines-lines-of-late lines_there late.json beta 25 12 5 only
narrow engines-shares-of-lines lines_are web.json alpha 5 15 25
narrow engines-shares-of-ended lines_are db.json beta 25 12 5
narrow engines-shares-of-late lines_are late.json beta 25 12 5
narrow engines-only only_of web.json alpha
narrow engines-shares usage_agrees all.points by.json key

# --container: by name, by the beginning of the id, and with a name that does not exist.
chosen() {
	enough 1 one '0.4 4 30' --container "$1" || return 1
	profile_has one.json "sums_close()" "s['lost'] == 0" \
		"note('whose', {p.get('container_name') for p in d['processes']}) == {'$2'}"
}
check engines-by-name chosen $web $web
check engines-by-id chosen "$(cut -c 1-10 $late.id)" $late
no_such() {
	! timeout 60 "$LB" record --container "lb-wep-$$" -d 1 -o none.pb.gz 2>none.err || return 1
	grep -q "similar: $web" none.err && one_sentence none.err && return 0
	tail -n 1 none.err
	return 1
}
check engines-no-such-name no_such
podman rm -f -t 0 $late >/dev/null

# ---- an image: files are opened through overlayfs ----

image=lineburn-test:$$
if tar -C beta -c . | podman import -q - $image >import.out 2>&1 &&
	start lb-image-$$ $image /app/hot; then
	of_image() {
		# shellcheck disable=SC2046 # no blanks
		grep -q ' / / .*- overlay ' /proc/$(podman inspect -f '{{.State.Pid}}' lb-image-$$)/mountinfo ||
			{ echo "it is no overlay"; return 1; }
		enough 200 image "$(longer 1 3) 10" --container lb-image-$$ || return 1
		lines_there image.json beta 25 12 5 only
	}
	check engines-overlay of_image
	narrow engines-overlay-shares lines_are image.json beta 25 12 5
	narrow engines-overlay-only only_of image.json beta
	podman rm -f -t 0 lb-image-$$ >/dev/null
else
	skip engines-overlay "podman imports no image: $(tail -n 1 import.out lb-image-$$.err 2>/dev/null | tail -n 1)"
fi

# ---- lineburn in a container ----

mkdir -p self/bin self/tmp self/proc self/dev self/sys self/etc self/run self/out out
cp "$LB" self/bin/lineburn && cp alpha/app/hot self/bin/hot
for library in $(ldd "$LB" | grep -o '/[^ ]*'); do
	mkdir -p "self$(dirname "$library")" && cp -L "$library" "self$library"
done
lacks() {
	lacks_status=0
	in_container "$@" 2>lacks.err || lacks_status=$?
	[ $lacks_status -eq 3 ] && one_sentence lacks.err && return 0
	echo "status $lacks_status: $(tail -n 1 lacks.err)"
	return 1
}
unprivileged() {
	lacks --rootfs "$PWD/self" /bin/lineburn run -o /out/x.pb.gz -- /bin/hot 1 &&
		grep -q "without CAP_BPF, CAP_PERFMON, the host's pid namespace.*--privileged --pid=host" lacks.err &&
		lacks --rootfs "$PWD/self" /bin/lineburn record -a -d 1 -o /out/x.pb.gz && grep -q "CAP_BPF" lacks.err
}
check engines-unprivileged unprivileged
own_pids() {
	lacks --privileged --rootfs "$PWD/self" /bin/lineburn run -o /out/x.pb.gz -- /bin/hot 1 &&
		grep -q "container without the host's pid namespace" lacks.err && ! grep -q CAP_BPF lacks.err
}
check engines-own-pid-namespace own_pids
# lineburn in a container names processes of the host, and containers if it can read the engine's files.
from_container() {
	in_cgroups "" nice -n -10 "$PWD/beta/app/hot"
	for seconds in "$(longer 1.2 3)" 10; do
		in_container --privileged --pid=host -v "$PWD/out:/out" -v /sys/fs/cgroup:/sys/fs/cgroup:ro \
			-v /var/lib/containers:/var/lib/containers:ro -v /run/containers:/run/containers:ro \
			--rootfs "$PWD/self" /bin/lineburn record -a -F 999 -d "$seconds" -o /out/host.pb.gz 2>host.err ||
			{ tail -n 1 host.err; return 1; }
		"$LB" annotate --json --container $web out/host.pb.gz >host-web.json
		"$LB" annotate --json --pid "$pid" out/host.pb.gz >host-pid.json
		# Others may have had the CPU.
		! { profile_has host-web.json "s['count'] >= 200" && profile_has host-pid.json "s['count'] >= 100"; } >/dev/null || break
	done
	kill "$pid"
	"$LB" annotate --json out/host.pb.gz >host.json
	profile_has host.json "sums_close()" "s['lost'] == 0" && lines_there host-web.json alpha 5 15 25 only && functions_there host-pid.json beta
}
check engines-from-container from_container
narrow engines-shares-from-container lines_are host-web.json alpha 5 15 25
narrow engines-only-from-container only_of host-pid.json beta
chosen_from_container() {
	in_container --privileged --pid=host -v "$PWD/out:/out" -v /sys/fs/cgroup:/sys/fs/cgroup:ro \
		-v /var/lib/containers:/var/lib/containers:ro --rootfs "$PWD/self" \
		/bin/lineburn record --container $web -F 999 -d 4 -o /out/web.pb.gz 2>web.err || { tail -n 1 web.err; return 1; }
	"$LB" annotate --json out/web.pb.gz >one.json
	profile_has one.json "note('whose', {p.get('container_name') for p in d['processes']}) == {'$web'}"
}
check engines-chosen-from-container chosen_from_container
run_in_container() {
	in_container --privileged --pid=host -v "$PWD/out:/out" --rootfs "$PWD/self" \
		/bin/lineburn run -F 999 -o /out/run.pb.gz -- /bin/hot "$(longer 30 60)" >run.out 2>run.err || { tail -n 1 run.err; return 1; }
	"$LB" annotate --json out/run.pb.gz >run.json
	functions_there run.json alpha
}
check engines-run-in-container run_in_container
narrow engines-run-in-container-only only_of run.json alpha
