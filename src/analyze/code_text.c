// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/code_text.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/match.h"

#define MAX_NAME_BYTES 1024 /* of a function, with its modules; longer: not known */

static const struct syntax {
	const char *languages; /* each between spaces */
	const char *line_comment, *block_begin, *block_end;
} syntaxes[] = {
	{" python numba cython ruby perl julia nim elixir crystal ", "#", NULL, NULL},
	{" lua ", "--", "--[[", "]]"},
	{" haskell ", "--", "{-", "-}"},
	{" ada ", "--", NULL, NULL},
	{" fortran ", "!", NULL, NULL},
	{" erlang ", "%", NULL, NULL},
	{" clojure ", ";", NULL, NULL},
	{" ocaml ", NULL, "(*", "*)"},
	{" pascal ", "//", "{", "}"},
};

void code_text_init(struct code_text *t, const char *language)
{
	*t = (struct code_text){
		.line_comment = "//",
		.block_begin = "/*",
		.block_end = "*/",
		.is_python = match_word(language, " python numba cython "),
		.has_preprocessor =
			match_word(language, " c c++ objective-c objective-c++ cuda "),
	};
	for (size_t i = 0; i < ARRAY_SIZE(syntaxes); i++) {
		if (!match_word(language, syntaxes[i].languages))
			continue;
		t->line_comment = syntaxes[i].line_comment;
		t->block_begin = syntaxes[i].block_begin;
		t->block_end = syntaxes[i].block_end;
	}
}

void code_text_skip(struct code_text *t)
{
	t->in_block = false;
	t->triple = 0;
	t->depth = 0;
	t->nr_defs = 0;
}

static bool begins(const char *s, const char *with)
{
	return with && !strncmp(s, with, strlen(with));
}

static bool is_triple(const char *s, char quote)
{
	return s[0] == quote && s[1] == quote && s[2] == quote;
}

/* Skips the quoted string at @s; only the quote if it does not end on this line. */
static const char *skip_quoted(const char *s)
{
	const char *at = s + 1;

	while (*at && *at != *s)
		at += at[0] == '\\' && at[1] ? 2 : 1;
	return *at ? at + 1 : s + 1;
}

/* Skips the rest of a comment or a long string. Return: its end, or the line's end. */
static const char *skip_inside(struct code_text *t, const char *s)
{
	if (t->in_block) {
		const char *end = strstr(s, t->block_end);

		t->in_block = !end;
		return end ? end + strlen(t->block_end) : s + strlen(s);
	}
	for (; *s; s += s[0] == '\\' && s[1] ? 2 : 1)
		if (is_triple(s, t->triple)) {
			t->triple = 0;
			return s + 3;
		}
	return s;
}

/* The start of a line, without parts that never have code. */
struct line_start {
	char text[16]; /* first characters, without spaces */
	size_t len; /* of text; the rest of a long line is dropped */
};

static void add(struct line_start *words, char c)
{
	if (words->len < sizeof(words->text) - 1)
		words->text[words->len++] = c;
}

/* Does the line only begin or end a block? */
static bool is_only_structure(const struct line_start *words)
{
	static const char *const structure[] = {
		"",         "else",  "else:", "try",   "try:",   "finally",
		"finally:", "do",    "then",  "begin", "end",    "default:",
		"pass",     "endif", "fi",    "loop",  "unsafe",
	};

	for (size_t i = 0; i < ARRAY_SIZE(structure); i++)
		if (!strcmp(words->text, structure[i]))
			return true;
	return false;
}

static const char *scan_one(struct code_text *t, const char *s, struct line_start *words)
{
	if (t->in_block || t->triple) {
		if (t->triple && !t->triple_is_doc)
			add(words, '"');
		return skip_inside(t, s);
	}
	if (begins(s, t->block_begin)) {
		t->in_block = true;
		return s + strlen(t->block_begin);
	}
	if (begins(s, t->line_comment))
		return s + strlen(s);
	if (t->is_python && (is_triple(s, '"') || is_triple(s, '\''))) {
		t->triple = *s;
		t->triple_is_doc = !words->len && !t->depth;
		if (!t->triple_is_doc)
			add(words, '"');
		return s + 3;
	}
	if (*s == '"' || *s == '\'') {
		add(words, *s);
		return skip_quoted(s);
	}
	if (strchr("([{", *s))
		t->depth += t->is_python;
	else if (strchr(")]}", *s))
		t->depth -= t->is_python && t->depth > 0;
	else if (!strchr(" \t\r\f\v;,", *s))
		add(words, *s);
	return s + 1;
}

/*
 * Returns where the name begins in "def name(", "async def name(", "class name:"; NULL:
 * no definition.
 */
static const char *definition(const char *s)
{
	static const char *const words[] = {"async ", "def ", "class ", "cdef ",
					    "cpdef "};
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (begins(s, words[i])) {
			found = i > 0;
			s += strlen(words[i]);
			s += strspn(s, " \t");
		}
	return found ? s : NULL;
}

/* Updates the enclosing functions at a line that begins a statement. */
static void enter_statement(struct code_text *t, const char *line)
{
	const char *s = line + strspn(line, " \t\f"), *name = definition(s);
	size_t indent = 0;

	for (const char *c = line; c < s; c++)
		indent = *c == '\t' ? (indent / 8 + 1) * 8 : indent + 1;
	while (t->nr_defs && t->defs[t->nr_defs - 1].indent >= indent)
		t->nr_defs--;
	if (name && t->nr_defs < CODE_TEXT_MAX_DEFS)
		t->defs[t->nr_defs++] = (struct code_text_def){
			indent, name, strcspn(name, " \t(:[,\r\f")};
}

bool code_text_next(struct code_text *t, const char *line)
{
	const char *s = line + strspn(line, " \t\r\f\v");
	bool is_inside = t->in_block || t->triple || t->depth;
	struct line_start words = {0};

	if (t->is_python && !is_inside && *s && *s != '#')
		enter_statement(t, line);
	if (t->has_preprocessor && !is_inside && *s == '#')
		return false;
	while (*s)
		s = scan_one(t, s, &words);
	return !is_only_structure(&words);
}

bool code_text_is_of(const struct code_text *t, const char *function)
{
	const struct code_text_def *def;
	size_t end = 0, start;

	if (!t->is_python || !t->nr_defs)
		return true;
	while (end < MAX_NAME_BYTES && function[end] && !strchr("([", function[end]))
		end++;
	if (end == MAX_NAME_BYTES)
		return true;
	for (start = end; start && !strchr(". ", function[start - 1]); start--)
		;
	def = &t->defs[t->nr_defs - 1];
	return def->name_len == end - start &&
	       !strncmp(def->name, function + start, def->name_len);
}
