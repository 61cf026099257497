#!/bin/sh
# Attacks of docs/security.md at once, beside a recording of the whole machine: the lines of an innocent program,
# whose work is 1:2:4, are right to 2 points, and no secret is in the profile. Those that concern another command
# have no part: 10 and 23 (sudo), 20 (viewers), 21 (the hook), 22 (a recording that writes where others may), and
# 25 (another build); nor has 15: names that collide cannot be made. Each ends by itself, 120 s after the recording.
# ATTACK_SECONDS: how long (60).
# Takes 150 s.
# Runs alone.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-attacks.sh"

seconds=${ATTACK_SECONDS:-60}
ATTACK_S=$((seconds + 120))
innocent=$(build attacks/innocent.c) && jit=$(build gdbjit.c -rdynamic) && storm=$(build storm.c) &&
	brief=$(build brief.c -static) && perfmap=$(build perfmap.c) &&
	reuse=$(build jit-reuse.c) && jobs=$(build jobs.c) || exit 1

# again NAME USER COMMAND... &: as "as", again and again, until killed or all attacks end. Each turn that fails adds its
# status to NAME.failed, each other one that ends, also by "timeout", to NAME.turns; NAME.said has what the last one said.
again() {
	again_name=$1
	again_user=$2
	shift 2
	trap 'kill $again; exit' TERM
	again_ends=$(($(cut -d . -f 1 /proc/uptime) + ATTACK_S))
	while [ "$(cut -d . -f 1 /proc/uptime)" -lt $again_ends ]; do
		setpriv --reuid "$again_user" --regid "$again_user" --clear-groups "$@" >/dev/null 2>"$again_name.said" &
		again=$!
		again_status=0
		wait $again || again_status=$?
		case $again_status in
		0 | 124) echo $again_status >>"$again_name.turns" ;;
		*) echo $again_status >>"$again_name.failed" ;;
		esac
	done
}

# goes_on COMMAND...: one more attacker
goes_on() {
	"$@" &
	attackers="$attackers $!"
}

# goes_again NAME USER COMMAND...: one more that runs "again"
repeated=
goes_again() {
	repeated="$repeated $1"
	goes_on again "$@"
}

# all_attacked: of those that attack again and again each has done so, or still does for the first time; and samples
# or effects of all kinds are in the profile
all_attacked() {
	for name in $repeated; do
		[ ! -s "$name.failed" ] || [ -s "$name.turns" ] || {
			echo "$name always failed: status $(tail -n 1 "$name.failed"): $(tail -n 1 "$name.said")"
			return 1
		}
	done
	for file in together*.pb.gz; do
		"$LB" annotate --json "$file" >"$file.json" || return 1
	done
	python3 -S - together*.pb.gz.json <<'END'
import json
import sys

parts = []
for path in sys.argv[1:]:
    with open(path, encoding="ascii") as f:
        parts.append(json.load(f))
processes = [p for part in parts for p in part["processes"]]


def samples(comm, *users):
    return sum(p["samples"] for p in processes if p["comm"].startswith(comm) and (p.get("user") in users or not users))


def lost(*names):
    return sum((part["losses"] or {}).get(name, 0) for part in parts for name in names)


def missed(reason):
    return sum(m["samples"] for part in parts for m in part["misses"] if m["reason"] == reason)


seen = {
    "targets that do not answer": lost("targets_late", "targets_refused"),
    "rules refused": lost("unwind_rules_refused"),
    "layouts refused": lost("pythons_unknown"),
    "files dropped": lost("files_dropped"),
    "files of JITs refused": missed("jit-file-refused"),
    "look": samples("gone", "30103"),
    "overlay": samples("", "30104"),
    "fuse": samples("", "30105"),
    "readers": samples("", "30107"),
    "jobs": samples("job"),
    "maps of JITs": samples("perfmap", "30111"),
    "dumps of JITs": samples("jit-reuse", "30112"),
    "lists of JITs": samples("gdbjit", "30113"),
    "slow files": samples("slow-", "30114"),
    "rules": samples("rules-program", "30116"),
    "layouts": samples("layout", "30117"),
    "files in memory": samples("code", "30117"),
    "mappings": samples("mappings", "30118"),
    "storm": samples("brief", "30119"),
    "forged": samples("hot-forged", "30124"),
}
print(", ".join(f"{name}: {nr}" for name, nr in seen.items()))
missing = [name for name, nr in seen.items() if not nr]
if missing:
    raise SystemExit(f"nothing is seen of: {', '.join(missing)}")
END
}

