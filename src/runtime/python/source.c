// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/source.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "decode/python/defs.h"

#define MAX_DIRS    16
#define FUNCTION_NS UINT64_C(1000000000) /* per function: opens no file after that */
#define STEP_NS     UINT64_C(20000000) /* per call: opens no file after that */
#define MAX_PARTS   16 /* of a function's dotted name: a.b.c.f */

#define MAIN        "__main__"

struct def_search {
	const struct process *proc;
	struct strpool *pool;
	/* Directories to search for modules; strings are not terminated. */
	struct {
		const char *path;
		size_t len;
	} dirs[MAX_DIRS];
	size_t nr_dirs;
	const char *main_path; /* of __main__, absolute; NULL: not known */

	struct python_function *functions; /* heap */
	size_t nr, nr_done, nr_cut;

	/* functions[nr_done] */
	bool is_begun;
	uint64_t took_ns;
	char name[PATH_MAX];
	size_t module_len; /* the part of its name that is tried as a module; 0: none */
	size_t nr_tried; /* paths of that module, in the order of next_path() */
	char path[PATH_MAX]; /* the last one */
};

/* Does the option (without '-') take the next argument as its value? */
static bool takes_argument(const char *option, size_t len)
{
	static const char with_value[] = "WXQ";

	if (*option == '-')
		return len == strlen("-check-hash-based-pycs") &&
		       !memcmp(option, "-check-hash-based-pycs", len);
	return len && strchr(with_value, option[len - 1]) != NULL;
}

size_t python_source_main(const char *command, const char **ret, bool *ret_is_module)
{
	const char *end = strchr(command, '\n');
	bool skip = false;

	for (const char *arg = end ? end + 1 : ""; *arg; arg = end + 1) {
		size_t len;

		end = strchr(arg, '\n');
		if (!end)
			return 0;
		len = (size_t)(end - arg);
		if (skip) {
			skip = false;
			continue;
		}
		*ret = arg;
		*ret_is_module = false;
		if (len < 2 || *arg != '-')
			return len > 1 || (len == 1 && *arg != '-') ? len : 0;
		if (arg[1] == 'c')
			return 0;
		if (arg[1] == 'm') {
			*ret_is_module = true;
			*ret = len > 2 ? arg + 2 : end + 1;
			return len > 2 ? len - 2 : strcspn(end + 1, "\n");
		}
		skip = takes_argument(arg + 1, len - 1);
	}
	return 0;
}

static void add_dir(struct def_search *s, const char *path, size_t len)
{
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (!len || *path != '/' || s->nr_dirs == MAX_DIRS)
		return;
	for (size_t i = 0; i < s->nr_dirs; i++)
		if (s->dirs[i].len == len && !memcmp(s->dirs[i].path, path, len))
			return;
	s->dirs[s->nr_dirs].path = path;
	s->dirs[s->nr_dirs++].len = len;
}

/*
 * Adds the directories that contain packages: of ".../site-packages/numpy/core/x.so"
 * the part up to "site-packages".
 */
static void add_packages_dirs(struct def_search *s)
{
	static const char *const names[] = {"/site-packages/", "/dist-packages/"};

	for (size_t i = 0; i < s->proc->maps.nr; i++) {
		const char *path = s->proc->maps.items[i].path;

		for (size_t j = 0; j < ARRAY_SIZE(names); j++) {
			const char *found = strstr(path, names[j]);

			if (found)
				add_dir(s, path,
					(size_t)(found - path) + strlen(names[j]) - 1);
		}
	}
}

static void add_main(struct def_search *s)
{
	const char *cwd = s->proc->cwd ? s->proc->cwd : "";
	char path[PATH_MAX];
	const char *name;
	bool is_module;
	size_t len;
	int n;

	len = s->proc->command ? python_source_main(s->proc->command, &name, &is_module)
			       : 0;
	if (len && !is_module) {
		n = *name == '/' ? snprintf(path, sizeof(path), "%.*s", (int)len, name)
				 : snprintf(path, sizeof(path), "%s/%.*s", cwd, (int)len,
					    name);
		if (n > 0 && (size_t)n < sizeof(path) && *path == '/') {
			s->main_path = strpool_add(s->pool, path);
			add_dir(s, s->main_path,
				(size_t)(strrchr(s->main_path, '/') - s->main_path));
		}
	}
	/*
	 * Python searches the working directory only when it does not run a script
	 * file.
	 */
	if (!len || is_module)
		add_dir(s, cwd, strlen(cwd));
}

static bool is_in_main(const struct def_search *s)
{
	return !strncmp(s->name, MAIN ".", strlen(MAIN "."));
}

/* Removes "<locals>.": the decoder names "g" in "f" just "f.g". */
static void drop_locals(char *qualname)
{
	static const char locals[] = "<locals>.";
	char *found;

	while ((found = strstr(qualname, locals)))
		memmove(found, found + strlen(locals),
			strlen(found + strlen(locals)) + 1);
}

