// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/frozen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/target_fd.h"
#include "process/table.h"

#define MAX_MODULE_BYTES 64
#define MAX_DIR_BYTES    1024
#define MAX_SOURCE_BYTES (1u << 20) /* Lib/importlib/_bootstrap_external.py: 70 KB */
#define NR_LIBS          2
#define NR_ENDINGS       2

static bool is_of_module(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_';
}

size_t python_frozen_module(const char *file, char *buf, size_t size)
{
	static const char begin[] = "<frozen ";
	size_t nr = 0;

	if (strncmp(file, begin, strlen(begin)) != 0)
		return 0;
	for (const char *c = file + strlen(begin); *c != '>'; c++) {
		bool is_dot = *c == '.' && nr && buf[nr - 1] != '/';

		if ((!is_dot && !is_of_module(*c)) || nr + 1 >= size)
			return 0;
		buf[nr++] = is_dot ? '/' : *c;
	}
	if (!nr || buf[nr - 1] == '/')
		return 0;
	buf[nr] = '\0';
	return nr;
}

/* Finds "python3.11" in "libpython3.11.so.1.0". Return: its length; 0: no version. */
static size_t versioned_name(const char *file_name, const char **ret)
{
	const char *end;

	*ret = file_name;
	if (!strncmp(file_name, "lib", 3))
		*ret += 3;
	if (strncmp(*ret, "python3.", 8) != 0)
		return 0;
	for (end = *ret + 8; *end >= '0' && *end <= '9'; end++)
		;
	if (end == *ret + 8)
		return 0;
	/* The library of free-threaded Python ends in "t". */
	return (size_t)(end - *ret) + (*end == 't');
}

/* The same in the path of a mapped file. */
static size_t interpreter_name(const char *mapped, const char **ret)
{
	const char *slash = strrchr(mapped, '/');

	return slash ? versioned_name(slash + 1, ret) : 0;
}

/* Returns the start of "/bin/" or of the last "/lib/". NULL: none. */
static const char *end_of_prefix(const char *path)
{
	static const char *const parts[] = {"/bin/", "/lib/", "/lib64/"};
	const char *last = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (const char *at = strstr(path, parts[i]); at;
		     at = strstr(at + 1, parts[i]))
			if (!last || at > last)
				last = at;
	return last;
}

size_t python_frozen_dir(const char *mapped, const char *lib, char *buf, size_t size)
{
	const char *name, *prefix = end_of_prefix(mapped);
	size_t len = interpreter_name(mapped, &name);
	int n;

	if (!len || !prefix)
		return 0;
	n = snprintf(buf, size, "%.*s/%s/%.*s", (int)(prefix - mapped), mapped, lib,
		     (int)len, name);
	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

static bool is_there(const struct process *proc, const char *path)
{
	_cleanup_target_fd_ int fd =
		process_open_in_root(proc, 0, path, MAX_SOURCE_BYTES, NULL);

	return fd >= 0;
}

static bool is_listed(const struct python_frozen *where, const char *path)
{
	unsigned int i = 0;

	while (i < where->nr && where->interpreters[i] != path)
		i++;
	return i < where->nr;
}

static void list_interpreters(const struct process *proc, struct python_frozen *where)
{
	const char *name;

	where->is_listed = true;
	for (size_t i = 0;
	     i < proc->maps.nr && where->nr < ARRAY_SIZE(where->interpreters); i++) {
		const struct mapping *m = &proc->maps.items[i];

		/*
		 * The name only: to look at whole paths takes long if there are many.
		 * A deleted file was replaced by another version, whose lines may
		 * differ.
		 */
		if (m->kind == MAPPING_FILE && !m->deleted &&
		    interpreter_name(m->path, &name) && !is_listed(where, m->path))
			where->interpreters[where->nr++] = m->path;
	}
}

/* Writes the path of @module at place @at. Return: its length; 0: there is no such place. */
static size_t put_place(const struct python_frozen *where, size_t at, const char *module,
			char *buf, size_t size)
{
	static const char *const libs[NR_LIBS] = {"lib", "lib64"};
	static const char *const endings[NR_ENDINGS] = {".py", "/__init__.py"};
	size_t folder = at / NR_ENDINGS;
	char dir[MAX_DIR_BYTES];
	int n;

	if (!python_frozen_dir(where->interpreters[folder / NR_LIBS],
			       libs[folder % NR_LIBS], dir, sizeof(dir)))
		return 0;
	n = snprintf(buf, size, "%s/%s%s", dir, module, endings[at % NR_ENDINGS]);
	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

/* Takes one of the places that may be searched. */
static bool take_place(const struct process *proc, struct python_frozen *where)
{
	/* Who had all of the opener's time does not get it back while this goes on. */
	if (where->places_left && !process_has_time(proc))
		where->places_left = 0;
	if (!where->places_left) {
		where->was_cut = true;
		return false;
	}
	where->places_left--;
	return true;
}

int python_frozen_find(const struct process *proc, struct python_frozen *where,
		       const char *file, char *buf, size_t size)
{
	char module[MAX_MODULE_BYTES];
	size_t n = 0;

	if (!python_frozen_module(file, module, sizeof(module)))
		return 0;
	if (!where->is_listed)
		list_interpreters(proc, where);
	while (!n && where->next < where->nr * NR_LIBS * NR_ENDINGS) {
		if (clock_now_ns() >= where->until_ns)
			return -EAGAIN;
		if (!take_place(proc, where))
			break;
		n = put_place(where, where->next++, module, buf, size);
		if (n && !is_there(proc, buf))
			n = 0;
	}
	where->next = 0;
	return (int)n;
}