# Builds all before anything takes the CPU time.
build_all() {
	mkdir locks execs looks fuse overlay readers dumps container && mkdir -m 700 secret || return 1
	chmod 755 . && chmod 777 dumps
	{ echo "#line 1 \"$PWD/looks/held.ovl/gone.c\""; cat "$WORKLOADS/hot.c"; } >looks/gone.c
	# shellcheck disable=SC2086 # a list of flags
	gcc $C_FLAGS -o looks/gone looks/gone.c || return 1
	served=$(build attacks/served.c) && code=$(build attacks/code.c) && mappings=$(build attacks/mappings.c) || return 1
	seq -f 'top secret %g' 40 >secret/000.txt
	gcc -O1 -g -static "-DSECRET=\"$PWD/secret/000.txt\"" -o job "$WORKLOADS/job.c" && cp job container || return 1
	python3 "$WORKLOADS/attacks/rules.py" 0 16384 >rules.S && gcc -o rules-program rules.S || return 1
	python3 "$WORKLOADS/attacks/rules.py" 0 100000 >slow.S && gcc -o slow-program slow.S || return 1
	for i in $(seq 20); do
		{ cat slow-program; echo "$i"; } >"slow-$i" && chmod 755 "slow-$i"
	done
	for i in $(seq 64); do
		mkdir "layout-$i" || return 1
		# shellcheck disable=SC2086 # a list of flags
		gcc $C_FLAGS -rdynamic -DSPARE="$i" -o "layout-$i/python3.13" "$WORKLOADS/lying-python.c" \
			"$WORKLOADS/not-python.c" -pthread || return 1
	done
}

# 1 to 7
files() {
	for where in locks execs looks fuse overlay readers; do
		cp "$hot" "$where/hot-$where" && cd "$where" || return 1
		case $where in
		locks) attack locks held "$held" "$jit" $ATTACK_S lock 4 30101 ;;
		execs) attack execs held "$held" "$hot" $ATTACK_S exec 4 30106 ;;
		looks) attack looks held "$held" "$PWD/gone" $ATTACK_S look 1 30103 ;;
		fuse) attack fuse held "$served" "hot-$where" $ATTACK_S fuse read 30105 ;;
		overlay) attack overlay held "$served" "hot-$where" $ATTACK_S overlay getattr 30104 ;;
		readers) attack readers held "$held" "$jit" $ATTACK_S spin 2 30107 ;;
		esac || return 1
		cd ..
	done
}

# 8, 9: short jobs of a daemon that is idle for two seconds first, also in a container
secrets() {
	for root in - "$PWD/container"; do
		[ "$root" = - ] && each=$PWD/job || each=/job
		# shellcheck disable=SC2016,SC2046 # for the inner shell; a list of names
		goes_again "jobs-$(basename "$root")" 0 sh -c 'sleep 2 | "$0" "$@"' "$jobs" "$root" $(yes "$each" | head -n 500)
	done
}

# 16, 18
tables() {
	goes_on as 30116 timeout $ATTACK_S ./rules-program
	for i in $(seq 64); do
		# shellcheck disable=SC2016 # for the inner shell
		goes_on as 30117 timeout $ATTACK_S sh -c 'while echo none 1000 layout; do sleep 5; done | "$0" >/dev/null' \
			"./layout-$i/python3.13"
	done
	attack memfds held as 30117 "$code" $ATTACK_S 4096 &&
		attack mappings held as 30118 "$mappings" $ATTACK_S
}

