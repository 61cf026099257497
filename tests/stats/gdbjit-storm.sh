#!/bin/sh
# Code registered through GDB's JIT interface as fast as possible: many objects at once, many one after
# another, shared by forks, of programs that end. Losses are counted, and memory is bounded.
. "${TOP:?}/tests/root/lib.sh"

jit=$(build gdbjit.c -rdynamic)

# shellcheck disable=SC2034 # of lib.sh
FIRST=$BEFORE_OTHERS

# small NAME BYTES: the collector's peak memory is below BYTES
small() {
	figure "gdbjit-$1-memory" profile_has "$1.json" "1e6 < note('rss', d['cost']['collector_peak_rss_bytes']) < $2"
}
# Objects were lost: they are counted, and so are the samples in them.
is_lost="note('lost', losses['jit_objects_lost']) > 0 and miss('jit-lost', 'jit-unknown') > 0"

# many NAME LOST OPTION...: 10,000 objects between two drains: the running function is known or counted as
# lost, and memory is bounded. At most LOST objects are lost: a walk may give up on a list that grows.
many() {
	many=$1
	most_lost=$2
	shift 2
	# shellcheck disable=SC2086 # words
	leaves gdbjit "$many" -F 999 "$@" -- $AFTER_IT "$jit" 10000 "$(longer 0.7 1.5)"
	figure "gdbjit-$many" profile_has "$many.json" "functions_of('spin_') <= {'spin_5000'}" \
		"hottest_function() == 'spin_5000' or $is_lost"
	small "$many" 100e6
	narrow "gdbjit-$many-soon" profile_has "$many.json" "function('spin_5000') > 80" \
		"note('lost', losses['jit_objects_lost']) <= $most_lost"
}
also many many 0
also many many-by-walk 100 --no-uprobe
also_done

# One process registers more than 65,536 objects, few at a time: the last one is known.
churn() {
	# shellcheck disable=SC2086 # words
	leaves gdbjit churn -F 999 -- $AFTER_IT "$jit" 10 "$(longer 0.5 1)" churn
	figure gdbjit-churn profile_has churn.json "functions_of('spin_') == {'spin_0', 'spin_80000'}"
	small churn 100e6
	narrow gdbjit-churn-soon profile_has churn.json "function('spin_80000') > 8" \
		"note('lost', losses['jit_objects_lost']) < 20000"
}
also churn

# Forks share the 10,000 objects that their parent registered. Copies would take a megabyte for each of
# 150 children; the addresses of the objects take 0.3 MB each, until a drain after the child's end.
forks() {
	# shellcheck disable=SC2086 # words
	leaves gdbjit forks -F 499 -- $AFTER_IT "$jit" 10000 "$(longer 0.3 0.5)" forks
	figure gdbjit-forks profile_has forks.json "functions_of('spin_') <= {'spin_0', 'spin_5000'}" \
		"'spin_5000' in functions_of('spin_') or $is_lost" "note('processes', len(d['processes'])) > 20"
	small forks "$(longer 150e6 200e6)"
	narrow gdbjit-forks-soon profile_has forks.json "function('spin_5000') > 50"
}
also forks
also_done

# One process after another, each with 8 MB of objects (in pages): 320 MB in all, although the limit is
# 256 MB, so lineburn must free the objects of ended processes.
ended() {
	# shellcheck disable=SC2016,SC2086 # for the inner shell; words
	leaves gdbjit ended -F 499 -- $AFTER_IT sh -c 'for i in $(seq 40); do "$0" 2000 "$1"; done' "$jit" "$(longer 0.03 0.15)"
	figure gdbjit-ended profile_has ended.json "functions_of('spin_') == {'spin_1000'}" "miss('jit-lost') < 50" \
		"note('processes', sum(p['comm'] == 'gdbjit' for p in d['processes'])) == 40"
	narrow gdbjit-ended-soon profile_has ended.json "miss('jit-lost') < 10" "function('spin_1000') > 50"
}
also ended
also_done
