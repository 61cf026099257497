// SPDX-License-Identifier: GPL-2.0-or-later
/* The BPF programs for arm64, whatever this machine is: they compile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/btf.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/scratch.h"

static char folder[SCRATCH_BYTES];

static int make_folder(void **state)
{
	(void)state;
	scratch_make(folder, 0700);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

/* Compiles bpf/@name.bpf.c. Return: its types. */
static struct btf *compile(const char *name)
{
	char command[512], object[64];
	struct btf *types;

	snprintf(object, sizeof(object), "%s/%s.o", folder, name);
	snprintf(command, sizeof(command),
		 TEST_CLANG
		 " -g -O2 -target bpf -mcpu=v2 -D__TARGET_ARCH_arm64 -Iinclude "
		 "-Ivmlinux/arm64 -Ibpf -Wall -Werror -c -o %s bpf/%s.bpf.c",
		 object, name);
	assert_int_equal(system(command), 0);
	types = btf__parse_elf(object, NULL);
	assert_non_null(types);
	return types;
}

static void programs_compile(void **state)
{
	(void)state;
	btf__free(compile("jit"));
	btf__free(compile("sampler"));
}

/*
 * Before 5.15 the user registers are at the end of the kernel stack. The kernel's struct
 * has 336 bytes and begins with the 272 bytes of struct user_pt_regs. Only the running
 * kernel's type tells the size.
 */
static void size_of_saved_registers_is_the_kernels(void **state)
{
	struct btf *types = compile("sampler");

	(void)state;
	assert_true(btf__find_by_name_kind(types, "pt_regs", BTF_KIND_STRUCT) > 0);
	btf__free(types);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_compile),
		cmocka_unit_test(size_of_saved_registers_is_the_kernels),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
