// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbols of C++, Rust and Numba, and what runtimes call their code in maps. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "decode/elf/names.h"
#include "decode/jit/name.h"
#include "decode/numba/name.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 150000, .per_byte = 10};

static void check_numba(const char *symbol)
{
	char text[300], cut[7];
	struct numba_name name;
	const char *parfor = numba_name_parfor(symbol);

	assert(!parfor || (parfor >= symbol && parfor <= symbol + strlen(symbol)));
	assert(numba_name_nr_args(symbol) >= -1);
	assert(strlen(numba_name_types(symbol, text, sizeof(text))) < sizeof(text));
	assert(strlen(numba_name_types(symbol, cut, sizeof(cut))) < sizeof(cut));
	if (!numba_name_parse(symbol, &name))
		return;
	assert(strnlen(name.path, sizeof(name.path)) < sizeof(name.path));
	assert(name.types >= symbol && name.types <= symbol + strlen(symbol));
	assert(strlen(numba_name_text(&name, text, sizeof(text))) < sizeof(text));
	assert(strlen(numba_name_text(&name, cut, sizeof(cut))) < sizeof(cut));
	if (numba_name_is_generated(name.path))
		numba_name_generated(name.path, name.path, text, sizeof(text));
}

static void check_jit(const char *raw, size_t len)
{
	struct jit_name name;

	jit_name_split(raw, len, &name);
	assert(name.function_len <= JIT_NAME_MAX_BYTES || name.function_len <= len);
	/* Each byte is there: the sanitizer looks. */
	for (size_t i = 0; i < name.function_len; i++)
		assert(name.function[i] || memchr(raw, '\0', len));
	for (size_t i = 0; i < name.file_len; i++)
		assert(name.file >= raw && name.file + i < raw + len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), readable[1024];
	const char *name;

	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	name = demangle(text, readable, sizeof(readable));
	assert(name == text || (name == readable && strlen(name) < sizeof(readable)));
	check_numba(text);
	check_jit((const char *)data, size);
	free(text);
	return 0;
}
