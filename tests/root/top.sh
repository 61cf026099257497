#!/bin/sh
# "top": hot lines of what runs, as tables and on the screen of a terminal.
# Takes 20 s.
. "${TOP:?}/tests/root/lib.sh"

hot=$(build hot.c)
# With a name that no process of another test has.
cp "$hot" watched
"$PWD/watched" 100000 &
pid=$!

# Two tables, then the end.
tables() {
	timeout 60 "$LB" top -b -n 2 -i 1 -F 999 -p $pid >tables 2>tables.err || { tail -n 1 tables.err; return 1; }
	[ ! -s tables.err ] || { echo "stderr: $(cat tables.err)"; return 1; }
	[ "$(grep -c ' self %  total %   CPU %   line ' tables)" = 2 ] || { echo "$(wc -l <tables) lines"; return 1; }
}
check top-tables tables

# has_table FUNCTION OPTION...: "top" with these options prints a table for which the function passes
has_table() {
	has_what=$1
	shift
	"$LB" top -b -i 1 -F 999 "$@" >table 2>table.err &
	has_top=$!
	has_status=0
	wait_until 60 "$has_what" || has_status=1
	kill $has_top
	wait $has_top
	[ $has_status -eq 0 ] || { echo "no such table: $(tail -n 8 table | tr '\n' '|') $(tail -n 1 table.err)"; return 1; }
}
# The loop of five of ten parts is the hottest line of a table, which has all three loops.
loops() {
	awk -v five="/hot.c:$(grep -n 'HOT five' "$WORKLOADS/hot.c" | cut -d : -f 1)" '
		/^ self %  total %   CPU %   line / { heading = NR; split("", seen) }
		heading && NR == heading + 1 { first = $NF == "five" && substr($4, length($4) - length(five) + 1) == five }
		heading && $4 ~ /\/hot\.c:[0-9]+$/ { seen[$5] }
		heading && first && "five" in seen && "three" in seen && "two" in seen { found = 1 }
		END { exit !found }' table
}
check top-loops has_table loops -p $pid
watched() {
	grep -q "^ *[0-9.]* *[0-9.]*  *$pid  watched  *$PWD/watched\$" table
}
check top-processes has_table watched --by processes

# A reader that goes ends it, with no word.
closed_pipe() {
	timeout 60 "$LB" top -b -i 0.5 -p $pid 2>closed.err | head -n 1 >closed
	[ -s closed ] || { echo "nothing was printed"; return 1; }
	[ ! -s closed.err ] || { echo "stderr: $(cat closed.err)"; return 1; }
}
check top-closed-pipe closed_pipe

full_disk() {
	status=0
	timeout 60 "$LB" top -b -i 0.5 -p $pid >/dev/full 2>full.err || status=$?
	[ $status = 1 ] || { echo "status $status"; return 1; }
	grep -q '^lineburn: cannot write to stdout: No space left on device$' full.err || { tail -n 1 full.err; return 1; }
}
check top-full-disk full_disk

no_terminal() {
	status=0
	"$LB" top -p $pid </dev/null >out 2>err || status=$?
	[ $status = 1 ] || { echo "status $status"; return 1; }
	grep -q '^lineburn: top needs a terminal; -b prints tables without one$' err || { cat err; return 1; }
	status=0
	TERM=bogus script -qec "$LB top -p $pid" /dev/null >out 2>&1 </dev/null || status=$?
	[ $status = 1 ] || { echo "status $status"; return 1; }
	grep -q 'the terminal "bogus" is not known here' out || { tail -n 1 out; return 1; }
}
check top-no-terminal no_terminal

# ---- the screen, in a terminal of tmux ----

# Each screen has a server of its own: one that is told to end may still take the next command.
in_tmux() {
	timeout 30 tmux -S "$server" -f /dev/null "$@"
}
# shows PATTERN: the screen has a row like this within a minute
shows() {
	for _ in $(seq 300); do
		in_tmux capture-pane -p >screen
		! grep -q -- "$1" screen || return 0
		sleep 0.2
	done
	echo "no \"$1\" in: $(head -n 6 screen | tr '\n' '|')"
	return 1
}
press() {
	in_tmux send-keys "$@"
}
begin_screen() { # OPTION...: top with these options; prints its exit status when it has ended
	server=$(mktemp -u "$PWD/tmux.XXXXXX")
	LC_ALL=C.UTF-8 in_tmux new-session -d -x 100 -y 24 "$LB top $*; echo ENDED \$?; read -r _"
}
# end_screen: ends the terminal of begin_screen, and what runs there
end_screen() {
	in_tmux kill-server 2>/dev/null
}

# on_screen FUNCTION: calls it, and ends its screen
on_screen() {
	"$1"
	on_screen_status=$?
	end_screen
	return $on_screen_status
}

# container > process > function > source, and back
way_down() {
	begin_screen -i 0.5 -F 999 --by containers
	shows 'outside of containers' || return 1
	press Enter
	shows "^processes: outside of containers" && shows " $pid  watched " || return 1
	press / w a t c h e d Enter
	shows 'find: watched$' || return 1
	press Enter
	shows "^functions: outside of containers > process $pid watched, by self" && shows '  five  .*hot\.c' || return 1
	press Enter
	shows "^source: .*hot\.c" && shows 'x = STEP(x, i); /\* HOT five \*/' && shows '__attribute__((noinline)) static unsigned long three' ||
		return 1
	press BSpace
	shows "^functions: outside" || return 1
	press Escape
	shows "^processes: outside" || return 1
	press q
	shows '^ENDED 0$'
}
check top-way-down on_screen way_down

keys() {
	begin_screen -i 0.5 -F 999 -p $pid
	shows '^lines, by self' && shows 'hot\.c:[0-9]* *five' || return 1
	press t
	shows '^lines, by total' && shows ' main$' || return 1
	press Space
	shows '^PAUSED  lines' || return 1
	press Space 2
	shows '^functions, by total' || return 1
	in_tmux resize-window -x 60 -y 12
	shows 'five' || return 1
	in_tmux resize-window -x 100 -y 24
	press h
	shows 'this help; q: quit' || return 1
	press C-c
	shows '^ENDED 0$'
}
check top-keys on_screen keys

# The last target ends: so does top, and it says why.
target_ends() {
	"$hot" 100000 &
	ends=$!
	begin_screen -i 0.5 -p $ends
	shows 'five' || return 1
	kill $ends
	shows '^lineburn: top has ended, because no target is left$' && shows '^ENDED 0$'
}
check top-target-ends on_screen target_ends
kill $pid
