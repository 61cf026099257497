// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The environment of sudo, which root takes over for a command of the calling user: all of
 * its texts are there, and then a NULL.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launch/launch.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 6};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), **env, *at = text;
	size_t nr = 0;

	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	env = launch_split_environ(text, size);
	assert(env);
	for (; env[nr]; nr++) {
		assert(env[nr] == at);
		at += strlen(at) + 1;
	}
	assert(at == text + size || at == text + size + 1);
	free(env);
	free(text);
	return 0;
}
