#!/bin/sh
# Containers made by hand, with nothing that a distribution would have to bring: the same path
# is another program in each, and the kernel counts what each used.
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
contain "$alpha" alpha /app/hot
alpha_pid=$pid
contain "$beta" beta /app/hot
beta_pid=$pid
watched both.points "$ALPHA_ID=$alpha/cpu.stat" "$BETA_ID=$beta/cpu.stat" -- \
	timeout 60 nice -n -16 "$LB" record -a -F 999 -d 4 -o both.pb.gz 2>both.err || fail containers "$(tail -n 1 both.err)"
kill -9 "$alpha_pid" "$beta_pid"
"$LB" report --json --by container both.pb.gz >both-by.json
"$LB" report --json --by cgroup both.pb.gz >both-cgroup.json
"$LB" annotate --json both.pb.gz >both.json
"$LB" annotate --json --container a11a9d2c5a6e both.pb.gz >alpha.json
"$LB" annotate --json -G "$containers_top/docker-$BETA_ID.scope" both.pb.gz >beta.json
narrow containers-lines-alpha lines_are alpha.json alpha 5 15 25
narrow containers-only-alpha only_of alpha.json alpha
narrow containers-lines-beta lines_are beta.json beta 25 12 5
narrow containers-only-beta only_of beta.json beta
narrow containers-both-alpha lines_are both.json alpha 5 15 25
narrow containers-both-beta lines_are both.json beta 25 12 5
narrow containers-shares usage_agrees both.points both-by.json key
# The path is where it is told by cgroup.
keys_behind docker- both-cgroup.json
narrow containers-shares-of-cgroups usage_agrees both.points both-cgroup.json key

# ---- a machine: three containers, two services, and a storm of forks in one of them ----

# How a service is called depends on where systemd would keep it.
units=${v1:-$v2}
GAMMA_ID=ca3ab9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f73
alpha=$(cgroup "$v2" "docker-$ALPHA_ID.scope")
beta=$(cgroup "$v2" "docker-$BETA_ID.scope")
storm=$(cgroup "$v2" "docker-$GAMMA_ID.scope")
one=$(cgroup "$units" system.slice/one.service)
two=$(cgroup "$units" system.slice/two.service)
one_count=$(cgroup "$v2" count-one)
two_count=$(cgroup "$v2" count-two)
# In a hierarchy of v1 units are told by name only; what they use is counted elsewhere.
[ "$units" != "$v2" ] || one_count=$one two_count=$two
contain "$alpha" alpha /app/hot
contain "$beta" beta /app/hot
in_cgroups "$storm" nice -n -10 sh -c 'while :; do /bin/true; done'
hot=$(build hot.c)
in_cgroups "$one $one_count" nice -n -10 "$hot" 100000
in_cgroups "$two $two_count" nice -n -10 "$hot" 100000
watched machine.points "$ALPHA_ID=$alpha/cpu.stat" "$BETA_ID=$beta/cpu.stat" "$GAMMA_ID=$storm/cpu.stat" \
	"one.service=$one_count/cpu.stat" "two.service=$two_count/cpu.stat" -- \
	timeout 60 nice -n -16 "$LB" record -a -F 999 -d 10 -o machine.pb.gz 2>machine.err ||
	fail containers-machine "$(tail -n 1 machine.err)"
# shellcheck disable=SC2086 # a list of numbers
kill -9 $containers_pids 2>/dev/null
"$LB" report --json --by container machine.pb.gz >machine-by.json
"$LB" report --json --by unit machine.pb.gz >machine-unit.json
"$LB" annotate --json machine.pb.gz >machine.json
"$LB" annotate --json --container a11a9d2c5a6e machine.pb.gz >machine-alpha.json
"$LB" annotate --json --unit two machine.pb.gz >machine-two.json
# Both tables in one: containers have ids, services do not.
python3 -c '
import json
d, units = (json.load(open(f"machine-{by}.json")) for by in ("by", "unit"))
d["groups"] = [g for g in d["groups"] if g["key"]] + [g for g in units["groups"] if (g["key"] or "").endswith(".service")]
json.dump(d, open("machine-by.json", "w"))'
narrow machine-shares usage_agrees machine.points machine-by.json key
narrow machine-lines-of-container lines_are machine-alpha.json alpha 5 15 25
narrow machine-only-container only_of machine-alpha.json alpha
narrow machine-service profile_has machine-two.json "hottest() == is_at('hot.c five')" \
	"function('five') + function('three') + function('two') > 97"
