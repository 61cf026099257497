// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "decode/elf/names.h"

static const struct {
	const char *mangled, *readable;
} names[] = {
	/* C++ */
	{"_Z3fooi", "foo"},
	{"_ZN12_GLOBAL__N_13fooEv.isra.0", "(anonymous namespace)::foo"},
	{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()"},
	{"_ZNKSt8functionIFviEEclEi", "std::function<void (int)>::operator()"},
	{"_ZN3FoocviEv", "Foo::operator int"},
	{"_Z1fIiET_S0_", "f<int>"},
	{"_ZNSt6vectorIiSaIiEE9push_backEOi",
	 "std::vector<int, std::allocator<int> >::push_back"},
	/* Rust's legacy mangling, the default until 1.96: the hash is removed */
	{"_ZN2rv1m4work17h56f56aeae5d81b59E", "rv::m::work"},
	{"_ZN2rv4main28_$u7b$$u7b$closure$u7d$$u7d$17hcd661707d0e3c894E",
	 "rv::main::{{closure}}"},
	{"_ZN4main4main17h0123456789abcdefE.llvm.123456", "main::main"},
	/* Rust, v0 */
	{"_RINvNtCs3CUbr4axdjZ_2rv1m4worklEB4_", "rv::m::work::<i32>"},
	{"_RNCNvCs3CUbr4axdjZ_2rv4main0B3_", "rv::main::{closure#0}"},
	/* neither C++ nor Rust */
	{"main", NULL},
	{"foo.part.0", NULL},
	{"main.(*T).run", NULL},
	{"_start", NULL},
	{"_Z", NULL},
	{"_R", NULL},
	{"_RC0", NULL}, /* the empty name */
	{"_ZN", NULL},
	{"_ZN4core", NULL},
	{"", NULL},
};

static void test_names(void **state)
{
	char buf[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *got = demangle(names[i].mangled, buf, sizeof(buf));

		if (names[i].readable)
			assert_string_equal(got, names[i].readable);
		else
			assert_ptr_equal(got, names[i].mangled);
	}
}

static void test_output_is_cut(void **state)
{
	const char *name = "_ZNSt6vectorIiSaIiEE9push_backEOi";
	const char *whole = "std::vector<int, std::allocator<int> >::push_back";
	char buf[64];

	(void)state;
	assert_string_equal(demangle(name, buf, 20), "std::vector<int,...");
	assert_string_equal(demangle(name, buf, 6), "st...");
	assert_ptr_equal(demangle(name, buf, 4), name);
	assert_ptr_equal(demangle(name, buf, 0), name);
	assert_string_equal(demangle(name, buf, strlen(whole) + 1), whole);
}

/* f<P0, P1, ...>; Pn is a pointer to a function of two Pn-1: exponential output. */
static void test_exponential_name_is_stopped(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[2048] = "_Z1fIPFviiE", buf[512];
	clock_t start = clock();

	(void)state;
	for (int i = 1; i < 60; i++) {
		char next[64], ref[8];
		int id = 2 * i - 1; /* number of the previous pointer's substitution */

		if (id < 36)
			snprintf(ref, sizeof(ref), "%c", digits[id]);
		else
			snprintf(ref, sizeof(ref), "%c%c", digits[id / 36],
				 digits[id % 36]);
		snprintf(next, sizeof(next), "PFvS%s_S%s_E", ref, ref);
		strcat(name, next);
	}
	strcat(name, "Evv");
	assert_ptr_equal(demangle(name, buf, sizeof(buf)), buf);
	assert_int_equal(strlen(buf), sizeof(buf) - 1);
	assert_memory_equal(buf, "f<void (*)(int, int), void (*)(void (*)(int", 40);
	assert_true(clock() - start < CLOCKS_PER_SEC);
}

static const char *base36(int n, char ret[3])
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	snprintf(ret, 3, "%.1s%c", n < 36 ? "" : &digits[n / 36], digits[n % 36]);
	return ret;
}

/* f<@before Tn>(@params); Tn is a function of two Tn-1. None of them has a pack. */
static const char *with_uses(const char *before, int n, const char *params, char *ret,
			     size_t size)
{
	size_t len = (size_t)snprintf(ret, size, "_Z1fI%s", before);

	for (int i = 0; i < n; i++)
		len += (size_t)snprintf(ret + len, size - len, "Fv");
	len += (size_t)snprintf(ret + len, size - len, "FifE");
	for (int i = 0; i < n; i++)
		len += (size_t)snprintf(ret + len, size - len, "S%s_E",
					base36(i, (char[3]){0}));
	snprintf(ret + len, size - len, "Ev%s", params);
	return ret;
}

