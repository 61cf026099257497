// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/window_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/path.h"
#include "base/search.h"
#include "base/vec.h"

#define LAST_SECOND INT64_C(253402300799) /* of the year 9999, the last of four digits */

static const char suffix[] = ".pb.gz";

/* Returns the length of @output before ".pb.gz". */
static size_t stem_len(const char *output)
{
	size_t len = strlen(output), tail = sizeof(suffix) - 1;

	/* A name that is only ".pb.gz" is a hidden file: keep it. */
	if (len > tail && !strcmp(output + len - tail, suffix) &&
	    output[len - tail - 1] != '/')
		return len - tail;
	return len;
}

int window_path(const char *output, const struct window_id *id, char *ret, size_t size)
{
	time_t begin = (time_t)(id->begin_s < 0             ? 0
				: id->begin_s > LAST_SECOND ? LAST_SECOND
							    : id->begin_s);
	char stamp[32], number[16] = "";
	struct tm utc;
	int len;

	gmtime_r(&begin, &utc);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
	if (id->number > 1)
		snprintf(number, sizeof(number), "_%02u", id->number);
	len = snprintf(ret, size, "%.*s.%s%s%s", (int)stem_len(output), output, stamp,
		       number, suffix);
	if (len < 0 || (size_t)len >= size || strlen(path_basename(ret)) > NAME_MAX)
		return -ENAMETOOLONG;
	return 0;
}

/* @text is what follows "STEM.": "20261121T160000Z" and more. */
static bool read_stamp(const char *text, struct window_id *ret)
{
	struct tm utc = {0};
	const char *rest = strptime(text, "%Y%m%dT%H%M%SZ", &utc);
	unsigned int number = 1;

	if (!rest)
		return false;
	if (*rest == '_' && sscanf(rest + 1, "%5u", &number) != 1)
		return false;
	*ret = (struct window_id){.begin_s = timegm(&utc), .number = number};
	return true;
}

bool window_of_name(const char *output, const char *name, struct window_id *ret)
{
	const char *base = path_basename(output);
	size_t stem = stem_len(base);
	char again[NAME_MAX + 1];
	struct window_id id;

	if (strncmp(name, base, stem) != 0 || name[stem] != '.' ||
	    !read_stamp(name + stem + 1, &id))
		return false;
	/* Accept only names exactly as window_path() makes them. */
	if (window_path(base, &id, again, sizeof(again)) || strcmp(name, again) != 0)
		return false;
	*ret = id;
	return true;
}

int window_compare(const struct window_id *a, const struct window_id *b)
{
	if (a->begin_s != b->begin_s)
		return a->begin_s < b->begin_s ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static bool is_same_window(const struct window_turn *a, const struct window_turn *b)
{
	return a->window == b->window && (a->window || a->id.begin_s == b->id.begin_s);
}

/* Marks the files of all windows but the newest. */
static void mark_old_windows(struct window_turn *files, size_t nr, size_t keep)
{
	size_t nr_windows = 0;

	for (size_t i = nr; i--;) {
		if (i == nr - 1 || !is_same_window(&files[i], &files[i + 1]))
			nr_windows++;
		files[i].is_surplus = keep && nr_windows > keep;
	}
}

/* What the limit of bytes, or of files, counts. */
static uint64_t amount(const struct window_turn *files, size_t nr, bool in_bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < nr; i++)
		if (!files[i].is_surplus)
			sum += in_bytes ? files[i].bytes : 1;
	return sum;
}

/* Marks the oldest files of windows that have more than @part, until all have @max. */
static void mark_over(struct window_turn *files, size_t nr, bool in_bytes, uint64_t max,
		      uint64_t part)
{
	uint64_t sum = amount(files, nr, in_bytes);

	for (size_t begin = 0, end; begin < nr; begin = end) {
		uint64_t of_window;

		for (end = begin; end < nr && is_same_window(&files[begin], &files[end]);)
			end++;
		of_window = amount(files + begin, end - begin, in_bytes);
		for (size_t i = begin; i < end && i + 1 < nr; i++) {
			uint64_t nr_more = in_bytes ? files[i].bytes : 1;

			if (sum <= max || of_window <= part)
				break;
			if (files[i].is_surplus)
				continue;
			files[i].is_surplus = true;
			sum -= nr_more;
			of_window -= nr_more;
		}
	}
}

