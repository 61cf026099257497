// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbolize/jit/code_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static void copy(char *to, const char *from, size_t len)
{
	if (len > CODE_NAME_MAX - 1)
		len = CODE_NAME_MAX - 1;
	memcpy(to, from, len);
	to[len] = '\0';
}

/* Kinds of code that V8 writes before the colon (src/logging/code-events.h). */
static const char *const v8_script_kinds[] = {"JS", "LazyCompile", "Function", "Eval",
					      "Script"};
static const char *const v8_other_kinds[] = {"Builtin", "BytecodeHandler", "RegExp",
					     "Stub",    "Handler",         "Callback"};

static bool is_kind(const char *raw, size_t len, const char *const *kinds, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (strlen(kinds[i]) == len && !memcmp(raw, kinds[i], len))
			return true;
	return false;
}

/* The number behind the last colon of text[0, *len); cuts it off. */
static bool cut_number(const char *text, size_t *len, uint32_t *ret)
{
	size_t at = *len;
	uint32_t value = 0;

	while (at && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	if (at == *len || *len - at > 9 || !at || text[at - 1] != ':')
		return false;
	for (size_t i = at; i < *len; i++)
		value = value * 10 + (uint32_t)(text[i] - '0');
	*len = at - 1;
	*ret = value;
	return true;
}

/* "work /path/app.js:10:5": the location is behind the last space. */
static void parse_v8_script(const char *name, size_t len, struct code_name *ret)
{
	static const char scheme[] = "file://";
	const char *space = memrchr(name, ' ', len);
	size_t name_len, place_len;
	const char *place;
	uint32_t line, column;

	if (!space) {
		copy(ret->function, name, len);
		return;
	}
	name_len = (size_t)(space - name);
	place = space + 1;
	place_len = len - name_len - 1;
	if (!cut_number(place, &place_len, &column) ||
	    !cut_number(place, &place_len, &line)) {
		copy(ret->function, name, len);
		return;
	}
	if (place_len > strlen(scheme) && !memcmp(place, scheme, strlen(scheme))) {
		place += strlen(scheme);
		place_len -= strlen(scheme);
	}
	copy(ret->file, place, place_len);
	ret->start_line = line;
	if (name_len)
		copy(ret->function, name, name_len);
	else
		copy(ret->function, "(anonymous)", strlen("(anonymous)"));
}

/* "py::work:/path/app.py" (Python/perf_trampoline.c): the file is absolute. */
static bool parse_cpython(const char *raw, size_t len, struct code_name *ret)
{
	const char *name = raw + 4, *colon;

	if (len < 4 || memcmp(raw, "py::", 4))
		return false;
	colon = memmem(name, len - 4, ":/", 2);
	if (!colon)
		return false;
	copy(ret->function, name, (size_t)(colon - name));
	copy(ret->file, colon + 1, len - (size_t)(colon + 1 - raw));
	return true;
}

void code_name_parse(const char *raw, size_t len, struct code_name *ret)
{
	const char *colon = memchr(raw, ':', len);
	size_t kind_len = colon ? (size_t)(colon - raw) : 0;

	ret->function[0] = ret->file[0] = '\0';
	ret->start_line = 0;
	ret->is_v8 = false;
	if (parse_cpython(raw, len, ret))
		return;
	if (is_kind(raw, kind_len, v8_script_kinds, ARRAY_SIZE(v8_script_kinds))) {
		const char *name = colon + 1;
		size_t name_len = len - kind_len - 1;

		ret->is_v8 = true;
		/* The tier: ~ interpreted, ^ baseline, + maglev, * optimised. */
		if (name_len && strchr("~^+*'", *name)) {
			name++;
			name_len--;
		}
		parse_v8_script(name, name_len, ret);
		return;
	}
	ret->is_v8 = is_kind(raw, kind_len, v8_other_kinds, ARRAY_SIZE(v8_other_kinds));
	copy(ret->function, raw, len);
}

struct frame code_name_frame(const struct code_name *name, const char *raw)
{
	return (struct frame){
		.function = name->function,
		.system_name = strcmp(name->function, raw) ? raw : "",
		.file = name->file,
		.start_line = name->start_line,
	};
}