/* a::operator T<T<T ... <int>>>() */
static const char *with_templates(int n, char *ret, size_t size)
{
	size_t len = (size_t)snprintf(ret, size, "_ZN1acv");

	for (int i = 0; i < n; i++)
		len += (size_t)snprintf(ret + len, size - len, "T_I");
	len += (size_t)snprintf(ret + len, size - len, "i");
	for (int i = 0; i < n; i++)
		len += (size_t)snprintf(ret + len, size - len, "E");
	snprintf(ret + len, size - len, "Ev");
	return ret;
}

/* Nothing is printed meanwhile, so that a full buffer does not stop it. */
static void test_names_that_take_long_stay_mangled(void **state)
{
	static const char *const hiding[] = {"L1az9abcEDp", "Lf9abEDp", "Lu3E9Dp",
					     "C5Dp",        "v29Dp",    "DF16bDp",
					     "Z1fvE1x_5Dp"};
	char name[1024], buf[256];

	(void)state;
	with_uses("Dp", 10, "v", name, sizeof(name));
	assert_ptr_equal(demangle(name, buf, sizeof(buf)), buf);
	for (int n = 11; n < 60; n++) {
		with_uses("Dp", n, "v", name, sizeof(name));
		assert_ptr_equal(demangle(name, buf, sizeof(buf)), name);
	}
	/* What is hidden behind another number than the length of an identifier counts, too. */
	for (size_t i = 0; i < ARRAY_SIZE(hiding); i++) {
		with_uses(hiding[i], 20, "v", name, sizeof(name));
		assert_ptr_equal(demangle(name, buf, sizeof(buf)), name);
	}
	/* In an identifier it does not. */
	with_uses("N6spirit7isZeroDELj12E", 20, "v", name, sizeof(name));
	assert_ptr_equal(demangle(name, buf, sizeof(buf)), buf);
	assert_memory_equal(buf, "f<spirit::isZeroD, 12u, void (", 30);
	with_uses("", 60, "DpOT_", name, sizeof(name)); /* of a parameter */
	assert_ptr_equal(demangle(name, buf, sizeof(buf)), buf);
	with_uses("", 60, "DpT_IiE", name, sizeof(name));
	assert_ptr_equal(demangle(name, buf, sizeof(buf)), name);
	for (int n = 9; n < 40; n++) {
		with_templates(n, name, sizeof(name));
		assert_ptr_equal(demangle(name, buf, sizeof(buf)), name);
	}
	assert_string_equal(demangle("_RNvMINtC1a1bFG0_EuEu1f", buf, sizeof(buf)),
			    "<()>::f");
	snprintf(name, sizeof(name), "_RNvMINtC1a1bFGzzzzzzzz_EuEu1f");
	assert_ptr_equal(demangle(name, buf, sizeof(buf)), name);
}

/* For any bytes demangling ends, stays inside the buffer and terminates the string. */
static void test_hostile_names(void **state)
{
	static const char alphabet[] = "_ZRNIESTKPFvijbLXsr0123456789.$uh";
	char name[8192], buf[128];

	(void)state;
	srand(1);
	for (int round = 0; round < 20000; round++) {
		size_t len = 2 + (size_t)rand() % 60;

		strcpy(name, round & 1 ? "_Z" : "_R");
		for (size_t i = 2; i < len; i++)
			name[i] = alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
		name[len] = '\0';
		memset(buf, 'x', sizeof(buf));
		assert_true(strlen(demangle(name, buf, 100)) < 100);
		assert_int_equal(buf[100], 'x');
	}
	/* deeply nested pointers, up to the maximum length of names and above it */
	memset(name, 'P', sizeof(name));
	memcpy(name, "_Z1f", 4);
	name[4000] = 'i';
	name[4001] = '\0';
	assert_true(strlen(demangle(name, buf, sizeof(buf))) <= 4001);
	memset(name + 4000, 'P', 2000);
	strcpy(name + 6000, "i");
	assert_ptr_equal(demangle(name, buf, sizeof(buf)), name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_output_is_cut),
		cmocka_unit_test(test_exponential_name_is_stopped),
		cmocka_unit_test(test_names_that_take_long_stay_mangled),
		cmocka_unit_test(test_hostile_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
