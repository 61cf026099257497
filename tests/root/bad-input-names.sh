#!/bin/sh
# Names of threads and cgroups that need escaping, or that break a naive parser of /proc.
# Takes 25 s.
. "${TOP:?}/tests/root/lib-machine.sh"

cat >named.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
/* Calls itself by each name in turn, which the children keep. */
int main(int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 1; i < argc; i++) {
		prctl(PR_SET_NAME, argv[i]);
		if (i + 1 < argc && fork())
			break;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	for (;;) {
		for (volatile int i = 0; i < 500000; i++)
			;
		usleep(9000);
	}
}
END
gcc -O0 -g -o named named.c
# Each process is the parent of the next, so lineburn must parse the fields after the name in stat.
newline=$(printf 'a\nb\033[2Jc')
invalid=$(printf '\377\376;\200x')
bidi=$(printf 'u\342\200\256\302\233v')
./named "$newline" ') R 1 1 1' 'x) S 1 2' "$invalid" 'a;b c 12' '"<b>&'"'" '%s%n\012' "$bidi" &
first=$!
ends "$first"
descend() {
	[ "$(pstree_length $first)" -eq 8 ]
}
pstree_length() {
	length=1
	last=$1
	while last=$(children "$last" | tr -d ' ') && [ -n "$last" ]; do
		length=$((length + 1))
	done
	echo $length
}
wait_until 60 descend
names_expected='["a\nb\x1b[2Jc", ") R 1 1 1", "x) S 1 2", "\ufffd\ufffd;\ufffdx", "a;b c 12", "\"<b>&\x27", "%s%n\\012", "u\u202e\x9bv"]'
names() {
	lineburn record -F 999 -d 2 -o names.pb.gz -p $first >out 2>err || { tail -n 1 err; return 1; }
	"$LB" annotate --json names.pb.gz >names.json
	profile_has names.json "sums_close()" \
		"note('names', sorted(p['comm'] for p in d['processes'])) == sorted($names_expected)"
}
check names names
# clean FILE...: the files are UTF-8 without control or bidirectional characters
clean() {
	python3 - "$@" <<'END'
import sys
for path in sys.argv[1:]:
    text = open(path, "rb").read().decode()
    bad = [c for c in text if (c < " " and c not in "\n\t") or "\x7f" <= c < "\xa0" or "\u202a" <= c <= "\u202e"]
    if bad or not text:
        sys.exit(f"{path}: {bad}")
END
}
names_in_text() {
	"$LB" report --by comm names.pb.gz >by-comm.txt && "$LB" report --by process names.pb.gz >by-process.txt &&
		"$LB" report names.pb.gz >report.txt && "$LB" annotate names.pb.gz >annotate.txt || return 1
	clean by-comm.txt by-process.txt report.txt annotate.txt names.json || return 1
	# Labels of pprof are UTF-8: invalid bytes have been replaced.
	grep -qF 'a\x0ab\x1b[2Jc' by-comm.txt && grep -qF ') R 1 1 1' by-comm.txt &&
		grep -qF 'a;b c 12' by-comm.txt && grep -qF 'u\u{202e}\x9bv' by-comm.txt && return 0
	tr '\n' '|' <by-comm.txt
	return 1
}
check names-in-text names_in_text
names_narrowed() {
	"$LB" annotate --json --comm "$newline" names.pb.gz >narrow.json &&
		profile_has narrow.json "[p['comm'] for p in d['processes']] == ['a\\nb\\x1b[2Jc']"
}
check names-narrowed names_narrowed
check names-chosen chosen names-chosen "[p['comm'] for p in d['processes']] == ['x) S 1 2']" --comm 'x)*'
check names-chosen-newline chosen names-newline "$pids == {$first}" --comm "$newline"
names_similar() {
	says 4 'similar: ' --comm 'a;b c 13' && grep -qF 'a;b c 12' err && clean err
}
check names-similar names_similar
if command -v go >/dev/null; then
	names_in_pprof() {
		pprof -tags names.pb.gz >tags.txt 2>tags.err || { tail -n 1 tags.err; return 1; }
		grep -qF 'x) S 1 2' tags.txt && grep -qF 'a;b c 12' tags.txt && pprof -raw names.pb.gz >raw.txt
	}
	check names-in-pprof names_in_pprof
else
	skip names-in-pprof "no go"
fi
kill -9 $first

# A cgroup name with all kinds of bytes but a newline, which the kernel refuses.
odd_name=$(printf 'x;y) \033[31m\\012\377 (deleted)')
odd_cgroup() {
	mkdir -p "$v2/$group/$odd_name/deep" && echo "$inside" >"$v2/$group/$odd_name/deep/cgroup.procs" || return 1
	chosen odd "$only_inside" -G "$group/$odd_name" &&
		profile_has odd.json "d['processes'][0]['cgroup'] == '/$group/x;y) \\x1b[31m\\\\012\\ufffd (deleted)/deep'" || return 1
	chosen odd-path "$only_inside" -G "$v2/$group/$odd_name" || return 1
	"$LB" report --by cgroup odd.pb.gz >odd.txt && clean odd.txt odd.json || return 1
	grep -qF 'x;y) \x1b[31m\012' odd.txt || { tr '\n' '|' <odd.txt; return 1; }
}
# The hierarchy is mounted at a path that mountinfo escapes.
odd_mount() {
	odd_mount_path=$(printf '%s/m t\t\\040\n#;)' "$PWD")
	mkdir -p "$odd_mount_path"
	MACHINE="for m in \$(awk '\$3 == \"cgroup2\" { print \$2 }' /proc/mounts); do umount \"\$m\"; done
		mount -t cgroup2 none '$odd_mount_path' || exit 99;"
	chosen odd-mount "$only_inside" -G "/$group/$odd_name" &&
		chosen odd-mount-path "$only_inside" -G "$odd_mount_path/$group/$odd_name"
}
if [ -n "$v2" ] && mkdir "$v2/$group"; then
	made="$made $v2/$group"
	check odd-cgroup odd_cgroup
	check odd-mount odd_mount
	MACHINE=
	echo "$inside" >"$v2/cgroup.procs"
else
	skip odd-cgroup "no cgroup of v2 can be made"
fi

