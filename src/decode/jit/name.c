// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/name.h"

#include <string.h>

#include "base/cleanup.h"

static const char anonymous[] = "(anonymous)";

static bool starts_with(const char *s, size_t len, const char *prefix)
{
	size_t n = strlen(prefix);

	return len >= n && !memcmp(s, prefix, n);
}

/*
 * Cuts ":123" off the end of the text: *len shrinks, *ret is the number.
 * Return: false, with nothing changed, when there is none (or it is 0 or huge).
 */
static bool cut_number(const char *s, size_t *len, char separator, uint32_t *ret)
{
	uint64_t value = 0, place = 1;
	size_t i = *len;

	while (i && s[i - 1] >= '0' && s[i - 1] <= '9' && place < 10000000000ULL) {
		value += place * (uint64_t)(s[--i] - '0');
		place *= 10;
	}
	if (i == *len || !i || s[i - 1] != separator || !value || value > INT32_MAX)
		return false;
	*len = i - 1;
	*ret = (uint32_t)value;
	return true;
}

/* Does a path start here? */
static bool is_path_start(const char *s, size_t len)
{
	return starts_with(s, len, "/") || starts_with(s, len, "node:") ||
	       starts_with(s, len, "file://");
}

/*
 * Finds the space between V8's function and file. Both may contain spaces ("get size",
 * "/My Files/x.js"): it must be the only one, or the only one before a path.
 * Return: its offset, or @len if it is not certain.
 */
static size_t v8_separator(const char *s, size_t len)
{
	size_t nr_spaces = 0, nr_paths = 0, space = len, path = len;

	for (size_t i = 0; i < len; i++) {
		if (s[i] != ' ')
			continue;
		nr_spaces++;
		space = i;
		if (is_path_start(s + i + 1, len - i - 1)) {
			nr_paths++;
			path = i;
		}
	}
	if (nr_paths)
		return nr_paths == 1 ? path : len;
	return nr_spaces == 1 ? space : len;
}

/* @s follows the tag: "*foo /app/x.js:12:5" */
static bool split_v8(const char *s, size_t len, struct jit_name *ret)
{
	uint32_t last = 0, line = 0, column = 0;
	bool baseline = false;
	size_t space;

	if (len && strchr("*+^~", s[0]) && s[0]) {
		baseline = s[0] == '^' || s[0] == '~';
		s++;
		len--;
	}
	if (!cut_number(s, &len, ':', &last))
		return false;
	if (cut_number(s, &len, ':', &line))
		column = last;
	else
		line = last; /* a single number is the line */
	space = v8_separator(s, len);
	if (space + 1 >= len)
		return false;
	ret->function = space ? s : anonymous;
	ret->function_len = space ? space : strlen(anonymous);
	ret->file = s + space + 1;
	ret->file_len = len - space - 1;
	ret->start_line = line;
	ret->start_column = column;
	ret->bytecode_positions = baseline;
	return true;
}

/* @s follows "py::". Qualified names contain no colon, paths may. */
static bool split_python(const char *s, size_t len, struct jit_name *ret)
{
	const char *colon = memchr(s, ':', len);

	if (!colon || colon == s || colon + 1 == s + len)
		return false;
	ret->function = s;
	ret->function_len = (size_t)(colon - s);
	ret->file = colon + 1;
	ret->file_len = len - ret->function_len - 1;
	return true;
}

/* "TRACE_7::/app/x.lua:3" */
static bool split_luajit(const char *s, size_t len, struct jit_name *ret)
{
	size_t digits = strlen("TRACE_"), file_len = len;
	uint32_t line;

	while (digits < len && s[digits] >= '0' && s[digits] <= '9')
		digits++;
	if (digits == strlen("TRACE_") || !starts_with(s + digits, len - digits, "::") ||
	    !cut_number(s, &file_len, ':', &line) || file_len <= digits + 2)
		return false;
	ret->function = s;
	ret->function_len = digits;
	ret->file = s + digits + 2;
	ret->file_len = file_len - digits - 2;
	ret->start_line = line;
	return true;
}

/* "TRACE-1$inner$4": has the line where the trace starts, but no file. */
static bool split_php(const char *s, size_t len, struct jit_name *ret)
{
	const char *dollar = memchr(s, '$', len);
	uint32_t line;

	if (!dollar || !cut_number(s, &len, '$', &line) || dollar + 1 >= s + len)
		return false;
	ret->function = dollar + 1;
	ret->function_len = (size_t)(s + len - dollar - 1);
	ret->start_line = line;
	return true;
}

/* "$lists:map/2" */
static bool split_erlang(const char *s, size_t len, struct jit_name *ret)
{
	const char *colon = memchr(s, ':', len);
	size_t digits = len;

	while (digits && s[digits - 1] >= '0' && s[digits - 1] <= '9')
		digits--;
	if (!colon || colon == s + 1 || digits == len || s[digits - 1] != '/' ||
	    s + digits - 1 <= colon + 1)
		return false;
	ret->function = s + 1;
	ret->function_len = len - 1;
	return true;
}

static const struct pattern {
	const char *prefix;
	bool keep_prefix; /* passed to @split, too */
	bool (*split)(const char *s, size_t len, struct jit_name *ret);
} patterns[] = {
	{"JS:", false, split_v8},       {"LazyCompile:", false, split_v8},
	{"Function:", false, split_v8}, {"Eval:", false, split_v8},
	{"Script:", false, split_v8},   {"py::", false, split_python},
	{"TRACE_", true, split_luajit}, {"TRACE-", true, split_php},
	{"$", true, split_erlang},
};

void jit_name_split(const char *raw, size_t len, struct jit_name *ret)
{
	*ret = (struct jit_name){.function = raw, .function_len = len};
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		const struct pattern *p = &patterns[i];
		size_t skip = p->keep_prefix ? 0 : strlen(p->prefix);

		if (starts_with(raw, len, p->prefix) &&
		    p->split(raw + skip, len - skip, ret))
			return;
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

const char *jit_path(struct strpool *pool, const char *file, size_t len)
{
	char path[JIT_NAME_MAX_BYTES];
	size_t n = 0;

	if (!starts_with(file, len, "file:///") || len > sizeof(path))
		return strpool_add_n(pool, file, len);
	for (size_t i = strlen("file://"); i < len; i++) {
		int high = i + 2 < len && file[i] == '%' ? hex_digit(file[i + 1]) : -1;
		int low = high >= 0 ? hex_digit(file[i + 2]) : -1;

		if (low < 0 || !(high | low)) {
			path[n++] = file[i];
			continue;
		}
		path[n++] = (char)(high << 4 | low);
		i += 2;
	}
	return strpool_add_n(pool, path, n);
}

struct frame jit_name_frame(const char *raw, struct strpool *pool)
{
	struct jit_name name;

	jit_name_split(raw, strlen(raw), &name);
	return (struct frame){
		.function = strpool_add_n(pool, name.function, name.function_len),
		.system_name = name.function == raw ? "" : raw,
		.file = jit_path(pool, name.file ? name.file : "", name.file_len),
		.start_line = name.start_line,
	};
}
