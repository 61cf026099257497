# shellcheck shell=sh
# shellcheck disable=SC2034 # what the scripts use
# Attacks of other users, and what a recording must be beside them. Programs that attack are in
# tests/workloads/attacks; each releases what it holds after a time, also if this script ends before.
# They run in this machine's kernel: file systems that do not answer are mounted in namespaces of
# their own, and end with their server.
: "${TOP:?started by run.sh}"

hot=$(build hot.c) && held=$(build held.c) || exit 1
chmod 755 .
attackers=
during="sleep" # what "beside" does while it records; gets the seconds
ATTACK_S=120 # an attack ends by itself after that

# as USER COMMAND... &: runs it with the ids of a user who need not exist; in place of the shell, so that
# $! is the command's
as() {
	as_user=$1
	shift
	exec setpriv --reuid "$as_user" --regid "$as_user" --clear-groups "$@"
}

# attack NAME WORD COMMAND...: starts a program that attacks, until "calm"; waits until it has printed WORD
attack() {
	attack_name=$1
	attack_word=$2
	shift 2
	"$@" >"$attack_name.said" 2>&1 &
	attackers="$attackers $!"
	wait_until 60 grep -q "$attack_word" "$attack_name.said" && return 0
	echo "the attack does not begin: $(tail -n 1 "$attack_name.said")"
	calm
	return 1
}

# calm: ends all attacks
calm() {
	# shellcheck disable=SC2086 # a list of numbers
	[ -z "$attackers" ] || { kill $attackers; wait $attackers; } 2>/dev/null
	attackers=
}

# attacked: whether all attackers still run
attacked() {
	for attacked_pid in $attackers; do
		kill -0 "$attacked_pid" 2>/dev/null || return 1
	done
}

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# tree_ns PID: the CPU time of this lineburn and its helpers so far, also of those that have ended and were
# waited for
tree_ns() {
	for tree_pid in $(family "$1"); do
		awk '{ sub(/.*\) /, ""); printf "%.0f\n", ($12 + $13 + $14 + $15) * 1e7 }' "/proc/$tree_pid/stat" 2>/dev/null
	done | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# beside NAME SECONDS OPTION...: records for SECONDS beside the attacks and an innocent program, whose part of
# NAME.json is NAME.hot.json; its pid replaces the option INNOCENT. Checks what holds beside any attack: the
# recording begins and ends while they go on, with status 0; the innocent program's lines; sums. The attacks
# end then.
# NAME.cost has the CPU time of lineburn, in percent of one CPU.
beside() {
	beside=$1
	beside_s=$2
	shift 2
	"$hot" 100000 >/dev/null &
	beside_innocent=$!
	for beside_option; do
		shift
		[ "$beside_option" != INNOCENT ] || beside_option=$beside_innocent
		set -- "$@" "$beside_option"
	done
	# Before others: its times shall be those of the attack, not of a busy machine.
	nice -n -15 "$LB" record -v -F 499 -o "$beside.pb.gz" "$@" >"$beside.out" 2>"$beside.err" &
	beside_recorder=$!
	beside_why=
	beside_begin=$(now_ms)
	# Later than it begins: beside attacks it seldom waits.
	wait_until 60 records $beside_recorder || beside_why="it does not begin"
	beside_seen=$(now_ms)
	beside_ns=$(tree_ns $beside_recorder)
	$during "$beside_s"
	works $beside_innocent 100
	beside_ns=$(($(tree_ns $beside_recorder) - beside_ns))
	beside_end=$(now_ms)
	echo $((beside_ns / ((beside_end - beside_seen) * 10000))) >"$beside.cost"
	beside_end=$(now_ms)
	kill -INT $beside_recorder
	beside_status=0
	wait $beside_recorder || beside_status=$?
	beside_ended=$(now_ms)
	note_crash "$beside" $beside_status
	attacked || beside_why=${beside_why:-"it ended after the attack"}
	kill $beside_innocent
	wait $beside_innocent 2>/dev/null
	calm
	[ $beside_status -eq 0 ] || beside_why=${beside_why:-"status $beside_status: $(tail -n 1 "$beside.err")"}
	[ -z "$beside_why" ] || { echo "$beside_why"; return 1; }
	"$LB" annotate --json "$beside.pb.gz" >"$beside.json" &&
		"$LB" annotate --json --pid $beside_innocent "$beside.pb.gz" >"$beside.hot.json" || return 1
	profile_has "$beside.json" "sums_close()" || return 1
	profile_has "$beside.hot.json" "s['count'] >= 20" \
		"self_('hot.c five') + self_('hot.c three') + self_('hot.c two') >= 95" || return 1
	# In a long one memory may run short: then a file is written, and the last one has the rest.
	beside_first=$(find . -maxdepth 1 -name "$beside.2*.pb.gz" | sort | head -n 1)
	beside_said=$beside.json
	if [ -n "$beside_first" ]; then
		beside_said=$beside.first.json
		"$LB" annotate --json "$beside_first" >"$beside_said" || return 1
	fi
	beside_began=$(python3 -S -c "import json, sys; print(json.load(sys.stdin)['time_ns'] // 10**6)" <"$beside_said")
	echo "$((beside_began - beside_begin)) $((beside_ended - beside_end)) $beside" >>times.txt
	echo "start $((beside_began - beside_begin)) ms, end $((beside_ended - beside_end)) ms, $(cat "$beside.cost") % of a CPU"
}

# soon [NAME]: whether each recording began within 2 s, and ended within 1 s after SIGINT; that of NAME, whose
# programs are many to name, within 3 s. For a quiet machine. Prints the longest of both.
soon() {
	awk -v many="${1-}" '
		NR == 1 || $1 > start { start = $1; began = $3 }
		NR == 1 || $2 > end { end = $2; ended = $3 }
		$1 >= 2000 || $2 >= ($3 == many ? 3000 : 1000) { late = 1 }
		END {
			print "longest start " start " ms (" began "), longest end " end " ms (" ended ")"
			exit NR == 0 || late
		}' times.txt
}
