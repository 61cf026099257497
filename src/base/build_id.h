/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A build id as a profile has it, in hexadecimal. */
#ifndef LB_BASE_BUILD_ID_H
#define LB_BASE_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_MAX_BYTES 32

/** Return: its bytes; 0 when @hex is none (other tools write other things there). */
size_t build_id_parse(const char *hex, uint8_t ret[BUILD_ID_MAX_BYTES]);

#endif