void window_find_surplus(struct window_turn *files, size_t nr, size_t keep,
			 uint64_t max_bytes)
{
	mark_old_windows(files, nr, keep);
	if (keep)
		mark_over(files, nr, false, keep * WINDOW_MAX_FILES, WINDOW_MAX_FILES);
	if (keep && max_bytes)
		mark_over(files, nr, true, max_bytes, max_bytes / keep);
	if (max_bytes)
		mark_over(files, nr, true, max_bytes, 0);
}

#define MAX_FILES (1u << 20) /* read in one folder */
/* Most names remembered when there are no limits. */
#define MAX_NAMES (1u << 16)

/* ---- files of this output that may be removed ---- */

/* Returns the index of the first turn at or after @id. */
static size_t find_turn(const struct window_files *w, const struct window_id *id)
{
	return SEARCH_FIRST(i, w->nr_turns, window_compare(&w->turns[i].id, id) >= 0);
}

static bool is_known(const struct window_files *w, size_t at, const struct window_id *id)
{
	return at < w->nr_turns && !window_compare(&w->turns[at].id, id);
}

static void remove_turn(struct window_files *w, size_t at)
{
	memmove(w->turns + at, w->turns + at + 1,
		(w->nr_turns - at - 1) * sizeof(*w->turns));
	w->nr_turns--;
}

static bool has_limits(const struct window_files *w)
{
	return w->keep || w->max_bytes;
}

static void forget_oldest_name(struct window_files *w)
{
	size_t oldest = 0;

	for (size_t i = 1; i < w->nr_turns; i++)
		if (w->turns[i].turn < w->turns[oldest].turn)
			oldest = i;
	remove_turn(w, oldest);
}

/* Out of memory: the file will not be removed. */
static void add_turn(struct window_files *w, const struct window_id *id)
{
	size_t at;

	if (!has_limits(w) && w->nr_turns >= MAX_NAMES)
		forget_oldest_name(w);
	at = find_turn(w, id);
	if (is_known(w, at, id))
		return;
	if (vec_grow(&w->turns, &w->cap_turns, w->nr_turns + 1, sizeof(*w->turns), 0))
		return;
	memmove(w->turns + at + 1, w->turns + at, (w->nr_turns - at) * sizeof(*w->turns));
	w->nr_windows += !id->goes_on;
	w->turns[at] = (struct window_turn){
		.id = *id, .turn = ++w->nr_written, .window = w->nr_windows};
	w->nr_turns++;
}

static int by_id(const void *a, const void *b)
{
	const struct window_turn *x = a, *y = b;

	return window_compare(&x->id, &y->id);
}

/* ---- listing the folder ---- */

