# shellcheck shell=sh
# For scripts that run suites: they call suite, and at the end suites_judge_skips and suites_end. $logs
# is their temporary folder.
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM
: >"$logs/times"
: >"$logs/counts"
started=$(date +%s)

# suite NAME COMMAND...: runs a suite, whose last line is "NAME: N passed, N failed[, N skipped][, N
# inconclusive]". Counts go to a file, as suites may run in a subshell. A line "   SCRIPT: N s" says how
# long a script took.
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
	# A suite fails if it has no result, no passed test, or an error status without a failed test.
	if [ "${f:-0}" -eq 0 ] && { [ "$status" -ne 0 ] || [ "${p:-0}" -eq 0 ]; }; then
		f=1
		# Otherwise nothing beside the sums would tell which suite it is.
		echo "not ok $name: it ended with status $status and told of no failed test" >>"$logs/$name"
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

# Returns whether pip reaches a package index; if it does, missing packages are a failure. Uses the pip
# of an environment, even an incomplete one, or makes an environment.
has_index() {
	[ -n "$(ls build/venv/*/bin/pip 2>/dev/null)" ] || python3 -m venv "$logs/venv" >/dev/null 2>&1 || return 0
	for pip in build/venv/*/bin/pip "$logs/venv/bin/pip"; do
		[ ! -x "$pip" ] || "$pip" download -q --disable-pip-version-check --no-deps -d "$logs/index" pip \
			>/dev/null 2>&1 </dev/null || continue
		[ ! -d "$logs/index" ] || return 0
	done
	return 1
}

# unexpected_skips KIND: prints the skips ("SUITE NAME: reason") that tests/skips.expected does not list for
# this KIND of run ("check" or "nightly")
unexpected_skips() {
	# At night the same scripts and programs run in suites with other names.
	cat "$logs"/*.skips | sed -E 's/^(stats|runtimes|sanitized|nightly) /root /; s/^thorough /unit-sanitized /' >"$logs/skips"
	sed -n "/^#/d; s/^$1: //; /^[a-z-]*: /d; /./p" tests/skips.expected >"$logs/expected"
	if grep -qE 'build/(venv/|readers)' "$logs/skips" && ! has_index; then
		sed -n 's/^no-index: //p' tests/skips.expected >>"$logs/expected"
	fi
	status=0
	grep -vxE -f "$logs/expected" "$logs/skips" >"$logs/unexpected" || status=$?
	[ $status -le 1 ] || echo "tests/skips.expected: a line of it is no regular expression" >"$logs/unexpected"
	cat "$logs/unexpected"
}

# suites_judge_skips KIND: counts each unexpected skip as a failure
suites_judge_skips() {
	unexpected_skips "$1" | while read -r skip; do
		echo "not ok $skip: this skip is not in tests/skips.expected"
		echo "0 1 0" >>"$logs/counts"
	done >"$logs/skips-unexpected"
}

# Prints the times, the failures and the sums. Returns whether nothing failed.
suites_end() {
	echo "== seconds of suites, and of scripts in them"
	echo "$(($(date +%s) - started)) all" >>"$logs/times"
	sort -rn "$logs/times" | awk '{ printf "%6d  %s\n", $1, $2 }'
	# Repeat the failures next to the sums: they were printed far above.
	grep -hE -d skip '^(not ok |FAILED|\[  FAILED  \])' "$logs"/* | sort -u || true
	awk '{ p += $1; f += $2; s += $3; i += $5 }
		END {
			print p " passed, " f " failed, " s " skipped" (i ? ", " i " inconclusive" : "")
			exit (f > 0)
		}' "$logs/counts"
}
