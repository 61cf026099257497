#!/bin/sh
# Checks the sources: include table, libraries, headers, sizes, format, clang-tidy, shellcheck, loose ends.
# usage: tools/lint.sh [CHECK...]   (includes libraries decoders hardened headers bpf sizes format tidy shell
# python loose; default: all of these). format, tidy, shell: files that changed lately; format-all,
# tidy-all, shell-all: the whole tree.
# Prints how long each check took. Last line: "lint: N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 1
passed=0
failed=0
skipped=0

# Let git work in a clone that belongs to another user.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="$PWD"
[ -n "$(git ls-files src)" ] || {
	echo "lint: this is no git clone with sources in it" >&2
	exit 1
}

# result NAME FINDINGS: counts one check, which passes if there are no findings
result() {
	if [ -z "$2" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "$2"
		echo "lint: $1 failed"
	fi
}

skip() {
	skipped=$((skipped + 1))
	echo "skip $1: $2"
}

# ---- which folder may include which headers (CONTRIBUTING.md has the table) ----

# may_include FOLDER REGEX: our headers that the files of FOLDER may include
may_include() {
	rows="${rows:-} $1"
	[ -e "$1" ] || return 0
	result "include table: $1" "$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' \
		"$1" --include='*.[ch]' | grep -vE "include[[:space:]]*\"($2)")"
}

check_includes() {
	may_include bpf 'vmlinux\.h|lineburn(_unwind|_filter)?\.h|(arch/)?[a-z0-9_]+\.h"'
	may_include src/base 'base/'
	may_include src/worker 'base/|worker/'
	may_include src/decode 'base/|worker/|decode/|lineburn_unwind\.h'
	may_include src/collect 'base/|worker/broker\.h|collect/|lineburn(_unwind|_filter)?\.h|[a-z]+\.skel\.h'
	may_include src/opener 'base/|worker/|opener/|decode/(operation|requests)\.h'
	may_include src/process 'base/|worker/|opener/|process/|decode/(requests|runtimes)\.h|collect/task_event\.h|lineburn_unwind\.h'
	may_include src/runtime 'base/|worker/|decode/|process/|collect/jit_probe\.h|runtime/|lineburn(_unwind)?\.h'
	may_include src/unwind \
		'base/|worker/|decode/operation\.h|process/|collect/kmap\.h|runtime/|unwind/|lineburn_unwind\.h'
	may_include src/symbolize 'base/|worker/|decode/|process/|runtime/|symbolize/|lineburn\.h'
	may_include src/profile 'base/|profile/|decode/frame\.h|lineburn\.h|[a-z]+\.pb-c\.h'
	may_include src/analyze 'base/|profile/|analyze/|decode/(frame|numba/name)\.h'
	may_include src/render \
		'base/|render/|profile/(profile|labels|mapping_kind)\.h|analyze/(attribution|hot_lines|machine_code|phase|call_tree|sample_owner|groups|filter|frame_filter|profile_diff|diff_rule|diff_stacks)\.h|lineburn\.h'
	may_include src/export \
		'base/|export/|profile/(profile|labels|pprof|gzip|mapping_kind|series)\.h|analyze/(attribution|line_stacks|phase|tally)\.h'
	may_include src/live 'base/|live/|profile/(profile|mirror)\.h|analyze/|render/(figure|text)\.h|terminfo\.h"'
	may_include src/target 'base/|process/|target/|collect/(filter|task_event)\.h|lineburn_filter\.h'
	may_include src/launch 'base/|worker/broker\.h|process/proc_dir\.h|launch/'
	may_include src/doctor 'base/|doctor/|collect/(jit_probe|kernel_quirks|perf_event)\.h'
	may_include src/record \
		'(base|worker|opener|collect|process|runtime|unwind|symbolize|profile|analyze|target|launch|record)/'
	may_include src/cli \
		'(base|worker|collect|process|runtime|unwind|symbolize|profile|analyze|render|export|live|target|launch|record|doctor|cli)/|built_with\.h"'
	# shellcheck disable=SC2086 # a list
	unknown=$(find src -mindepth 1 -maxdepth 1 -type d | grep -vxF "$(printf '%s\n' $rows)")
	may_include src/main.c '(base|cli|decode|doctor|launch|worker)/'
	result "only main.c is loose in src" "$(git ls-files 'src/*' | grep -E '^src/[^/]*$' | grep -v '^src/main\.c$')"
	result "every folder is in the include table" "$unknown"
	# A .c file, its header and X_internal.h are one node of the graph.
	# shellcheck disable=SC2016 # awk's own
	result "no circles" "$(git ls-files 'src/*.[ch]' | xargs awk '
		match($0, /^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]+\.h"/) {
			from = FILENAME
			sub(/^src\//, "", from)
			sub(/\.[ch]$/, "", from)
			to = $0
			sub(/^[^"]*"/, "", to)
			sub(/\.h".*/, "", to)
			sub(/_internal$/, "", from)
			sub(/_internal$/, "", to)
			print from, to
		}' | tsort 2>&1 >/dev/null)"
	result "our headers are included with quotes" "$(grep -rnE \
		"include[[:space:]]*<($(find src -mindepth 1 -maxdepth 1 -type d -printf '%f|')lineburn)" \
		src bpf --include='*.[ch]')"
}

# only_in LIBRARY-REGEX PATH-REGEX: only these paths may include the headers of a library
only_in() {
	result "library $1" "$(grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*<($1)" \
		src --include='*.[ch]' | grep -vE "^src/($2)")"
}

check_libraries() {
	only_in 'bpf/' 'collect/'
	only_in 'elfutils/|libelf|gelf|dwarf\.h|lzma|libiberty|demangle' 'decode/'
	only_in 'protobuf-c/' 'profile/'
	only_in 'nettle/' 'analyze/source\.c|record/service_id\.c|render/page_file\.c'
	only_in 'zlib' 'profile/|decode/'
	only_in 'capstone/' 'decode/asm/disassemble\.c|decode/cfi/functions\.c'
	only_in 'n?curses' 'live/screen\.c'
	only_in 'jansson' 'render/|export/|doctor/doctor\.|process/container_name\.c'
}

# ---- untrusted input is decoded in workers only ----

# Code outside of decode/ may call functions of decode/*/ only through the table of operations,
# except for some pure functions. The files directly in decode/ are the messages between the sides.
objects_in() { # FOLDER: writes lists of src's objects, and of the symbols that they define and use
	git ls-files 'src/*.c' | sed 's/\.c$/.o/; s|^|build/|' >"$1/objects"
	xargs nm -A -g <"$1/objects" 2>/dev/null |
		sed 's|^build/src/\([^:]*\)\.o:.* \([A-Z]\) \(.*\)$|\2 \3 \1|' >"$1/symbols"
	grep '^[^UVWw] ' "$1/symbols" | cut -d ' ' -f 2- | sort >"$1/defined"
	grep '^U ' "$1/symbols" | cut -d ' ' -f 2- | sort >"$1/used"
}

check_decoders() {
	linked=$(mktemp -d)
	objects_in "$linked"
	result "only workers decode" "$(
		[ -s "$linked/defined" ] || echo "build it first: make"
		join "$linked/defined" "$linked/used" | awk '$2 ~ "^decode/.*/" && $3 !~ "^decode/"' |
			grep -vE '^(numba_name_types|python_layout_is_sane|python_recognise|python_version_of_name) '
	)"
	# The include graph does not show calls between files that share a header.
	result "no circles of calls" "$(
		[ -s "$linked/defined" ] || echo "build it first: make"
		join "$linked/defined" "$linked/used" | awk '{ print $3, $2 }' | sort -u | tsort 2>&1 >/dev/null
	)"
	rm -r "$linked"
}

