#!/bin/sh
# Prints the table of the tests that share a program (program.h). The Makefile renames main()
# of tests/unit/FOLDER/NAME.c to unit_FOLDER_NAME().
# usage: tests/lib/program.sh tests/unit/FOLDER/NAME.c...
set -eu
table=
echo '#include "lib/program.h"'
for source; do
	name=${source#tests/unit/}
	name=${name%.c}
	main=unit_$(echo "$name" | tr / _)
	if grep -q '^int main(void)$' "$source"; then
		echo "int $main(void);"
		kind=run
	else
		echo "int $main(int argc, char **argv);"
		kind=run_with
	fi
	table="$table	{.name = \"/${name#*/}\", .$kind = $main},
"
done
printf 'const struct program_test program_tests[] = {\n%s\t{0},\n};\n' "$table"
