/* SPDX-License-Identifier: GPL-2.0-or-later */
/* annotate --asm: machine code under its source lines. */
#ifndef LB_RENDER_ASM_H
#define LB_RENDER_ASM_H

#include "render/json_value.h"
#include "render/render.h"

/** in->machine_code is not NULL. Return: as render_fn, or -ENOMEM. */
int render_asm(const struct render_input *in, const struct render_options *opts,
	       FILE *out);

/** The member "asm" of the JSON (docs/formats.md). */
json_t *asm_value(struct json_builder *b, const struct render_input *in);

#endif