# 24: a user's program in a cgroup that is named like a container
forged_root=$(mount_of cgroup2)
[ -n "$forged_root" ] || forged_root=$(mount_of cgroup name=systemd)
forged=$forged_root/lineburn-together-$$/docker-c401ce0c0c401ce0c0c401ce0c0c401ce0c0c401ce0c0c401ce0c0c401ce0c24.scope
forge() {
	mkdir -p "${forged%/*}" || { echo "no cgroup can be made"; return 1; }
	chown 30124 "${forged%/*}" && setpriv --reuid 30124 --regid 30124 --clear-groups mkdir "$forged" || return 1
	cp "$hot" hot-forged
	(echo 0 >"$forged/cgroup.procs" && as 30124 timeout $ATTACK_S ./hot-forged 100000) >/dev/null &
	attackers="$attackers $!"
}
# shellcheck disable=SC2317 # called at the end
clean_up() {
	[ ! -e "${forged%/*}" ] || wait_until 20 removed "${forged%/*}"
	find /tmp -maxdepth 1 -uid 30111 -name 'perf-*.map*' -exec rm -rf {} +
}
removed() {
	find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -e "$1" ]
}
trap clean_up EXIT

# 11 to 14, 17, 19: what programs do
programs() {
	for how in cycle huge moving churn; do
		goes_again list-$how 30113 "$jit" 10000 5 $how
	done
	for how in fifo symlink directory sparse writable garbage; do
		goes_again map-$how 30111 "$perfmap" 1 $how "$PWD/secret/000.txt"
	done
	for how in garbage truncated; do
		goes_again dump-$how 30112 "$reuse" "$PWD/dumps" 1 $how
	done
	# shellcheck disable=SC2016 # for the inner shell
	goes_again slow-files 30114 sh -c 'for i in $(seq 20); do timeout 0.2 "./slow-$i"; done'
	goes_on as 30119 "$storm" 500 $ATTACK_S "$brief" 50 >/dev/null
}

together_right() {
	if ! { build_all && secrets && files && tables && forge && programs; }; then
		calm
		return 1
	fi
	nice -n -10 "$innocent" $ATTACK_S >own.txt &
	program=$!
	beside together "$seconds" -a || { kill $program; return 1; }
	kill $program
	wait $program
	read -r one two four <own.txt
	all_attacked >attacked.txt 2>&1 || { tail -n 1 attacked.txt; return 1; }
	# More than one file, if memory ran short.
	gzip -dc together*.pb.gz | grep -a -c 'top secret' >told.txt
	[ "$(cat told.txt)" -eq 0 ] || { echo "secrets are told"; return 1; }
	profile_has together.json "note('container', {p['container'] for p in d['processes'] if p['comm'] == 'hot-forged'}) == {'30124/' + '${forged#*docker-}'.split('.')[0]}" || return 1
	for file in together*.pb.gz; do
		"$LB" annotate --json --pid $program "$file" >together.innocent.json || return 1
		profile_has together.innocent.json "s['count'] >= 500" "near(self_('innocent.c one'), $one, 2)" \
			"near(self_('innocent.c two'), $two, 2)" "near(self_('innocent.c four'), $four, 2)" || return 1
	done
	echo "$(find . -maxdepth 1 -name 'together*.pb.gz' | wc -l) files, of the last:"
	echo "$(profile_has together.innocent.json "near(self_('innocent.c one'), $one, 2)" "near(self_('innocent.c two'), $two, 2)" "near(self_('innocent.c four'), $four, 2)" "note('samples', s['count'])"), by its own clock $one, $two, $four; $(cat together.cost) % of a CPU, $(cat times.txt); $(tail -n 1 attacked.txt)"
}
figure attacks-together together_right
