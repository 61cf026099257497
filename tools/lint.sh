#!/bin/sh
# Include table, headers, format, clang-tidy, shellcheck, loose ends.
# Last line: "lint: N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 1
passed=0
failed=0
skipped=0

# result NAME STATUS: counts one check.
result() {
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "lint: $1 failed"
	fi
}

# ---- who may include whom (CONTRIBUTING.md has the table) ----

# allow FOLDER REGEX: project headers that files of src/FOLDER may include.
allow() {
	bad=$(grep -rnE '^#include "' "src/$1" --include='*.[ch]' | grep -vE "#include \"($2)")
	[ -z "$bad" ] || echo "$bad"
	[ -z "$bad" ]
	result "include table: $1" $?
}
allow base 'base/'
allow collect 'base/|collect/|lineburn\.h|[a-z]+\.skel\.h'
allow process 'base/|process/|collect/kmap\.h|collect/task_event\.h'
allow worker 'base/|worker/'
allow symbolize 'base/|process/|worker/|symbolize/'
allow profile 'base/|profile/|symbolize/frame\.h|lineburn\.h|[a-z]+\.pb-c\.h'
allow render 'base/|render/|profile/profile\.h|profile/attribution\.h|lineburn\.h'

# only LIBRARY-REGEX FOLDER-REGEX: a library is known to these folders alone.
only() {
	bad=$(grep -rnE "^#include <($1)" src --include='*.[ch]' | grep -vE "^src/($2)")
	[ -z "$bad" ] || echo "$bad"
	[ -z "$bad" ]
	result "library $1" $?
}
only 'bpf/' 'collect/'
only 'elfutils/|libelf|gelf|dwarf\.h|lzma|libiberty|demangle' 'symbolize/'
only 'protobuf-c/|nettle/' 'profile/'
only 'zlib' 'profile/|symbolize/'
only 'jansson' 'render/|doctor\.'

# ---- every header compiles alone ----

cflags="-std=gnu11 -D_GNU_SOURCE -Isrc -Iinclude -Ibuild/gen -Wall -Wextra -Werror -fsyntax-only"
status=0
for header in $(git ls-files 'src/*.h' 'include/*.h'); do
	# shellcheck disable=SC2086 # a list of flags
	gcc $cflags -x c "$header" || status=1
done
result "headers compile alone" $status

# ---- format ----

# Each version formats a little differently: ours is 14, that of Debian 12.
if "${CLANG_FORMAT:-clang-format}" --version | grep -q 'version 14\.'; then
	# shellcheck disable=SC2046 # names without blanks
	"${CLANG_FORMAT:-clang-format}" --dry-run -Werror \
		$(git ls-files '*.c' '*.h' ':!vmlinux' ':!tests/workloads' ':!tests/fixtures')
	result "clang-format" $?
else
	skipped=$((skipped + 1))
	echo "skip clang-format: this is not version 14"
fi

# ---- clang-tidy ----

# Its findings too differ by version.
if "${CLANG_TIDY:-clang-tidy}" --version | grep -q 'version 14\.'; then
	git ls-files 'src/*.c' |
		xargs -P "$(nproc)" -n 4 "${CLANG_TIDY:-clang-tidy}" -p . --quiet 2>/dev/null
	result "clang-tidy" $?
else
	skipped=$((skipped + 1))
	echo "skip clang-tidy: this is not version 14"
fi

# ---- shell ----

scripts=$(git ls-files '*.sh' '.ci/run')
# shellcheck disable=SC2086 # names without blanks
shellcheck -x $scripts
result "shellcheck" $?

# ---- loose ends ----

bad=$(git grep -nE 'TODO|FIXME|(^|[^X])XXX([^X]|$)|for now|#if 0' -- 'src/*' 'bpf/*' 'include/*' 'tests/*.[ch]' 'tests/*.sh')
[ -z "$bad" ] || echo "$bad"
[ -z "$bad" ]
result "no loose ends" $?

echo "lint: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