/* Returns how much of the first @len bytes of the name is before its last dot; 0: none. */
static size_t before_dot(const struct def_search *s, size_t len)
{
	const char *dot = memrchr(s->name, '.', len);

	return dot ? (size_t)(dot - s->name) : 0;
}

/* Prepares functions[nr_done]. One whose name no file can define has no module. */
static void begin_function(struct def_search *s)
{
	const char *name = s->functions[s->nr_done].name;
	size_t nr_parts = 0;

	s->is_begun = true;
	s->took_ns = s->nr_tried = s->module_len = 0;
	if (snprintf(s->name, sizeof(s->name), "%s", name) >= (int)sizeof(s->name) ||
	    strchr(s->name, '/'))
		return;
	drop_locals(s->name);
	for (const char *c = s->name; *c; c++)
		nr_parts += *c == '.';
	if (is_in_main(s))
		s->module_len = s->main_path ? strlen(MAIN) : 0;
	else if (nr_parts < MAX_PARTS)
		s->module_len = before_dot(s, strlen(s->name));
}

static void end_function(struct def_search *s)
{
	s->nr_done++;
	s->is_begun = false;
}

/* Writes the path of the module, with its dots, below a directory. Return: does it fit? */
static bool put_path(struct def_search *s, size_t dir, const char *ending)
{
	int n = snprintf(s->path, sizeof(s->path), "%.*s/%.*s%s", (int)s->dirs[dir].len,
			 s->dirs[dir].path, (int)s->module_len, s->name, ending);
	char *module = s->path + s->dirs[dir].len + 1;

	if (n < 0 || (size_t)n >= sizeof(s->path))
		return false;
	for (size_t i = 0; i < s->module_len; i++)
		if (module[i] == '.')
			module[i] = '/';
	return true;
}

/*
 * Writes the next path that may define the function. The longest existing module wins:
 * a.b.c.f is f of a/b/c.py. Return: false: there is none.
 */
static bool next_path(struct def_search *s)
{
	static const char *const endings[] = {".py", "/__init__.py"};

	if (is_in_main(s))
		return s->module_len && !s->nr_tried++ &&
		       snprintf(s->path, sizeof(s->path), "%s", s->main_path) > 0;
	while (s->module_len) {
		size_t nr = s->nr_tried++, dir = nr / ARRAY_SIZE(endings);

		if (dir < s->nr_dirs) {
			if (put_path(s, dir, endings[nr % ARRAY_SIZE(endings)]))
				return true;
			continue;
		}
		s->module_len = before_dot(s, s->module_len);
		s->nr_tried = 0;
	}
	return false;
}

/* Tries one path. Return: a descriptor, or -errno. */
static int open_next(struct def_search *s)
{
	if (!s->is_begun)
		begin_function(s);
	if (!next_path(s)) {
		end_function(s);
		return -ENOENT;
	}
	if (s->took_ns >= FUNCTION_NS) {
		s->nr_cut++;
		end_function(s);
		return -ETIMEDOUT;
	}
	return process_open_in_root(s->proc, 0, s->path, PYTHON_DEFS_MAX_BYTES, NULL);
}

int def_search_open(struct def_search *s, const char **ret_name)
{
	uint64_t begin_ns = clock_now_ns(), now_ns = begin_ns;

	while (s->nr_done < s->nr && now_ns < begin_ns + STEP_NS) {
		uint64_t before_ns = now_ns;
		int fd = open_next(s);

		now_ns = clock_now_ns();
		s->took_ns += now_ns - before_ns;
		if (fd >= 0) {
			*ret_name = s->name + s->module_len + 1;
			return fd;
		}
	}
	return s->nr_done < s->nr ? -EAGAIN : -ENODATA;
}

void def_search_answer(struct def_search *s, uint32_t line, uint64_t took_ns)
{
	struct python_function *f = &s->functions[s->nr_done];

	s->took_ns += took_ns;
	if (!line)
		return;
	f->line = line;
	f->file = strpool_add(s->pool, s->path);
	end_function(s);
}

void def_search_give_up(struct def_search *s)
{
	end_function(s);
}

bool def_search_is_over(const struct def_search *s)
{
	return s->nr_done == s->nr;
}

size_t def_search_nr_cut(const struct def_search *s)
{
	return s->nr_cut;
}

const struct python_function *def_search_functions(const struct def_search *s,
						   size_t *ret_nr)
{
	*ret_nr = s->nr;
	return s->functions;
}

struct def_search *def_search_new(const struct process *proc, struct strpool *pool,
				  struct python_function *functions, size_t nr)
{
	struct def_search *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->proc = proc;
	s->pool = pool;
	s->functions = functions;
	s->nr = nr;
	add_main(s);
	add_packages_dirs(s);
	return s;
}

void def_search_free(struct def_search *s)
{
	if (!s)
		return;
	free(s->functions);
	free(s);
}
