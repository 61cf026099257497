// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/hunk.h"

#include <ctype.h>
#include <string.h>

#include "render/figure.h"

#define MAX_DECORATOR_LINES 20 /* between the first line of a function and its name */

struct hunks hunks_of(const struct attribution *a, const struct attribution_file *f,
		      const struct render_options *opts)
{
	return (struct hunks){
		.attribution = a,
		.file = f,
		.min_share = opts->min_share,
		.context = f->source.found ? opts->context : 0,
	};
}

static bool is_hot(const struct hunks *h, const struct attribution_line *l)
{
	double self = share_of(h->attribution, &l->self);
	double total = share_of(h->attribution, &l->total);
	double share = self > total || h->by_self ? self : total;

	return share > 0 && share >= h->min_share && !l->left_out;
}

static size_t next_hot(const struct hunks *h, size_t i)
{
	while (i < h->file->nr_lines && !is_hot(h, &h->file->lines[i]))
		i++;
	return i;
}

bool hunks_next(struct hunks *h, struct hunk *ret)
{
	const struct attribution_file *f = h->file;
	size_t i = next_hot(h, h->next_hot);
	uint64_t line, last;

	if (i == f->nr_lines)
		return false;
	line = f->lines[i].line;
	*ret = (struct hunk){
		.file = f,
		.first = line > h->context ? line - h->context : 1,
		.first_hot = line,
		.function = f->lines[i].function,
		.function_line = f->lines[i].function_line,
	};
	/* A gap of one line would also take a row: show the line instead. */
	do {
		last = line + h->context;
		i = next_hot(h, i + 1);
		line = i < f->nr_lines ? f->lines[i].line : 0;
	} while (i < f->nr_lines && line <= last + h->context + (h->context ? 2 : 1));

	ret->last = last;
	ret->next_number = ret->first;
	while (h->next_line < f->nr_lines && f->lines[h->next_line].line < ret->first)
		h->next_line++;
	ret->next_line = h->next_line;
	h->next_hot = i;
	return true;
}

bool hunk_next_row(struct hunk *h, struct hunk_row *ret)
{
	const struct attribution_file *f = h->file;

	for (;;) {
		const struct attribution_line *line =
			h->next_line < f->nr_lines ? &f->lines[h->next_line] : NULL;
		const char *text = NULL;
		uint64_t number = h->next_number;

		/*
		 * After the text there are only lines with figures: skip to the next
		 * one.
		 */
		if (number > f->source.nr_lines) {
			if (!line)
				return false;
			number = line->line;
		}
		if (number > h->last)
			return false;
		h->next_number = number + 1;
		if (number <= f->source.nr_lines)
			text = f->source.lines[number - 1];
		if (line && line->line == number)
			h->next_line++;
		else
			line = NULL;
		if (!text && !line)
			continue;
		*ret = (struct hunk_row){(uint32_t)number, line, text};
		return true;
	}
}

/* "ns::List<int>::push<4>(int const&)" -> "push"; may be "" for an unusual name. */
static void bare_name(char *buf, size_t size, const char *function)
{
	size_t end = strcspn(function, "("), start;
	size_t depth = 0;

	for (; end; end--) { /* skips template arguments at the end */
		if (function[end - 1] == '>')
			depth++;
		else if (function[end - 1] == '<' && depth)
			depth--;
		else if (!depth)
			break;
	}
	for (start = end; start; start--)
		if (strchr(":. ", function[start - 1]))
			break;
	snprintf(buf, size, "%.*s", (int)(end - start), function + start);
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Does the text contain the whole word? "f" is not in "def". */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		if ((at == text || !is_name_char(at[-1]) || !is_name_char(*word)) &&
		    (!is_name_char(at[len]) || !is_name_char(word[len - 1])))
			return true;
	return false;
}

/*
 * Returns the first line of [first, last] that has the function's bare name; 0: none.
 */
static uint64_t find_name(const struct hunk *h, uint64_t first, uint64_t last)
{
	const struct attribution_source *source = &h->file->source;
	char name[256];

	bare_name(name, sizeof(name), h->function);
	for (uint64_t n = first; *name && n <= last && n <= source->nr_lines; n++)
		if (source->lines[n - 1] && has_word(source->lines[n - 1], name))
			return n;
	return 0;
}

bool hunk_shows_function(const struct hunk *h)
{
	return find_name(h, h->first, h->first_hot) != 0;
}

uint32_t hunk_declaration(const struct hunk *h)
{
	uint64_t last = (uint64_t)h->function_line + MAX_DECORATOR_LINES;

	if (!h->function_line || h->function_line >= h->first)
		return 0;
	return (uint32_t)find_name(h, h->function_line,
				   last < h->first ? last : h->first - 1);
}
