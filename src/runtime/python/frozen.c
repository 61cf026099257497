// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/frozen.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/target_fd.h"
#include "process/table.h"

#define MAX_MODULE_BYTES 64
#define MAX_DIR_BYTES    1024
#define MAX_SOURCE_BYTES (1u << 20) /* Lib/importlib/_bootstrap_external.py: 70 KB */

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

static size_t find_below(const struct process *proc, const char *dir, const char *module,
			 char *buf, size_t size)
{
	static const char *const endings[] = {".py", "/__init__.py"};

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		int n = snprintf(buf, size, "%s/%s%s", dir, module, endings[i]);

		if (n > 0 && (size_t)n < size && is_there(proc, buf))
			return (size_t)n;
	}
	return 0;
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

size_t python_frozen_find(const struct process *proc, struct python_frozen *where,
			  const char *file, char *buf, size_t size)
{
	static const char *const libs[] = {"lib", "lib64"};
	char module[MAX_MODULE_BYTES], dir[MAX_DIR_BYTES];

	if (!python_frozen_module(file, module, sizeof(module)))
		return 0;
	if (!where->is_listed)
		list_interpreters(proc, where);
	for (size_t i = 0; i < where->nr; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(libs); j++) {
			size_t n = 0;

			if (!where->folders_left)
				return 0;
			where->folders_left--;
			if (python_frozen_dir(where->interpreters[i], libs[j], dir,
					      sizeof(dir)))
				n = find_below(proc, dir, module, buf, size);
			if (n)
				return n;
		}
	}
	return 0;
}
