// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a decoder finds in a file of a runtime, CPython above all. The input is the file's
 * path, a newline, and the file.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "decode/jit/interface.h"
#include "decode/python/build.h"
#include "decode/python/layout.h"
#include "decode/requests.h"
#include "decode/runtimes.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 5};

/* Copies the facts about one runtime. Return: is the file one of its files? */
static bool get_facts(struct wire_reader *reply, void *ret, size_t size)
{
	size_t len;
	const void *facts = wire_get_bytes(reply, &len);

	assert(!reply->failed && (!len || len == RUNTIME_FACTS_BYTES));
	memcpy(ret, facts, len ? size : 0);
	return len;
}

static void check(struct wire_reader *reply, bool is_elf, size_t size, const char *path)
{
	struct jit_interface jit;
	struct python_build python;

	assert(wire_get_u32(reply) == is_elf);
	_Static_assert(RUNTIME_JIT == 0 && RUNTIME_PYTHON == 1 && NR_RUNTIMES == 2,
		       "the order of the facts");
	if (get_facts(reply, &jit, sizeof(jit)))
		assert(is_elf && jit.register_off < size);
	if (get_facts(reply, &python, sizeof(python))) {
		if (python.version)
			assert(is_elf && python.version >= PYTHON_OLDEST &&
			       python.version <= PYTHON_NEWEST);
		else
			assert(is_elf && python_version_of_name(path) <= 0x0300 + 99);
		assert(python.eval_bytes || !python.eval_off);
	}
	assert(reply->pos == reply->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
	size_t path_len = newline ? (size_t)(newline - data) : 0;
	_cleanup_free_ char *path = newline ? strndup((const char *)data, path_len)
					    : NULL;
	struct wire_writer reply = {0};
	struct wire_reader r = {0};
	int fd;

	if (!path)
		return 0;
	size -= path_len + 1;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	if (write(fd, newline + 1, size) == (ssize_t)size) {
		assert(!inspect_serve(NULL, &r, &fd, 1, &reply));
		r = (struct wire_reader){.data = reply.data, .len = reply.len};
		check(&r, size >= 4 && !memcmp(newline + 1, "\177ELF", 4), size, path);
	}
	close(fd);
	wire_writer_deinit(&reply);
	return 0;
}
