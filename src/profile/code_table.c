// SPDX-License-Identifier: GPL-2.0-or-later
/* Machine code that a profile keeps (profile.h), bounded wherever it comes from. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "profile/profile.h"

static size_t code_bytes(const struct profile_code *code)
{
	return code->nr_rows * sizeof(*code->rows) + (code->bytes ? code->size_bytes : 0);
}

static bool is_sound(const struct profile *p, const struct profile_code *code)
{
	uint64_t at = code->address;

	if (!code->size_bytes || !code->nr_rows ||
	    code->address > UINT64_MAX - code->size_bytes ||
	    (code->mapping >= p->nr_mappings && code->mapping != PROFILE_NONE))
		return false;
	for (size_t i = 0; i < code->nr_rows; i++) {
		const struct profile_code_row *row = &code->rows[i];

		if (row->address < at ||
		    (row->function >= p->nr_functions && row->function != PROFILE_NONE))
			return false;
		at = row->address;
	}
	return at <= code->address + code->size_bytes;
}

int profile_add_code(struct profile *p, const struct profile_code *code)
{
	struct profile_extra *extra = &p->extra;
	_cleanup_free_ struct profile_code_row *rows = NULL;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct profile_code *added;

	if (code->nr_rows > PROFILE_MAX_CODE_BYTES / sizeof(*rows) ||
	    code->size_bytes > (code->bytes ? PROFILE_MAX_CODE_BYTES : UINT64_MAX) ||
	    code_bytes(code) > PROFILE_MAX_CODE_BYTES - extra->codes_bytes)
		return -ENOSPC;
	if (!is_sound(p, code))
		return -EINVAL;
	rows = calloc(code->nr_rows, sizeof(*rows));
	if (code->bytes)
		bytes = malloc(code->size_bytes);
	if (!rows || (code->bytes && !bytes) ||
	    vec_grow(&extra->codes, &extra->cap_codes, extra->nr_codes + 1,
		     sizeof(*extra->codes), 0))
		return -ENOMEM;
	memcpy(rows, code->rows, code->nr_rows * sizeof(*rows));
	if (bytes)
		memcpy(bytes, code->bytes, code->size_bytes);
	added = &extra->codes[extra->nr_codes++];
	*added = *code;
	added->rows = take_ptr(rows);
	added->bytes = take_ptr(bytes);
	extra->codes_bytes += code_bytes(added);
	return 0;
}
