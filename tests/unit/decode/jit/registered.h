/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects of tests/fixtures/jit, concatenated as the collector sends them. */
#ifndef LB_TESTS_SYMBOLIZE_JIT_REGISTERED_H
#define LB_TESTS_SYMBOLIZE_JIT_REGISTERED_H

#include <stdio.h>
#include <stdlib.h>

#include "serve.h"

#include "base/io.h"
#include "decode/jit/image.h"

#define FIXTURES "tests/fixtures/jit/"

struct registered_object {
	uint8_t *bytes; /* heap, owned */
	size_t len;
	uint64_t from_ns, until_ns, seen_ns;
	struct image_code code; /* its only piece of code */
};

struct registered {
	struct registered_object items[8];
	size_t nr;
};

static inline void registered_deinit(struct registered *r)
{
	for (size_t i = 0; i < r->nr; i++)
		free(r->items[i].bytes);
	*r = (struct registered){0};
}

/* Copies @bytes, and sets the address of its code to @ip unless that is 0. */
static inline struct registered_object *registered_add(struct registered *r,
						       const void *bytes, size_t len,
						       uint64_t from_ns,
						       uint64_t until_ns, uint64_t ip)
{
	struct registered_object *o = &r->items[r->nr++];
	struct image_code code[IMAGE_MAX_CODE];
	struct jit_image m;

	assert_true(r->nr <= 8);
	*o = (struct registered_object){malloc(len), len, from_ns, until_ns, 0, {0}};
	memcpy(o->bytes, bytes, len);
	if (!image_open(o->bytes, len, &m))
		return o;
	for (size_t i = 1; i < m.nr_sections && ip; i++) {
		Elf64_Shdr sh = image_section(&m, i);

		if (!(sh.sh_flags & SHF_EXECINSTR) || !sh.sh_size)
			continue;
		sh.sh_addr = ip;
		memcpy(o->bytes + m.header.e_shoff + i * sizeof(sh), &sh, sizeof(sh));
	}
	if (image_code(&m, code) == 1)
		o->code = code[0];
	return o;
}

static inline struct registered_object *registered_load(struct registered *r,
							const char *name,
							uint64_t from_ns,
							uint64_t until_ns, uint64_t ip)
{
	static uint8_t bytes[65536];
	char path[256];
	FILE *f;
	size_t len;

	snprintf(path, sizeof(path), FIXTURES "%s.o", name);
	f = fopen(path, "re");
	if (!f)
		fail_msg("no %s", path);
	len = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	return registered_add(r, bytes, len, from_ns, until_ns, ip);
}

static inline void registered_ask(const struct registered *r, const struct ask *asks,
				  size_t nr, struct served *ret)
{
	int fd = memfd_create("objects", MFD_CLOEXEC);
	struct wire_writer request = {0}, reply = {0};
	struct wire_reader in;
	uint64_t off = 0;

	served_deinit(ret);
	wire_put_u32(&request, (uint32_t)r->nr);
	for (size_t i = 0; i < r->nr; i++) {
		const struct registered_object *o = &r->items[i];

		assert_int_equal(write(fd, o->bytes, o->len), o->len);
		wire_put_u64(&request, off);
		wire_put_u64(&request, o->len);
		wire_put_u64(&request, o->from_ns);
		wire_put_u64(&request, o->until_ns);
		wire_put_u64(&request, o->seen_ns);
		off += o->len;
	}
	wire_put_u32(&request, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++) {
		wire_put_u64(&request, asks[i].ip);
		wire_put_u64(&request, asks[i].first_ns);
		wire_put_u64(&request, asks[i].last_ns);
	}
	in = (struct wire_reader){.data = request.data, .len = request.len};
	assert_int_equal(gdbjit_serve(NULL, &in, &fd, 1, &reply), 0);
	assert_false(in.failed);
	in = (struct wire_reader){.data = reply.data, .len = reply.len};
	ret->pool = strpool_new(16 << 20);
	ret->object_miss = (enum miss)wire_get_u32(&in);
	ret->nr_bad = wire_get_u64(&in);
	assert_int_equal(answers_read(&in, nr, ret->pool, &ret->answers), 0);
	assert_int_equal(in.pos, in.len);
	wire_writer_deinit(&request);
	wire_writer_deinit(&reply);
	close(fd);
}

/* Looks up the byte at @offset of object @i's code, at time 100. */
static inline const struct answer *registered_at(const struct registered *r, size_t i,
						 uint64_t offset, struct served *ret)
{
	const struct ask ask = {r->items[i].code.start_ip + offset, 100, 100};

	registered_ask(r, &ask, 1, ret);
	return &ret->answers.items[0];
}

#endif
