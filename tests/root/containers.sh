#!/bin/sh
# Containers made without an engine. The same path is a different program in each, and the kernel
# counts the CPU time of each.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-containers.sh"

if [ -z "$v2" ]; then
	skip containers "no cgroup2 is mounted"
	exit 0
fi
chmod 755 .

# ---- two containers, one path ----

ALPHA_ID=a11a9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7a8
BETA_ID=be7ab9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f73
if ! { root alpha 5 15 25 && root beta 25 12 5; }; then
	fail containers "cannot build the programs"
	exit 0
fi
alpha=$(cgroup "$v2" "docker-$ALPHA_ID.scope")
beta=$(cgroup "$v2" "docker-$BETA_ID.scope")
# At the same time: a storm of forks in a third container, and two services. Units are recognized in
# the hierarchy that systemd uses.
units=${v1:-$v2}
GAMMA_ID=ca3ab9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f73
storm=$(cgroup "$v2" "docker-$GAMMA_ID.scope")
one=$(cgroup "$units" system.slice/one.service)
two=$(cgroup "$units" system.slice/two.service)
one_count=$one two_count=$two
# Systemd's v1 hierarchy counts no CPU time, so the services are in a counting cgroup of v2, too.
[ "$units" = "$v2" ] || one_count=$(cgroup "$v2" count-one) two_count=$(cgroup "$v2" count-two)
contain "$alpha" alpha /app/hot
contain "$beta" beta /app/hot
# shellcheck disable=SC2016 # for the inner shell
in_cgroups "$storm" nice -n -10 sh -c 'for i in $(seq 100000); do /bin/true; done'
hot=$(build hot.c)
in_cgroups "$one $one_count" nice -n -10 "$hot" 100000
in_cgroups "$two $two_count" nice -n -10 "$hot" 100000
watched machine.points "$ALPHA_ID=$alpha/cpu.stat" "$BETA_ID=$beta/cpu.stat" "$GAMMA_ID=$storm/cpu.stat" \
	"one.service=$one_count/cpu.stat" "two.service=$two_count/cpu.stat" -- \
	timeout 60 nice -n -16 "$LB" record -a -F 999 -d "$(longer 2.5 10)" -o machine.pb.gz 2>machine.err ||
	fail containers-machine "$(tail -n 1 machine.err)"
# shellcheck disable=SC2086 # a list of numbers
kill_own $containers_pids
"$LB" report --json --by container machine.pb.gz >by-container.json
"$LB" report --json --by unit machine.pb.gz >by-unit.json
"$LB" report --json --by cgroup machine.pb.gz >by-cgroup.json
"$LB" annotate --json machine.pb.gz >machine.json
"$LB" annotate --json --container a11a9d2c5a6e machine.pb.gz >alpha.json
"$LB" annotate --json -G "$containers_top/docker-$BETA_ID.scope" machine.pb.gz >beta.json
"$LB" annotate --json --unit two machine.pb.gz >two.json
check containers-sums profile_has machine.json "sums_close()" "s['lost'] == 0"
check containers-alpha lines_there alpha.json alpha 5 15 25 only
narrow containers-alpha-shares lines_are alpha.json alpha 5 15 25
narrow containers-alpha-only only_of alpha.json alpha
check containers-beta lines_there beta.json beta 25 12 5 only
narrow containers-beta-shares lines_are beta.json beta 25 12 5
narrow containers-beta-only only_of beta.json beta
check containers-both-alpha lines_there machine.json alpha 5 15 25
narrow containers-both-alpha-shares lines_are machine.json alpha 5 15 25
check containers-both-beta lines_there machine.json beta 25 12 5
narrow containers-both-beta-shares lines_are machine.json beta 25 12 5
check containers-service profile_has two.json "file_self('hot.c') > 85" "all(p['unit'] == 'two.service' for p in d['processes'])"
narrow containers-service-shares profile_has two.json "hottest() == is_at('hot.c five')" \
	"function('five') + function('three') + function('two') > 97"
# grouped BY END...: each END ends the key of a group with samples; all groups add up to all samples
grouped() {
	python3 - "$@" <<'END'
import json
import sys
by, *ends = sys.argv[1:]
with open(f"by-{by}.json", encoding="utf-8") as f:
    d = json.load(f)
for end in ends:
    if not any((g["key"] or "").endswith(end) and g["samples"] >= 5 for g in d["groups"]):
        sys.exit(f"no {end}: {[(g['key'], g['samples']) for g in d['groups']]}")
if sum(g["samples"] for g in d["groups"]) != d["samples"]["count"]:
    sys.exit("the groups do not add up")
END
}
check containers-by-container grouped container $ALPHA_ID $BETA_ID $GAMMA_ID
check containers-by-unit grouped unit one.service two.service
check containers-by-cgroup grouped cgroup docker-$ALPHA_ID.scope docker-$BETA_ID.scope docker-$GAMMA_ID.scope
# used BY: each container and service has the CPU time that the kernel counted. The key of a container is
# its id (or ends with it: its cgroup's path), that of a service its name.
used() {
	python3 - "$1" >used.json <<'END'
import json
import sys
d, units = (json.load(open(f"by-{by}.json", encoding="utf-8")) for by in (sys.argv[1], "unit"))
for g in d["groups"]:
    g["key"] = (g["key"] or "").rpartition("docker-")[2]
d["groups"] = [g for g in d["groups"] if g["key"] and "/" not in g["key"]]
d["groups"] += [g for g in units["groups"] if (g["key"] or "").endswith(".service")]
print(json.dumps(d))
END
	usage_agrees machine.points used.json key
}
narrow containers-by-container-shares used container
narrow containers-by-cgroup-shares used cgroup
