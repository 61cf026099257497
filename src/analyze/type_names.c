// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/type_names.h"

#include <stdio.h>
#include <string.h>

#include "decode/numba/name.h"

/* Two that differ behind this have one name; such names are hundreds of bytes long. */
#define MAX_TYPES_BYTES 200

/* "__main__.dither(array(uint8, 2d, C))"; "work [_Z4workRK5Image]" where types cannot be read. */
static void describe(const struct profile_function *f, char *buf, size_t size)
{
	int max = MAX_TYPES_BYTES;
	char types[512];

	if (*numba_name_types(f->system_name, types, sizeof(types)))
		snprintf(buf, size, "%.500s%s", f->name, types);
	else /* a cut within a character is escaped when it is printed */
		snprintf(buf, size, "%.700s [%.*s%s]", f->name, max, f->system_name,
			 strlen(f->system_name) > MAX_TYPES_BYTES ? "..." : "");
}

void type_names_apply(struct profile *p)
{
	for (size_t i = 0; i < p->nr_functions; i++) {
		struct profile_function *f = &p->functions[i];
		char name[1024];

		if (!*f->system_name || f->system_name == f->name)
			continue;
		describe(f, name, sizeof(name));
		f->name = strpool_add(p->pool, name);
	}
}