# ---- the objects of the library have the checks of libc and of return addresses ----

check_hardened() {
	linked=$(mktemp -d)
	objects_in "$linked"
	result "checks of memory" "$(
		for symbol in __memcpy_chk __snprintf_chk __vsnprintf_chk __stack_chk_fail; do
			grep -q "^$symbol " "$linked/used" || echo "no object uses $symbol"
		done
	)"
	rm -r "$linked"
}

# ---- every header compiles alone ----

check_headers() {
	cflags="-std=gnu11 -D_GNU_SOURCE -Isrc -Iinclude -Ibuild/gen -Wall -Wextra -Werror"
	# shellcheck disable=SC2086 # a list of flags
	result "headers compile alone" "$(git ls-files 'src/*.h' 'include/*.h' |
		xargs -P "$(nproc)" -I HEADER gcc $cflags -fsyntax-only -x c HEADER 2>&1 || echo "see above")"
}

# ---- BPF compiles for the other architecture, too, and older kernels have stack for it ----

check_bpf() {
	clang=$(for name in "${CLANG:-clang-14}" clang-19 clang; do command -v "$name"; done | head -n 1)
	object=$(mktemp -d)/program.o
	for arch in x86:x86_64 arm64:arm64; do
		result "BPF compiles for ${arch#*:}" "$(for source in bpf/*.bpf.c tests/bpf/*.bpf.c; do
			"$clang" -g -O2 -target bpf -mcpu=v2 "-D__TARGET_ARCH_${arch%:*}" -Iinclude \
				"-Ivmlinux/${arch#*:}" -Ibpf -Wall -Wextra -Wno-unused-parameter -Werror \
				-fstack-usage -c -o "$object" "$source" 2>&1 &&
				tools/bpf-stack.py "$object" 2>&1 || echo "see above"
		done)"
	done
	rm -r "$(dirname "$object")"
}

# ---- sizes: a file that grows too large should be split (functions: .clang-tidy) ----

check_sizes() {
	result "no source above 48 KB" "$(git ls-files 'src/*.[ch]' 'bpf/*.[ch]' |
		xargs wc -c | awk '$1 > 49152 && $2 != "total" { print $2 ": " $1 " bytes" }')"
}

# ---- format, clang-tidy: versions differ a little; we use Debian 12's ----

is_version_14() {
	"$1" --version 2>/dev/null | grep -q 'version 14\.'
}

