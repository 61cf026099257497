# shellcheck shell=sh
# Sourced by what runs suites: suite, and in the end suites_end. $logs is a folder of theirs.
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
: >"$logs/times"
: >"$logs/counts"
started=$(date +%s)

# suite NAME COMMAND...: its last line is "NAME: N passed, N failed[, N skipped][, N inconclusive]". Counts go to a
# file: suites may run in a subshell. A line "   SCRIPT: N s" says how long a script took.
suite() {
	name=$1
	shift
	start=$(date +%s)
	echo "== $name"
	status=0
	"$@" >"$logs/$name" 2>&1 </dev/null || status=$?
	seconds=$(($(date +%s) - start))
	last=$(grep -E '^[a-z-]+: [0-9]+ passed, [0-9]+ failed' "$logs/$name" | tail -n 1)
	p=$(echo "$last" | sed -n 's/.*: \([0-9]*\) passed.*/\1/p')
	f=$(echo "$last" | sed -n 's/.* \([0-9]*\) failed.*/\1/p')
	s=$(echo "$last" | sed -n 's/.* \([0-9]*\) skipped.*/\1/p')
	i=$(echo "$last" | sed -n 's/.* \([0-9]*\) inconclusive.*/\1/p')
	# A suite that says nothing, tests nothing, or fails without saying what, has failed.
	if [ "${f:-0}" -eq 0 ] && { [ "$status" -ne 0 ] || [ "${p:-0}" -eq 0 ]; }; then
		f=1
	fi
	if [ "${f:-0}" -ne 0 ]; then
		tail -n 300 "$logs/$name"
	else
		grep -E '^(skip|inconclusive) ' "$logs/$name" || true
	fi
	sed -n "s/^skip /$name /p" "$logs/$name" >"$logs/$name.skips"
	echo "$seconds $name" >>"$logs/times"
	sed -n "s/^   \([^ ]*\): \([0-9]*\) s\$/\2 $name\/\1/p" "$logs/$name" >>"$logs/times"
	echo "${p:-0} ${f:-0} ${s:-0} $name ${i:-0}" >>"$logs/counts"
	echo "   ${last:-no result} (exit status $status, $seconds s)"
}

# What took how long, what failed, and the sums. Return: did nothing fail?
suites_end() {
	echo "== seconds of suites, and of scripts in them"
	echo "$(($(date +%s) - started)) all" >>"$logs/times"
	sort -rn "$logs/times" | awk '{ printf "%6d  %s\n", $1, $2 }'
	# Again, next to the sum: what was said above is far away by now.
	grep -hE -d skip '^(not ok |FAILED|\[  FAILED  \])' "$logs"/* | sort -u || true
	awk '{ p += $1; f += $2; s += $3; i += $5 }
		END {
			print p " passed, " f " failed, " s " skipped" (i ? ", " i " inconclusive" : "")
			exit (f > 0)
		}' "$logs/counts"
}
