// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Texts of /proc/kallsyms and /proc/modules, with a NUL between them. Modules and BPF
 * programs have names that their authors chose. A symbol that is found begins at or below
 * the address.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/kallsyms.h"
#include "lib/cost.h"

#define NR_ADDRESSES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 30000, .per_byte = 20};

static int as_file(const uint8_t *text, size_t len)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	assert(fd >= 0 && write(fd, text, len) == (ssize_t)len &&
	       !lseek(fd, 0, SEEK_SET));
	return fd;
}

/* The addresses of lines, and some around them. */
static void look_up(const struct kallsyms *k, const char *text, const char *end)
{
	for (int i = 0; i < NR_ADDRESSES && text < end; i++) {
		uint64_t ip = strtoull(text, NULL, 16) + (uint64_t)(i % 4) * 0x3fff;
		const char *name = kallsyms_at(k, ip), *newline;
		struct kernel_symbol symbol;

		if (kallsyms_find(k, ip, &symbol)) {
			assert(symbol.start <= ip && symbol.name && symbol.module);
			assert(!name || symbol.start != ip || symbol.name == name);
		}
		newline = memchr(text, '\n', (size_t)(end - text));
		text = newline ? newline + 1 : end;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t len = nul ? (size_t)(nul - data) : size;
	struct strpool *pool = strpool_new(1 << 20);
	char *text = strndup((const char *)data, len);
	struct kallsyms_files files = {.symbols_fd = as_file(data, len),
				       .modules_fd = as_file(nul ? nul + 1 : data + len,
							     nul ? size - len - 1 : 0)};
	struct kallsyms *k = NULL;
	int rc;

	kallsyms_hash_modules(&files);
	rc = kallsyms_load(&files, pool, &k);
	assert(!rc || rc == -ENODATA || rc == -EACCES);
	if (!rc)
		look_up(k, text, text + len);
	kallsyms_free(k);
	strpool_free(pool);
	free(text);
	kallsyms_files_close(&files);
	return 0;
}