# changed_lately PATTERN...: the files that changed in the last five commits (a merge is one), or since
# the last release, if that is later. All files if there are not that many commits.
changed_lately() {
	if ! lately=$(git rev-parse -q --verify 'HEAD~5'); then
		git ls-files "$@"
		return
	fi
	release=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null)
	if [ -n "$release" ] && git merge-base --is-ancestor "$lately" "$release"; then
		lately=$release
	fi
	git diff --name-only --diff-filter=d "$lately" -- "$@"
}

# formatted COMMAND...: runs it with the patterns of the files that clang-format formats
formatted() {
	"$@" '*.c' '*.h' ':!vmlinux' ':!tests/workloads' ':!tests/fixtures'
}

check_format() {
	format "$(formatted changed_lately)"
}

check_format_all() {
	format "$(formatted git ls-files)"
}

# format FILES: one file per line
format() {
	clang_format=${CLANG_FORMAT:-clang-format-14}
	if is_version_14 "$clang_format"; then
		result "clang-format" "$(echo "$1" | xargs -r "$clang_format" --dry-run -Werror 2>&1 || echo "see above")"
	else
		skip clang-format "$clang_format is not version 14"
	fi
}

check_tidy() {
	tidy "$(changed_lately 'src/*.c')"
}

check_tidy_all() {
	tidy "$(git ls-files 'src/*.c')"
}

# tidy FILES: one file per line
tidy() {
	clang_tidy=${CLANG_TIDY:-clang-tidy-14}
	if is_version_14 "$clang_tidy"; then
		export clang_tidy
		result "clang-tidy of $(echo "$1" | grep -c .) files" "$(echo "$1" | xargs -r -P "$(nproc)" -n 4 tools/lint.sh tidy-files ||
			echo "see above")"
	else
		skip clang-tidy "$clang_tidy is not version 14"
	fi
}

# tidy_files FILE...: checks files, except those that passed before. The key of a pass is a hash of
# everything that the result depends on: the tool, its rules, the flags, the preprocessed text with
# comments.
tidy_files() {
	mkdir -p build/tidy
	find build/tidy -mtime +30 -delete
	tidy_status=0
	for tidy_file in "$@"; do
		tidy_key=$({
			"$clang_tidy" --version
			cat .clang-tidy
			grep -F "\"file\":\"$tidy_file\"" compile_commands.json
			gcc -std=gnu11 -D_GNU_SOURCE -Isrc -Iinclude -Ibuild/gen -E -C "$tidy_file" 2>&1
		} | sha256sum | cut -d ' ' -f 1)
		[ ! -e "build/tidy/$tidy_key" ] || continue
		if "$clang_tidy" -p . --quiet "$tidy_file" 2>/dev/null; then
			: >"build/tidy/$tidy_key"
		else
			tidy_status=1
		fi
	done
	return $tidy_status
}
if [ "${1:-}" = tidy-files ]; then
	shift
	tidy_files "$@"
	exit
fi

# ---- shell ----

check_shell() {
	judge_shell "$(changed_lately '*.sh' '.ci/run')"
}

check_shell_all() {
	judge_shell "$(git ls-files '*.sh' '.ci/run')"
}

# judge_shell FILES: one file per line
judge_shell() {
	result "shellcheck" "$(echo "$1" | xargs -r -P "$(nproc)" -n 8 shellcheck -x || echo "see above")"
}

# ---- Python compiles; no .pyc file is written ----

check_python() {
	result "python compiles" "$(git ls-files '*.py' | python3 -c '
import sys
for file in sys.stdin.read().split("\n")[:-1]:
    try:
        compile(open(file, encoding="utf-8").read(), file, "exec")
    except (SyntaxError, ValueError) as e:
        print(file, e)' 2>&1)"
}

# ---- loose ends ----

check_loose() {
	result "every tag is unique" "$(git ls-files 'src/*.[ch]' | xargs grep -hoE \
		'^[[:space:]]*(struct|union|enum) [a-z0-9_]+ \{' | awk '{ print $2 }' | sort | uniq -d)"
	# Not in this file: the line below has the words.
	result "no loose ends" "$(git grep -nE 'TODO|FIXME|\bXXX\b|for now\b|^#if 0' -- \
		src bpf include python tests tools ':!tools/lint.sh' ':!tests/tools' ':!tests/fuzz/corpus')"
}

[ $# -gt 0 ] || set -- includes libraries decoders hardened headers bpf sizes format tidy shell python loose
for check in "$@"; do
	case $check in
	includes | libraries | decoders | hardened | headers | bpf | sizes | format | format-all | tidy | tidy-all | shell | shell-all | python | loose)
		start=$(date +%s)
		"check_$(echo "$check" | tr - _)"
		echo "   $check: $(($(date +%s) - start)) s"
		;;
	*)
		echo "usage: tools/lint.sh [includes|libraries|decoders|hardened|headers|bpf|sizes|format|format-all|tidy|tidy-all|shell|shell-all|python|loose]..." >&2
		exit 2
		;;
	esac
done
echo "lint: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
