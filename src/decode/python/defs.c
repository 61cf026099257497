// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/python/defs.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/strpool.h"
#include "decode/requests.h"

#define MAX_QUALNAME   1024
#define TAB_COLUMNS    8 /* as Python's tokenizer counts */
#define MAX_NAMES      65536 /* of one request */
#define MAX_POOL_BYTES (16u << 20)

struct def_scope {
	size_t indent; /* columns before "def" or "class" */
	size_t name_end; /* length of the qualified name up to here */
};

struct scan {
	const char *p, *end;
	uint32_t line;
	struct def_scope scopes[PYTHON_DEFS_MAX_DEPTH];
	size_t depth;
	char qualname[MAX_QUALNAME];
	struct python_def *defs;
	size_t nr_defs;
	bool *is_found;
};

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || (unsigned char)c >= 0x80;
}

static bool starts_with(const struct scan *s, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(s->end - s->p) >= len && !memcmp(s->p, text, len);
}

/* At an opening quote: moves after the closing one, or to the end of an open line. */
static void skip_string(struct scan *s)
{
	char quote = *s->p;
	bool triple = s->end - s->p >= 3 && s->p[1] == quote && s->p[2] == quote;

	s->p += triple ? 3 : 1;
	while (s->p < s->end) {
		char c = *s->p;

		if (c == '\n') {
			if (!triple)
				return;
			s->line++;
		} else if (c == '\\' && s->p + 1 < s->end) {
			s->line += s->p[1] == '\n';
			s->p++;
		} else if (c == quote && !triple) {
			s->p++;
			return;
		} else if (c == quote && s->end - s->p >= 3 && s->p[1] == quote &&
			   s->p[2] == quote) {
			s->p += 3;
			return;
		}
		s->p++;
	}
}

/* Moves to the beginning of the next logical line. */
static void skip_statement(struct scan *s)
{
	size_t brackets = 0;

	while (s->p < s->end) {
		char c = *s->p;

		if (c == '"' || c == '\'') {
			skip_string(s);
			continue;
		}
		if (c == '#') {
			while (s->p < s->end && *s->p != '\n')
				s->p++;
			continue;
		}
		if (c == '(' || c == '[' || c == '{')
			brackets++;
		else if ((c == ')' || c == ']' || c == '}') && brackets)
			brackets--;
		s->p++;
		if (c == '\\' && s->p < s->end && *s->p == '\n') {
			s->line++;
			s->p++;
		} else if (c == '\n') {
			s->line++;
			if (!brackets)
				return;
		}
	}
}

static size_t skip_indent(struct scan *s)
{
	size_t columns = 0;

	for (; s->p < s->end; s->p++) {
		if (*s->p == ' ')
			columns++;
		else if (*s->p == '\t')
			columns = (columns / TAB_COLUMNS + 1) * TAB_COLUMNS;
		else if (*s->p == '\f')
			columns = 0;
		else
			break;
	}
	return columns;
}

static bool skip_keyword(struct scan *s, const char *keyword)
{
	size_t len = strlen(keyword);

	if (!starts_with(s, keyword) || s->p + len == s->end ||
	    (s->p[len] != ' ' && s->p[len] != '\t'))
		return false;
	s->p += len;
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
		s->p++;
	return true;
}

static void note_def(struct scan *s, size_t len)
{
	for (size_t i = 0; i < s->nr_defs; i++) {
		if (strlen(s->defs[i].qualname) != len ||
		    memcmp(s->defs[i].qualname, s->qualname, len) != 0)
			continue;
		/* Defined twice: which one was compiled is not known. */
		s->defs[i].line = s->is_found[i] ? 0 : s->line;
		s->is_found[i] = true;
	}
}

/* After "def " or "class ": appends the name to the qualified name. */
static void enter(struct scan *s, size_t indent, bool is_def)
{
	size_t base = s->depth ? s->scopes[s->depth - 1].name_end : 0, len = base;
	const char *name = s->p;

	while (s->p < s->end && is_name_char(*s->p))
		s->p++;
	if (s->p == name || s->depth == PYTHON_DEFS_MAX_DEPTH ||
	    base + 1 + (size_t)(s->p - name) > sizeof(s->qualname))
		return;
	if (len)
		s->qualname[len++] = '.';
	memcpy(s->qualname + len, name, (size_t)(s->p - name));
	len += (size_t)(s->p - name);
	s->scopes[s->depth++] = (struct def_scope){indent, len};
	if (is_def)
		note_def(s, len);
}

static void scan_line(struct scan *s)
{
	size_t indent = skip_indent(s);

	/* Blank lines and comments end no block. */
	if (s->p == s->end || *s->p == '\n' || *s->p == '\r' || *s->p == '#')
		return;
	while (s->depth && s->scopes[s->depth - 1].indent >= indent)
		s->depth--;
	skip_keyword(s, "async");
	if (skip_keyword(s, "def"))
		enter(s, indent, true);
	else if (skip_keyword(s, "class"))
		enter(s, indent, false);
}

void python_defs_find(const char *text, size_t len, struct python_def *defs, size_t nr)
{
	_cleanup_free_ bool *is_found = calloc(nr + 1, sizeof(*is_found));
	struct scan s = {.p = text, .end = text + len, .line = 1, .defs = defs};

	for (size_t i = 0; i < nr; i++)
		defs[i].line = 0;
	if (!is_found)
		return;
	s.nr_defs = nr;
	s.is_found = is_found;
	while (s.p < s.end) {
		scan_line(&s);
		skip_statement(&s);
	}
}

static int read_names(struct wire_reader *r, struct strpool *pool,
		      struct python_def **ret, size_t *ret_nr)
{
	uint32_t nr = wire_get_u32(r);
	_cleanup_free_ struct python_def *defs = NULL;

	if (r->failed || nr > MAX_NAMES)
		return -EBADMSG;
	defs = calloc((size_t)nr + 1, sizeof(*defs));
	if (!defs)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		size_t len;
		const char *name = wire_get_str(r, &len);

		defs[i].qualname = strpool_add_n(pool, name, len);
	}
	if (r->failed)
		return -EBADMSG;
	*ret = take_ptr(defs);
	*ret_nr = nr;
	return 0;
}

int python_defs_serve(struct worker_call *call, struct wire_reader *request,
		      const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(MAX_POOL_BYTES);
	_cleanup_free_ struct python_def *defs = NULL;
	_cleanup_free_ char *text = NULL;
	size_t nr = 0, len = 0;
	int rc;

	(void)call;
	if (nr_fds < 1 || !pool)
		return pool ? -EINVAL : -ENOMEM;
	rc = read_names(request, pool, &defs, &nr);
	if (!rc)
		rc = io_read_all(fds[0], PYTHON_DEFS_MAX_BYTES, &text, &len);
	if (rc)
		return rc;
	python_defs_find(text, len, defs, nr);
	for (size_t i = 0; i < nr; i++)
		wire_put_u32(reply, defs[i].line);
	return 0;
}
