// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbolize/debugfile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/path.h"
#include "process/file.h"

enum search_root {
	ROOT_TARGET,
	/* our "/": only for paths made of debug_dir, build ids and base names */
	ROOT_OWN,
	ROOT_DEBUG_DIR, /* debug_dir as "/", so that ".." cannot leave it */
};

struct candidate {
	enum search_root root;
	char path[PATH_MAX]; /* "": skip this one */
};

/* Writes a path; "" if it is too long. */
__attribute__((format(printf, 3, 4))) static void candidate_set(struct candidate *c,
								enum search_root root,
								const char *fmt, ...)
{
	va_list args;
	int len;

	c->root = root;
	va_start(args, fmt);
	len = vsnprintf(c->path, sizeof(c->path), fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(c->path))
		c->path[0] = '\0';
}

static bool is_basename(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

/* Returns the length of an absolute path's directory, without the last '/'. */
static int dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) : 0;
}

/* Returns @path relative to debug_dir, "" if it is not below it. */
static const char *below_debug_dir(const struct debugfile_search *s, const char *path)
{
	size_t len = strlen(s->debug_dir);

	return !strncmp(path, s->debug_dir, len) && path[len] == '/' ? path + len : "";
}

static void by_build_id(const struct debugfile_search *s, const struct need *need,
			enum search_root root, struct candidate *ret)
{
	char hex[2 * sizeof(need->build_id) + 1];

	ret->path[0] = '\0';
	if (need->build_id_len < 2)
		return;
	for (size_t i = 0; i < need->build_id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", need->build_id[i]);
	candidate_set(ret, root, "%s/.build-id/%.2s/%s.debug", s->debug_dir, hex,
		      hex + 2);
}

/*
 * Each of the following functions writes candidate number @n for its kind of request.
 * Return: false if there are at most @n candidates.
 */
static bool build_id_candidate(const struct debugfile_search *s, const struct need *need,
			       unsigned int n, struct candidate *ret)
{
	if (n > 1)
		return false;
	by_build_id(s, need, n ? ROOT_OWN : ROOT_TARGET, ret);
	return true;
}

/* Same order as in GDB's manual, "Separate Debug Files". */
static bool link_candidate(const struct debugfile_search *s, const struct need *need,
			   unsigned int n, struct candidate *ret)
{
	const char *binary = s->binary_path;
	int dir = dir_len(binary);

	if (!is_basename(need->name) || binary[0] != '/')
		return false;
	switch (n) {
	case 0:
		candidate_set(ret, ROOT_TARGET, "%.*s/%s", dir, binary, need->name);
		return true;
	case 1:
		candidate_set(ret, ROOT_TARGET, "%.*s/.debug/%s", dir, binary,
			      need->name);
		return true;
	case 2:
	case 3:
		candidate_set(ret, n == 2 ? ROOT_TARGET : ROOT_OWN, "%s%.*s/%s",
			      s->debug_dir, dir, binary, need->name);
		return true;
	default:
		return false;
	}
}

/* A debug file from our root may only name files inside debug_dir. */
static void dwz_by_name(const struct debugfile_search *s, const char *name,
			struct candidate *ret)
{
	const char *origin = s->origin[0] ? s->origin : s->binary_path;

