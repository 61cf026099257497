// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/build_id.h"

#include <stdlib.h>
#include <string.h>

size_t build_id_parse(const char *hex, uint8_t ret[BUILD_ID_MAX_BYTES])
{
	size_t len = strlen(hex) / 2;

	if (strlen(hex) % 2 || len > BUILD_ID_MAX_BYTES ||
	    hex[strspn(hex, "0123456789abcdef")])
		return 0;
	for (size_t i = 0; i < len; i++) {
		char two[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

		ret[i] = (uint8_t)strtoul(two, NULL, 16);
	}
	return len;
}
