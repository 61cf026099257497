/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Real ELF files for tests: built in a temporary directory, read by other tools. */
#ifndef LB_TESTS_ELF_FIXTURE_H
#define LB_TESTS_ELF_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/scratch.h"

static char fixture_dir[64];

__attribute__((unused)) static int fixture_setup(void **state)
{
	(void)state;
	/* Others must be able to enter it: files are opened as their owner. */
	scratch_make(fixture_dir, 0755);
	return chdir(fixture_dir);
}

__attribute__((unused)) static int fixture_teardown(void **state)
{
	(void)state;
	scratch_remove(fixture_dir);
	return chdir("/");
}

/* Runs a shell command in the directory. Return: whether it succeeded. */
__attribute__((format(printf, 1, 2), unused)) static int fixture_try(const char *fmt, ...)
{
	char command[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return system(command) == 0;
}

#define fixture_run(...)                                  \
	do {                                              \
		if (!fixture_try(__VA_ARGS__))            \
			fail_msg("failed: " __VA_ARGS__); \
	} while (0)

__attribute__((unused)) static void fixture_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* First line of a command's output without the newline; "" if there is none. */
__attribute__((format(printf, 3, 4), unused)) static char *fixture_line(char *buf,
									size_t size,
									const char *fmt,
									...)
{
	char command[4096];
	va_list args;
	FILE *f;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	f = popen(command, "r");
	assert_non_null(f);
	if (!fgets(buf, (int)size, f))
		buf[0] = '\0';
	while (fgetc(f) != EOF) /* read to the end: no SIGPIPE */
		;
	pclose(f);
	buf[strcspn(buf, "\n")] = '\0';
	return buf;
}

/* The address that nm gives for @symbol in @file. */
__attribute__((unused)) static uint64_t fixture_vaddr(const char *file,
						      const char *symbol)
{
	char line[256];

	fixture_line(line, sizeof(line), "nm %s | awk '$3 == \"%s\" {print $1}'", file,
		     symbol);
	if (!line[0])
		fail_msg("no symbol %s in %s", symbol, file);
	return strtoull(line, NULL, 16);
}

/* The file offset of @vaddr by readelf's program headers. */
__attribute__((unused)) static uint64_t fixture_file_off(const char *file, uint64_t vaddr)
{
	char command[512], line[512];
	uint64_t found = UINT64_MAX;
	FILE *f;

	snprintf(command, sizeof(command), "readelf -lW %s", file);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long long off, at, phys, bytes;

		if (sscanf(line, " LOAD %llx %llx %llx %llx", &off, &at, &phys, &bytes) ==
			    4 &&
		    vaddr >= at && vaddr - at < bytes)
			found = vaddr - at + off;
	}
	pclose(f);
	assert_true(found != UINT64_MAX);
	return found;
}

#endif
