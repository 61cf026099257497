#!/bin/sh
# Most attacks of docs/security.md at once, beside a recording of the whole machine: the lines of an innocent
# program, whose work is 1:2:4, are right to 2 points. ATTACK_SECONDS: how long (60).
# Takes 120 s.
# Runs alone.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-attacks.sh"

seconds=${ATTACK_SECONDS:-60}
ATTACK_S=$((seconds + 120))
innocent=$(build attacks/innocent.c) && jit=$(build gdbjit.c -rdynamic) && storm=$(build storm.c) &&
	brief=$(build brief.c -static) || exit 1

# again USER COMMAND... &: as "as", again and again, until killed
again() {
	again_user=$1
	shift
	trap 'kill $again; exit' TERM
	while :; do
		setpriv --reuid "$again_user" --regid "$again_user" --clear-groups "$@" >/dev/null 2>&1 &
		again=$!
		wait $again
	done
}

files() {
	mkdir locks execs looks fuse overlay
	for where in locks execs looks fuse overlay; do
		cp "$hot" "$where/hot-$where" && cd "$where" || return 1
		case $where in
		locks) attack locks held "$held" "$jit" $ATTACK_S lock 4 30101 ;;
		execs) attack execs held "$held" "$hot" $ATTACK_S exec 4 30106 ;;
		looks)
			{ echo "#line 1 \"$PWD/held.ovl/gone.c\""; cat "$WORKLOADS/hot.c"; } >gone.c
			# shellcheck disable=SC2086 # a list of flags
			gcc $C_FLAGS -o gone gone.c && attack looks held "$held" "$PWD/gone" $ATTACK_S look 1 30103
			;;
		fuse) attack fuse held "$(build attacks/served.c)" "hot-$where" $ATTACK_S fuse read 30105 ;;
		overlay) attack overlay held "$(build attacks/served.c)" "hot-$where" $ATTACK_S overlay getattr 30104 ;;
		esac || return 1
		cd ..
	done
}
tables() {
	python3 "$WORKLOADS/attacks/rules.py" 0 16384 >rules.S && gcc -o rules-program rules.S || return 1
	as 30116 timeout $ATTACK_S ./rules-program &
	attackers="$attackers $!"
	attack memfds held as 30117 "$(build attacks/code.c)" $ATTACK_S 4096 &&
		attack mappings held as 30118 "$(build attacks/mappings.c)" $ATTACK_S
}
programs() {
	for how in cycle huge moving churn; do
		again 30113 "$jit" 10000 5 $how &
		attackers="$attackers $!"
	done
	as 30119 "$storm" 500 $ATTACK_S "$brief" 50 >/dev/null &
	attackers="$attackers $!"
}

together_right() {
	files && tables && programs || return 1
	nice -n -5 "$innocent" &
	program=$!
	beside together "$seconds" -a || { kill $program; return 1; }
	kill $program
	"$LB" annotate --json --pid $program together.pb.gz >together.innocent.json || return 1
	profile_has together.innocent.json "s['count'] >= 500" "near(self_('innocent.c one'), 100 / 7, 2)" \
		"near(self_('innocent.c two'), 200 / 7, 2)" "near(self_('innocent.c four'), 400 / 7, 2)" || return 1
	echo "$(profile_has together.innocent.json "near(self_('innocent.c one'), 100 / 7, 2)" "near(self_('innocent.c two'), 200 / 7, 2)" "near(self_('innocent.c four'), 400 / 7, 2)" "note('samples', s['count'])"); $(cat together.cost) % of a CPU, $(cat times.txt)"
}
figure attacks-together together_right
