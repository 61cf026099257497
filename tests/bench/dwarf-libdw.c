// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time and memory of one part of reading debug information, by lineburn's reader or
 * by libdw. One process each, because libdw keeps what it has read.
 *
 * usage: dwarf-libdw ours|libdw rows|frames FILE
 *        dwarf-libdw ours|libdw cfi FILE >STARTS or <STARTS
 * rows: each row of all line tables. frames: functions, inlined chains and lines of
 * 2,000 random addresses; .dwo files are where they were made, a .dwp beside the file.
 * cfi: each row of call frames; ours prints the addresses at which rows begin, libdw
 * reads them, since it has no iterator over rows.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "decode/cfi/cfi.h"
#include "decode/cfi/file.h"
#include "decode/dwarf/dwarf.h"
#include "lib/libdw.h"

#define NR_ADDRESSES 2000

static double began;
static size_t nr_found;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Prints the result; peak memory includes the pages of the file that were read. */
static void finish(void)
{
	double took = seconds() - began;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "%zu found, %.3f s of CPU, peak %ld MB\n", nr_found, took,
		usage.ru_maxrss >> 10);
}

static void count_row(void *ctx, uint64_t vaddr, uint32_t line)
{
	(void)ctx;
	(void)vaddr;
	(void)line;
	nr_found++;
}

static void count_frames(void *ctx, size_t i, enum miss miss, const struct frame *frames,
			 size_t nr)
{
	(void)ctx;
	(void)i;
	(void)miss;
	(void)frames;
	nr_found += nr;
}

/* random() without a seed gives the same addresses to both readers. */
static void draw(const struct binary *b, uint64_t vaddrs[NR_ADDRESSES])
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh, text = {0};

	while ((scn = elf_nextscn(b->elf, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_EXECINSTR) &&
		    sh.sh_size > text.sh_size)
			text = sh;
	for (size_t i = 0; i < NR_ADDRESSES && text.sh_size; i++)
		vaddrs[i] = text.sh_addr +
			    ((uint64_t)random() << 31 | (uint64_t)random()) %
				    text.sh_size;
}

static int open_companion(void *ctx, const struct need *need)
{
	char path[2 * sizeof(need->name)];

	if (need->kind == NEED_DWP)
		snprintf(path, sizeof(path), "%s.dwp", (const char *)ctx);
	else if (need->kind == NEED_DWO)
		snprintf(path, sizeof(path), "%s/%s", need->comp_dir, need->name);
	else
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int read_ours(const char *part, const char *path, int fd)
{
	_cleanup_(binary_freep) struct binary *b = NULL;
	_cleanup_(dwarf_source_freep) struct dwarf_source *d = NULL;
	uint64_t vaddrs[NR_ADDRESSES];
	int r = binary_open(fd, &b);

	if (r == 0)
		draw(b, vaddrs);
	began = seconds();
	if (r == 0)
		r = dwarf_source_open(b, open_companion, (void *)path, &d);
	if (r < 0)
		return r;
	return !strcmp(part, "rows") ? dwarf_source_rows(d, count_row, NULL)
				     : dwarf_source_resolve(d, vaddrs, NR_ADDRESSES,
							    count_frames, NULL);
}

static int read_libdw(const char *part, const char *path, int fd)
{
	static struct libdw_answer answer;
	_cleanup_(binary_freep) struct binary *b = NULL;
	uint64_t vaddrs[NR_ADDRESSES];
	struct libdw_file f;
	Dwarf_Lines *rows;
	size_t nr;

	if (binary_open(fd, &b))
		return -1;
	draw(b, vaddrs);
	began = seconds();
	if (!libdw_open(path, &f))
		return -1;
	if (!strcmp(part, "rows")) {
		for (size_t i = 0; i < f.nr_units; i++)
			if (dwarf_getsrclines(&f.units[i].root, &rows, &nr) == 0)
				nr_found += nr;
		return 0;
	}
	for (size_t i = 0; i < NR_ADDRESSES; i++) {
		libdw_resolve(&f, vaddrs[i], &answer);
		nr_found += answer.nr;
	}
	return 0;
}

static int read_our_cfi(int fd)
{
	struct cfi_file file;
	struct cfi_rows rows = {0};
	uint64_t steps = UINT64_MAX;

	began = seconds();
	if (!cfi_file_open(fd, &file) ||
	    cfi_read(&file.section, 0, UINT64_MAX, &steps, &rows) ||
	    cfi_rows_finish(&rows))
		return -1;
	nr_found = rows.nr;
	finish();
	for (size_t i = 0; i < rows.nr; i++)
		if (rows.items[i].rule.cfa != LB_CFA_NONE)
			printf("%" PRIx64 "\n", rows.items[i].vaddr);
	return 0;
}

static int read_libdw_cfi(int fd)
{
	static uint64_t starts[4u << 20];
	size_t nr = 0;
	Dwarf_Frame *frame;
	Dwarf_CFI *cfi;

	while (nr < ARRAY_SIZE(starts) && scanf("%" SCNx64, &starts[nr]) == 1)
		nr++;
	began = seconds();
	elf_version(EV_CURRENT);
	cfi = dwarf_getcfi_elf(elf_begin(fd, ELF_C_READ_MMAP, NULL));
	if (!cfi)
		return -1;
	for (size_t i = 0; i < nr; i++)
		if (dwarf_cfi_addrframe(cfi, starts[i], &frame) == 0) {
			nr_found++;
			free(frame);
		}
	finish();
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_close_ int fd = argc == 4 ? open(argv[3], O_RDONLY | O_CLOEXEC) : -1;
	bool ours;
	int r;

	if (fd < 0)
		return 2;
	ours = !strcmp(argv[1], "ours");
	if (!strcmp(argv[2], "cfi"))
		return (ours ? read_our_cfi(fd) : read_libdw_cfi(fd)) ? 1 : 0;
	r = ours ? read_ours(argv[2], argv[3], fd) : read_libdw(argv[2], argv[3], fd);
	finish();
	return r ? 1 : 0;
}
