// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Resolves random addresses of one file with our DWARF reader, prints the frames
 * as llvm-symbolizer --addresses --inlining --functions=linkage --no-demangle
 * does, and what it cost on stderr:
 *
 *	dwarf-resolve FILE [NR [SEED]]    NR random addresses of .text (default 2000)
 *	dwarf-resolve FILE -              addresses in hexadecimal from stdin
 *
 * CODE=1 in the environment: also which line each part of the functions is, as a
 * recording asks; CODE=2 prints it.
 *
 * Build: cc -O2 -D_GNU_SOURCE -Isrc -Iinclude -o build/dwarf-resolve \
 *	tests/bench/dwarf-resolve.c build/liblineburn.a -lelf -lz
 */
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "decode/dwarf/dwarf.h"

struct answer {
	char *text;
};

static const char *program_path;

static int open_need(void *ctx, const struct need *need)
{
	char path[2 * sizeof(need->name)];
	char copy[4096], *dir;

	(void)ctx;
	snprintf(copy, sizeof(copy), "%s", program_path);
	dir = dirname(copy);
	switch (need->kind) {
	case NEED_DWO:
		if (need->name[0] == '/')
			return open(need->name, O_RDONLY | O_CLOEXEC);
		snprintf(path, sizeof(path), "%s/%s", need->comp_dir, need->name);
		return open(path, O_RDONLY | O_CLOEXEC);
	case NEED_DWZ:
		if (need->name[0] == '/')
			return open(need->name, O_RDONLY | O_CLOEXEC);
		snprintf(path, sizeof(path), "%s/%s", dir, need->name);
		return open(path, O_RDONLY | O_CLOEXEC);
	case NEED_DWP:
		snprintf(path, sizeof(path), "%s.dwp", program_path);
		return open(path, O_RDONLY | O_CLOEXEC);
	default:
		return -1;
	}
}

static void found(void *ctx, size_t i, enum miss miss, const struct frame *frames,
		  size_t nr)
{
	struct answer *answers = ctx;
	size_t len;
	FILE *out = open_memstream(&answers[i].text, &len);

	if (!nr)
		fprintf(out, "??\n??:0 (%s)\n", miss_name(miss));
	for (size_t f = 0; f < nr; f++) {
		const char *name = *frames[f].system_name ? frames[f].system_name
							  : frames[f].function;

		fprintf(out, "%s\n%s:%" PRIu32 "\n", *name ? name : "??",
			*frames[f].file ? frames[f].file : "??", frames[f].line);
	}
	fclose(out);
}

static size_t nr_codes, nr_code_rows;
static bool print_code;

static void found_code(void *ctx, size_t i, const struct frame *function,
		       const struct code *code)
{
	(void)ctx;
	(void)i;
	nr_codes++;
	nr_code_rows += code->nr_rows;
	if (!print_code)
		return;
	printf("%s 0x%" PRIx64 " + 0x%" PRIx64 "\n", function->function, code->address,
	       code->size_bytes);
	for (size_t k = 0; k < code->nr_rows; k++)
		printf("\t0x%" PRIx64 " %s %s:%" PRIu32 "\n", code->rows[k].address,
		       code->rows[k].frame.function, code->rows[k].frame.file,
		       code->rows[k].frame.line);
}

static long anonymous_kb(const char *field)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kb = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, field, strlen(field)))
			kb = strtol(line + strlen(field), NULL, 10);
	if (f)
		fclose(f);
	return kb;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void text_section(int fd, uint64_t *start, uint64_t *size)
{
	Elf *elf;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	*start = *size = 0;
	if (elf && elf_getshdrstrndx(elf, &names) == 0)
		while ((scn = elf_nextscn(elf, scn)))
			if (gelf_getshdr(scn, &sh) &&
			    !strcmp(elf_strptr(elf, names, sh.sh_name), ".text")) {
				*start = sh.sh_addr;
				*size = sh.sh_size;
			}
	elf_end(elf);
}

static size_t read_addresses(uint64_t **ret)
{
	uint64_t *vaddrs = NULL;
	size_t nr = 0;
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		vaddrs = reallocarray(vaddrs, nr + 1, sizeof(*vaddrs));
		if (!vaddrs)
			abort();
		vaddrs[nr++] = strtoull(line, NULL, 16);
	}
	*ret = vaddrs;
	return nr;
}

static size_t random_addresses(int fd, size_t nr, unsigned int seed, uint64_t **ret)
{
	uint64_t start, size, *vaddrs = calloc(nr, sizeof(*vaddrs));

	text_section(fd, &start, &size);
	if (!size || !vaddrs)
		return 0;
	srandom(seed);
	for (size_t i = 0; i < nr; i++)
		vaddrs[i] = start +
			    ((uint64_t)random() << 31 | (uint64_t)random()) % size;
	*ret = vaddrs;
	return nr;
}

int main(int argc, char **argv)
{
	_cleanup_(dwarf_source_freep) struct dwarf_source *d = NULL;
	_cleanup_close_ int fd = -1;
	struct dwarf_stats stats;
	struct answer *answers;
	uint64_t *vaddrs = NULL;
	double began, took;
	long before, after;
	size_t nr;
	int r;

	if (argc < 2)
		return 2;
	program_path = argv[1];
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (argc > 2 && !strcmp(argv[2], "-"))
		nr = read_addresses(&vaddrs);
	else
		nr = random_addresses(fd, argc > 2 ? strtoul(argv[2], NULL, 10) : 2000,
				      argc > 3 ? (unsigned int)atoi(argv[3]) : 1,
				      &vaddrs);
	answers = calloc(nr + 1, sizeof(*answers));
	if (!nr || !answers)
		return 1;
	before = anonymous_kb("RssAnon:");
	began = seconds();
	r = dwarf_source_open(fd, open_need, NULL, &d);
	if (r == 0 && getenv("CODE")) {
		print_code = atoi(getenv("CODE")) == 2;
		dwarf_source_want_code(d, found_code, NULL);
	}
	if (r == 0)
		r = dwarf_source_resolve(d, vaddrs, nr, found, answers);
	took = seconds() - began;
	after = anonymous_kb("RssAnon:");
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-r));
		return 1;
	}
	for (size_t i = 0; i < nr; i++)
		printf("0x%" PRIx64 "\n%s\n", vaddrs[i], answers[i].text);
	if (nr_codes)
		fprintf(stderr, "%zu pieces of code, %zu rows\n", nr_codes, nr_code_rows);
	dwarf_source_stats(d, &stats);
	fprintf(stderr,
		"%zu addresses, %.3f s, anonymous memory %ld KB after (%ld KB before), "
		"peak resident %ld KB, %" PRIu64 " dwo missing, %" PRIu64
		" dwz names missing, %" PRIu64 " bad units\n",
		nr, took, after, before, anonymous_kb("VmHWM:"), stats.nr_dwo_missing,
		stats.nr_dwz_missing, stats.nr_bad_units);
	return 0;
}
