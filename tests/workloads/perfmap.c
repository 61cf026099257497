// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function of a JIT, named by /tmp/perf-PID.map; or a hostile file in its place. The
 * program removes the file at its end, except if it is "kept", which is a good one, too.
 * usage: perfmap SECONDS good|kept|0x|million|fifo|symlink|directory|sparse|foreign|
 *        writable|garbage [TARGET of the symlink]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jit-code.h"

static char path[64];

static int write_map(const uint8_t *page, const char *prefix)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return -1;
	fprintf(f, "%s%lx %s%zx jitted_function\n", prefix, (unsigned long)page, prefix,
		sizeof(countdown));
	return fclose(f);
}

/* As after days of compilation: our function is the last of a million. */
static int write_million(const uint8_t *page)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return -1;
	for (unsigned long i = 0; i < 999999; i++)
		fprintf(f,
			"%lx 40 LazyCompile:*function_%lu /srv/app/module_%lu.js:%lu\n",
			0x100000000 + i * 64, i, i % 1000, i % 5000);
	fprintf(f, "%lx %zx jitted_function\n", (unsigned long)page, sizeof(countdown));
	return fclose(f);
}

static int write_garbage(void)
{
	FILE *f = fopen(path, "w");
	uint32_t x = 1;

	if (!f)
		return -1;
	for (int i = 0; i < 500000; i++) {
		x = x * 1103515245 + 12345;
		putc((int)(x >> 16 & 0xff), f);
	}
	return fclose(f);
}

/* Renames the file when its owner or mode is set, so that it is never acceptable. */
static int write_with(const uint8_t *page, const char *how)
{
	char there[sizeof(path)], other[sizeof(path)];

	memcpy(there, path, sizeof(path));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map.new", getpid());
	memcpy(other, path, sizeof(path));
	if (write_map(page, ""))
		return -1;
	memcpy(path, there, sizeof(path));
	if (!strcmp(how, "foreign") ? chown(other, 65534, 65534) : chmod(other, 0666))
		return -1;
	return rename(other, path);
}

static int make_sparse(const uint8_t *page)
{
	return write_map(page, "") || truncate(path, (off_t)1 << 40);
}

static int make(const char *how, const char *target, const uint8_t *page)
{
	if (!strcmp(how, "good") || !strcmp(how, "kept"))
		return write_map(page, "");
	if (!strcmp(how, "0x"))
		return write_map(page, "0x");
	if (!strcmp(how, "million"))
		return write_million(page);
	if (!strcmp(how, "fifo"))
		return mkfifo(path, 0600);
	if (!strcmp(how, "symlink"))
		return symlink(target, path);
	if (!strcmp(how, "directory"))
		return mkdir(path, 0700);
	if (!strcmp(how, "sparse"))
		return make_sparse(page);
	if (!strcmp(how, "foreign") || !strcmp(how, "writable"))
		return write_with(page, how);
	if (!strcmp(how, "garbage"))
		return write_garbage();
	return -1;
}

int main(int argc, char **argv)
{
	uint8_t *page = jit_page();

	if (argc < 3 || !page)
		return 2;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	jit_write(page);
	if (make(argv[2], argc > 3 ? argv[3] : "", page))
		return 1;
	jit_run(page, strtod(argv[1], NULL));
	return strcmp(argv[2], "kept") && remove(path);
}
