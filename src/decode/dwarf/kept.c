// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/kept.h"

#include <errno.h>
#include <sys/stat.h>

#include "decode/elf/binary.h"

struct kept_file {
	struct dwarf_source *dwarf; /* NULL: the place is free */
	struct binary *binary;
	struct stat is;
	uint64_t root; /* where further files were found */
	uint64_t used; /* number of the request that used it last */
	uint64_t bytes; /* of the heap */
};

/* A worker serves one request after another. */
static struct kept_file files[KEPT_MAX_FILES], *opened;
static uint64_t nr_requests;

static void drop(struct kept_file *f)
{
	if (!f->binary)
		return;
	dwarf_source_free(f->dwarf);
	binary_free(f->binary);
	*f = (struct kept_file){0};
}

static void drop_all(void)
{
	for (size_t i = 0; i < KEPT_MAX_FILES; i++)
		drop(&files[i]);
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size && is_same_time(&a->st_mtim, &b->st_mtim) &&
	       is_same_time(&a->st_ctim, &b->st_ctim);
}

/* Returns the place of the file, or else the one that was not used for longest. */
static struct kept_file *place_of(const struct stat *is, uint64_t root)
{
	struct kept_file *oldest = &files[0];

	for (size_t i = 0; i < KEPT_MAX_FILES; i++) {
		if (files[i].dwarf && files[i].root == root &&
		    is_same_file(&files[i].is, is))
			return &files[i];
		if (files[i].used < oldest->used)
			oldest = &files[i];
	}
	drop(oldest);
	return oldest;
}

static int open_file(struct kept_file *f, int fd, const struct stat *is,
		     dwarf_need_fn need, void *ctx)
{
	int err;

	f->is = *is;
	err = binary_open(fd, &f->binary);
	if (!err)
		err = dwarf_source_open(f->binary, need, ctx, &f->dwarf);
	if (err)
		drop(f);
	return err;
}

int kept_dwarf_open(int fd, uint64_t root, dwarf_need_fn need, void *ctx,
		    struct dwarf_source **ret)
{
	struct kept_file *f;
	struct stat is;
	int err = 0;

	nr_requests++;
	if (fstat(fd, &is))
		return -ENOMEM;
	f = place_of(&is, root);
	if (f->dwarf)
		dwarf_source_restart(f->dwarf, need, ctx);
	else
		err = open_file(f, fd, &is, need, ctx);
	if (err == -ENOMEM) {
		drop_all();
		err = open_file(f, fd, &is, need, ctx);
	}
	if (err)
		return err;
	f->root = root;
	f->used = nr_requests;
	opened = f;
	*ret = f->dwarf;
	return 0;
}

static void keep(struct kept_file *f, bool is_sound)
{
	f->bytes = dwarf_source_shrink(f->dwarf);
	if (!is_sound || !dwarf_source_is_whole(f->dwarf) || f->bytes > KEPT_MAX_BYTES)
		drop(f);
}

void kept_dwarf_done(bool is_sound)
{
	uint64_t bytes = 0;

	if (opened)
		keep(opened, is_sound);
	opened = NULL;
	for (size_t i = 0; i < KEPT_MAX_FILES; i++) {
		if (files[i].dwarf && nr_requests - files[i].used > KEPT_MAX_AGE)
			drop(&files[i]);
		bytes += files[i].bytes;
	}
	while (bytes > KEPT_MAX_BYTES) {
		struct kept_file *oldest = NULL;

		for (size_t i = 0; i < KEPT_MAX_FILES; i++)
			if (files[i].dwarf && (!oldest || files[i].used < oldest->used))
				oldest = &files[i];
		bytes -= oldest->bytes;
		drop(oldest);
	}
}
