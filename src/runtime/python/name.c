// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/name.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/strpool.h"
#include "decode/answer.h"
#include "lineburn.h"
#include "process/process.h"
#include "runtime/python/frozen.h"

#define NR_PATHS_KEPT 16 /* paths cached per answer: its frames have few files */
#define MAX_PLACES    1024 /* searched for the files of frozen modules, per answer */
#define STEP_NS       UINT64_C(20000000) /* per call: opens no file after that */

static void put_text(struct wire_writer *w, const struct interp_text *t)
{
	wire_put_u8(w, t->width);
	wire_put_u8(w, t->is_cut);
	wire_put_bytes(w, t->bytes, t->len);
}

static bool begins_code(const struct runtime_frame *frames, size_t i)
{
	return !i || frames[i].code != frames[i - 1].code;
}

void python_put_frames(struct wire_writer *w, const struct runtime_frame *frames,
		       size_t nr)
{
	uint32_t code = 0, nr_codes = 0;

	for (size_t i = 0; i < nr; i++)
		nr_codes += begins_code(frames, i);
	wire_put_u32(w, nr_codes);
	for (size_t i = 0; i < nr; i++) {
		if (!begins_code(frames, i))
			continue;
		wire_put_u32(w, frames[i].code->version);
		wire_put_u32(w, frames[i].code->first_line);
		put_text(w, &frames[i].code->file);
		put_text(w, &frames[i].code->name);
		put_text(w, &frames[i].code->table);
	}
	wire_put_u32(w, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++) {
		code += i && begins_code(frames, i);
		wire_put_u32(w, code);
		wire_put_u32(w, LB_FRAME_INDEX(frames[i].frame));
	}
}

int python_name_frames(const struct runtime_naming *with,
		       const struct runtime_frame *frames, size_t nr, struct answers *ret)
{
	struct answers answers = {0};
	int err;

	(void)frames;
	if (wire_get_u32(with->reply) != MISS_NONE)
		return -ENODATA;
	err = answers_read(with->reply, nr, with->pool, &answers);
	if (err)
		return err == -EBADMSG ? -ENODATA : err;
	*ret = answers;
	return 0;
}

/* ---- files ---- */

struct file_search {
	struct python_frozen frozen;
	size_t nr_done; /* frames */
	const char *from[NR_PATHS_KEPT], *to[NR_PATHS_KEPT];
	size_t nr_kept; /* ever */
};

/*
 * Finds a code object's file. Modules and scripts have absolute names since 3.9; code
 * compiled from text has any name. Frozen modules have a file in Python's installation;
 * "<string>" and the like have none. Return: as python_frozen_find().
 */
static int find_path(const struct process *proc, const char *file,
		     struct python_frozen *frozen, char *buf, size_t size)
{
	int n;

	if (*file == '<')
		return python_frozen_find(proc, frozen, file, buf, size);
	if (!*file || *file == '/' || !proc->cwd)
		return 0;
	n = snprintf(buf, size, "%s/%s", proc->cwd[1] ? proc->cwd : "", file);
	return n > 0 && (size_t)n < size ? n : 0;
}

/* Return: 0 with its path, or itself, in *@file; -EAGAIN. */
static int make_absolute(const struct runtime_naming *with, struct file_search *s,
			 const char **file)
{
	char path[PATH_MAX], clean[PATH_MAX];
	size_t known = 0;
	int n;

	while (known < NR_PATHS_KEPT && s->from[known] != *file)
		known++;
	if (known == NR_PATHS_KEPT) {
		n = find_path(with->process, *file, &s->frozen, path, sizeof(path));
		if (n < 0)
			return n;
		known = s->nr_kept++ % NR_PATHS_KEPT;
		s->from[known] = s->to[known] = *file;
		if (n)
			s->to[known] = strpool_add(
				with->pool, path_clean(path, clean, sizeof(clean)));
	}
	*file = s->to[known];
	return 0;
}

int python_find_files(const struct runtime_naming *with, struct answers *answers,
		      void **state)
{
	struct file_search *s = *state;

	if (!s) {
		*state = s = calloc(1, sizeof(*s));
		if (!s)
			return -ENOMEM;
		s->frozen.places_left = MAX_PLACES;
	}
	if (!with->may_open)
		s->frozen.places_left = 0;
	s->frozen.until_ns = clock_now_ns() + STEP_NS;
	for (; s->nr_done < answers->nr_frames; s->nr_done++)
		if (make_absolute(with, s, &answers->frames[s->nr_done].file))
			return -EAGAIN;
	return s->frozen.was_cut;
}
