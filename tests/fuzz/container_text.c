// SPDX-License-Identifier: GPL-2.0-or-later
/* Container lists and descriptions: only ids and names that fit are returned. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/container_name.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 5};

static void check(void *ctx, const char *id, const char *name)
{
	size_t len = strlen(name);

	(void)ctx;
	assert(container_is_hex_id(id) && len && len < CONTAINER_NAME_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[CONTAINER_NAME_BYTES], id[CONTAINER_HEX_ID_LEN + 1];
	const char *text = (const char *)data;
	char *file = malloc(size + 1);

	assert(file);
	container_names_in_storage(text, size, check, NULL);
	memset(id, 'a', CONTAINER_HEX_ID_LEN);
	id[CONTAINER_HEX_ID_LEN] = '\0';
	if (!container_name_in_docker(text, size, name))
		check(NULL, id, name);
	memcpy(file, data, size);
	file[size] = '\0';
	if (container_of_log(file, id, name))
		check(NULL, id, name);
	free(file);
	return 0;
}