/* Calls @fn for each window's file in the folder, until it returns an error. */
static int list(struct window_files *w,
		int (*fn)(struct window_files *w, const struct window_id *id,
			  uint64_t bytes))
{
	_cleanup_closedir_ DIR *dir = io_open_dir(w->folder.fd, ".");
	const struct dirent *entry;
	int rc = dir ? 0 : -errno;

	while (!rc && (entry = readdir(dir))) {
		struct window_id id;
		struct stat st;

		if (window_of_name(w->output, entry->d_name, &id) &&
		    !fstatat(w->folder.fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			rc = fn(w, &id, (uint64_t)st.st_size);
	}
	return rc;
}

static int name_of(const struct window_files *w, const struct window_id *id, char *path,
		   const char **ret_name)
{
	int rc = window_path(w->output, id, path, PATH_MAX);

	if (!rc)
		*ret_name = path_basename(path);
	return rc;
}

/* Is the recording that wrote the file still running? */
static bool has_writer(const struct window_files *w, const struct window_id *id)
{
	/* Only a write lock is in its way, which takes the right to write the file. */
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	const char *name;

	if (name_of(w, id, path, &name))
		return false;
	fd = openat(w->folder.fd, name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd >= 0 && !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

static int add_former(struct window_files *w, const struct window_id *id, uint64_t bytes)
{
	(void)bytes;
	if (vec_grow(&w->turns, &w->cap_turns, w->nr_turns + 1, sizeof(*w->turns),
		     MAX_FILES))
		return -ENOMEM;
	w->turns[w->nr_turns++] = (struct window_turn){.id = *id};
	return 0;
}

static bool is_any_written(const struct window_files *w)
{
	for (size_t i = 0; i < w->nr_turns; i++)
		if (has_writer(w, &w->turns[i].id))
			return true;
	return false;
}

/*
 * Adds the files of earlier runs, unless another recording still writes to this output.
 * That one may begin its next file and unlock the previous one between our listing and
 * our check, so repeats until no newer file appears.
 */
static int add_former_files(struct window_files *w)
{
	struct window_id newest = {.number = 0};
	bool is_shared = false;
	int rc = 0;

	while (!rc && !is_shared) {
		const struct window_id *last;

		w->nr_turns = 0;
		rc = list(w, add_former);
		if (rc || !w->nr_turns)
			break;
		qsort(w->turns, w->nr_turns, sizeof(*w->turns), by_id);
		last = &w->turns[w->nr_turns - 1].id;
		if (!window_compare(last, &newest))
			break;
		newest = *last;
		is_shared = is_any_written(w);
	}
	if (is_shared)
		log_warning("another recording also writes %s: this one does not remove "
			    "the files that are there now",
			    w->output);
	if (rc || is_shared)
		w->nr_turns = 0;
	return rc;
}

/* ---- the folder ---- */

static void close_folder(struct window_files *w)
{
	if (!w->is_open)
		return;
	io_folder_close(&w->folder);
	cleanup_closep(&w->newest_fd);
	w->is_open = false;
	w->nr_turns = 0;
}

void window_files_deinit(struct window_files *w)
{
	close_folder(w);
	free(w->turns);
	w->turns = NULL;
	w->nr_turns = w->cap_turns = 0;
}

static void begin_folder(struct window_files *w)
{
	int rc;

	w->newest_fd = -1;
	w->nr_turns = 0;
	w->is_open = true;
	rc = has_limits(w) ? add_former_files(w) : 0;
	if (rc)
		log_warning("cannot list the files beside %s: %s", w->output,
			    strerror(-rc));
}

int window_files_open(struct window_files *w)
{
	struct io_folder now;
	int rc = io_folder_open(w->output, &now);

	if (rc)
		return rc;
	if (w->is_open && io_is_same_file(now.fd, w->folder.fd)) {
		io_folder_close(&now);
		return 0;
	}
	close_folder(w);
	w->folder = now;
	begin_folder(w);
	return 0;
}

static int use_folder(struct window_files *w)
{
	int before = w->folder.fd, rc;

	if (!w->is_open)
		return window_files_open(w);
	rc = io_folder_use(&w->folder);
	if (!rc && w->folder.fd != before) {
		cleanup_closep(&w->newest_fd);
		begin_folder(w);
	}
	return rc;
}

/* ---- pruning ---- */

static int by_age(const void *a, const void *b)
{
	const struct window_turn *x = a, *y = b;

	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	return window_compare(&x->id, &y->id);
}

static int note_size(struct window_files *w, const struct window_id *id, uint64_t bytes)
{
	size_t at = find_turn(w, id);

	if (is_known(w, at, id)) {
		w->turns[at].is_there = true;
		w->turns[at].bytes = bytes;
	}
	return 0;
}

/* Lists the existing files; forgets files that others have removed. */
static int list_existing(struct window_files *w)
{
	size_t nr = 0;
	int rc;

	for (size_t i = 0; i < w->nr_turns; i++)
		w->turns[i].is_there = false;
	rc = list(w, note_size);
	if (rc)
		return rc;
	for (size_t i = 0; i < w->nr_turns; i++)
		if (w->turns[i].is_there)
			w->turns[nr++] = w->turns[i];
	w->nr_turns = nr;
	return 0;
}

static int remove_file(struct window_files *w, const struct window_id *id)
{
	char path[PATH_MAX];
	const char *name;

	if (name_of(w, id, path, &name))
		return 0;
	if (unlinkat(w->folder.fd, name, 0) && errno != ENOENT)
		return -errno;
	remove_turn(w, find_turn(w, id));
	return 0;
}

/* Removes the files over the limits. @disk_is_full  one at least */
static int prune(struct window_files *w, bool disk_is_full)
{
	_cleanup_free_ struct window_turn *files = NULL;
	int rc = list_existing(w);
	size_t nr = w->nr_turns;

	if (rc || !nr)
		return rc;
	files = calloc(nr, sizeof(*files));
	if (!files)
		return -ENOMEM;
	memcpy(files, w->turns, nr * sizeof(*files));
	qsort(files, nr, sizeof(*files), by_age);
	window_find_surplus(files, nr, w->keep, w->max_bytes);
	if (disk_is_full)
		mark_over(files, nr, false, nr - 1, WINDOW_MAX_FILES);
	if (disk_is_full && amount(files, nr, false) == nr)
		files[0].is_surplus = true;
	for (size_t i = 0; i < nr; i++) {
		int failed = files[i].is_surplus ? remove_file(w, &files[i].id) : 0;

		if (failed)
			rc = failed;
	}
	return rc;
}

/* ---- a window ---- */

/* Writes under the first free name, or replaces the file of that name. */
static int write_named(struct window_files *w, struct window_id *id, bool may_replace,
		       const void *data, size_t len, int *ret_fd)
{
	char path[PATH_MAX];
	const char *name;
	int rc;

	for (; id->number <= WINDOW_MAX_NUMBER; id->number++) {
		rc = name_of(w, id, path, &name);
		if (rc)
			return rc;
		if (!may_replace &&
		    (is_known(w, find_turn(w, id), id) ||
		     !faccessat(w->folder.fd, name, F_OK, AT_SYMLINK_NOFOLLOW)))
			continue;
		rc = io_write_file_at(w->folder.fd, name, data, len, may_replace, ret_fd);
		if (rc != -EEXIST || may_replace)
			return rc;
	}
	return -EEXIST;
}

static int write_window(struct window_files *w, struct window_id *id, bool may_replace,
			const void *data, size_t len)
{
	int fd = -1, rc = write_named(w, id, may_replace, data, len, &fd);

	/*
	 * The disk is full: remove the file that goes next anyway, and retry.
	 */
	if ((rc == -ENOSPC || rc == -EDQUOT) && has_limits(w) && !prune(w, true))
		rc = write_named(w, id, may_replace, data, len, &fd);
	if (rc)
		return rc;
	cleanup_closep(&w->newest_fd);
	w->newest_fd = fd;
	add_turn(w, id);
	w->last = *id;
	return w->group_reads && fchmod(fd, 0640) ? -errno : 0;
}

int window_files_write(struct window_files *w, int64_t begin_s, struct window_id *id,
		       const void *data, size_t len, struct error *err)
{
	struct window_id wanted = {
		.begin_s = begin_s, .number = 1, .goes_on = id->goes_on};
	int rc = use_folder(w);

	if (id->goes_on && w->last.number)
		wanted.begin_s = w->last.begin_s;
	/* A name that was removed is not given again. */
	if (wanted.begin_s == w->last.begin_s)
		wanted.number = w->last.number + 1;
	if (id->number)
		wanted = *id;
	if (!rc)
		rc = write_window(w, &wanted, id->number, data, len);
	if (rc) {
		errno = -rc;
		return error_set(err, rc,
				 "cannot write a window's file beside %s: %m; nothing "
				 "was left behind, choose another place with -o",
				 w->output);
	}
	*id = wanted;
	rc = has_limits(w) ? prune(w, false) : 0;
	if (rc)
		log_warning("cannot remove old files beside %s: %s", w->output,
			    strerror(-rc));
	return 0;
}
