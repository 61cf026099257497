// SPDX-License-Identifier: GPL-2.0-or-later
/* Wire format: protobuf.dev/programming-guides/encoding. */
#include "profile/pprof_parts.h"

#include <errno.h>
#include <stdbool.h>

enum wire_type {
	WIRE_VARINT,
	WIRE_FIXED64,
	WIRE_BYTES,
	WIRE_FIXED32 = 5
};

static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	const uint8_t *p = *at;

	*ret = 0;
	for (unsigned int shift = 0; shift < 64 && p < end; shift += 7) {
		*ret |= (uint64_t)(*p & 0x7f) << shift;
		if (!(*p++ & 0x80)) {
			*at = p;
			return true;
		}
	}
	return false;
}

static bool skip_value(const uint8_t **at, const uint8_t *end, uint64_t type)
{
	uint64_t len;

	switch (type) {
	case WIRE_VARINT:
		return varint(at, end, &len);
	case WIRE_FIXED64:
		len = 8;
		break;
	case WIRE_FIXED32:
		len = 4;
		break;
	case WIRE_BYTES:
		if (!varint(at, end, &len))
			return false;
		break;
	default: /* groups never were in this format */
		return false;
	}
	if (len > (uint64_t)(end - *at))
		return false;
	*at += len;
	return true;
}

/* Steps over one field; *number is its number. */
static bool skip_field(const uint8_t **at, const uint8_t *end, uint64_t *number)
{
	uint64_t tag;

	if (!varint(at, end, &tag))
		return false;
	*number = tag >> 3;
	return *number && *number < (UINT64_C(1) << 29) && skip_value(at, end, tag & 7);
}

static bool is_wanted(uint64_t number, uint32_t wanted)
{
	if (number == PPROF_EXTRA_FIELD)
		return wanted & PPROF_WANT_EXTRA;
	return number < 32 && (wanted & PPROF_WANT(number));
}

int pprof_part_next(const uint8_t **at, const uint8_t *end, uint32_t wanted,
		    struct pprof_part *ret)
{
	const uint8_t *from = *at;
	size_t len = 0;

	while (*at < end && len < PPROF_PART_BYTES) {
		const uint8_t *field = *at;
		uint64_t number;

		if (!skip_field(at, end, &number))
			return -EBADMSG;
		if (is_wanted(number, wanted)) {
			if (!len)
				from = field;
			len = (size_t)(*at - from);
		} else if (len) {
			break; /* the run ended before this field, which is not wanted */
		}
	}
	*ret = (struct pprof_part){.data = from, .len = len};
	return len > 0;
}