	ret->path[0] = '\0';
	if (!s->origin_is_own) {
		if (name[0] == '/')
			candidate_set(ret, ROOT_TARGET, "%s", name);
		else if (origin[0] == '/')
			candidate_set(ret, ROOT_TARGET, "%.*s/%s", dir_len(origin),
				      origin, name);
		return;
	}
	origin = below_debug_dir(s, origin);
	if (name[0] == '/')
		candidate_set(ret, ROOT_DEBUG_DIR, "%s", below_debug_dir(s, name));
	else if (origin[0])
		candidate_set(ret, ROOT_DEBUG_DIR, "%.*s/%s", dir_len(origin), origin,
			      name);
}

static bool dwz_candidate(const struct debugfile_search *s, const struct need *need,
			  unsigned int n, struct candidate *ret)
{
	const char *base = path_basename(need->name);

	if (!need->name[0])
		return false;
	ret->path[0] = '\0';
	switch (n) {
	case 0:
		dwz_by_name(s, need->name, ret);
		return true;
	case 1:
		candidate_set(ret, ROOT_DEBUG_DIR, "%s", below_debug_dir(s, need->name));
		return true;
	case 2:
		if (is_basename(base))
			candidate_set(ret, ROOT_DEBUG_DIR, "/.dwz/%s", base);
		return true;
	case 3:
	case 4:
		by_build_id(s, need, n == 3 ? ROOT_TARGET : ROOT_OWN, ret);
		return true;
	default:
		return false;
	}
}

static bool dwo_candidate(const struct debugfile_search *s, const struct need *need,
			  unsigned int n, struct candidate *ret)
{
	const char *base = path_basename(need->name);

	if (!need->name[0])
		return false;
	ret->path[0] = '\0';
	switch (n) {
	case 0:
		if (need->name[0] == '/')
			candidate_set(ret, ROOT_TARGET, "%s", need->name);
		else if (need->comp_dir[0] == '/')
			candidate_set(ret, ROOT_TARGET, "%s/%s", need->comp_dir,
				      need->name);
		return true;
	case 1: /* shipped next to the binary */
		if (is_basename(base) && s->binary_path[0] == '/')
			candidate_set(ret, ROOT_TARGET, "%.*s/%s",
				      dir_len(s->binary_path), s->binary_path, base);
		return true;
	default:
		return false;
	}
}

static bool dwp_candidate(const struct debugfile_search *s, const struct need *need,
			  unsigned int n, struct candidate *ret)
{
	(void)need;
	if (s->binary_path[0] != '/' || n > 1)
		return false;
	if (n)
		candidate_set(ret, ROOT_OWN, "%s%s.dwp", s->debug_dir, s->binary_path);
	else
		candidate_set(ret, ROOT_TARGET, "%s.dwp", s->binary_path);
	return true;
}

static const struct question {
	bool (*candidate)(const struct debugfile_search *s, const struct need *need,
			  unsigned int n, struct candidate *ret);
	bool goes_on; /* a repeated request means "not that one" */
	bool is_origin; /* the opened file may name further files */
} questions[] = {
	[NEED_DEBUG_BY_BUILD_ID] = {build_id_candidate, true, true},
	[NEED_DEBUG_BY_LINK] = {link_candidate, true, true},
	[NEED_DWZ] = {dwz_candidate, false, false},
	[NEED_DWO] = {dwo_candidate, false, false},
	[NEED_DWP] = {dwp_candidate, false, false},
};

static int try_candidate(struct debugfile_search *s, const struct candidate *c)
{
	struct safe_open how = {
		.root_fd = -1,
		.path = c->path,
		.max_bytes = DEBUGFILE_MAX_BYTES,
		.who = s->who,
	};
	int fd;

	switch (c->root) {
	case ROOT_TARGET:
		/*
		 * If the target's user is unknown, do not open the file with root's
		 * privileges.
		 */
		if (s->uid == (uid_t)-1)
			return -EPERM;
		how.root_fd = s->target_root_fd;
		how.flags = LOOK_AS_OWNER;
		how.uid = s->uid;
		how.gid = s->gid;
		how.root_uid = s->root_uid;
		break;
	case ROOT_OWN:
		how.root_fd = s->own_root_fd;
		break;
	case ROOT_DEBUG_DIR:
		how.root_fd = s->own_debug_fd;
		break;
	}
	if (how.root_fd < 0 || !c->path[0])
		return -ENOENT;
	fd = safe_open(&how, NULL);
	s->was_denied |= fd == -EACCES;
	log_debug("debug info of %s: %s%s: %s", s->binary_path,
		  c->root == ROOT_DEBUG_DIR ? s->debug_dir : "", c->path,
		  fd < 0 ? strerror(-fd) : "opened");
	return fd;
}

static void remember_origin(struct debugfile_search *s, const struct candidate *c)
{
	/* Both arrays have PATH_MAX bytes and c->path is terminated. */
	memcpy(s->origin, c->path, sizeof(s->origin));
	s->origin_is_own = c->root != ROOT_TARGET;
}

void debugfile_search_again(struct debugfile_search *s)
{
	s->last_question = 0;
	s->next_candidate = 0;
	s->origin[0] = '\0';
	s->origin_is_own = false;
}

int debugfile_open(void *ctx, const void *what, size_t len)
{
	struct debugfile_search *s = ctx;
	struct wire_reader r = {.data = what, .len = len};
	struct candidate c = {.path = ""};
	const struct question *q;
	uint64_t question = hash_bytes(0, what, len);
	unsigned int n = 0;
	struct need need;

	if (need_get(&r, &need))
		return -1;
	q = &questions[need.kind];
	if (q->goes_on && s->last_question == question)
		n = s->next_candidate;
	s->last_question = question;
	while (q->candidate(s, &need, n++, &c)) {
		int fd = try_candidate(s, &c);

		if (fd < 0)
			continue;
		s->next_candidate = n;
		if (q->is_origin)
			remember_origin(s, &c);
		return fd;
	}
	s->next_candidate = n;
	return -1;
}
