// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/numba/name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TAGS "B2v4B54c8tJTC_2fWwGaMLSgd6CjA4xXKR0tsqKIYSQsqDQwVMEsTAA_3d_3d"

/* Symbols of Numba 0.56, 0.60 and 0.68; TAGS stands for their ABI tags. */
static void symbols_of_numba_are_readable(void **state)
{
	static const struct {
		const char *symbol, *text, *types;
	} rows[] = {
		{"_ZN8__main__6dither" TAGS "E5ArrayIhLi2E1C7mutable7alignedE",
		 "__main__.dither", "(array(uint8, 2d, C))"},
		{"_ZN7cpython8__main__6dither" TAGS "E5ArrayIhLi2E1C7mutable7alignedE",
		 "__main__.dither (call from Python)", "(array(uint8, 2d, C))"},
		{"cfunc._ZN8__main__9integrand" TAGS "Ed",
		 "__main__.integrand (call from C)", "(float64)"},
		{"__ufunc__._ZN8__main__4vadd" TAGS "Edd", "__main__.vadd (ufunc loop)",
		 "(float64, float64)"},
		{"__gufunc__._ZN8__main__4gadd" TAGS
		 "E5ArrayIdLi1E1A7mutable7alignedE5ArrayIdLi1E1A8readonly10nonalignedE",
		 "__main__.gadd (gufunc loop)",
		 "(array(float64, 1d, A), array(float64, 1d, A, readonly, nonaligned))"},
		{"_ZN5numba7cpython7numbers14int_power_impl12_3clocals_3e9int_power" TAGS
		 "Edx",
		 "numba.cpython.numbers.int_power_impl.<locals>.int_power",
		 "(float64, int64)"},
		{"_ZN8__main__3Bag4fill" TAGS "EN8instance8jitclass14Bag_237f4ed_3eEd",
		 "__main__.Bag.fill", "(instance.jitclass.Bag#7f4ed>, float64)"},
		{"_ZN13_3cdynamic_3e4bare" TAGS "Ex", "bare", "(int64)"},
		{"_ZN8__main__3gen4nextE41int64_20generator_28func_3d_3cfunction_20",
		 "__main__.gen", "(int64 generator(func=<function )"},
		{"finalize__ZN8__main__3gen4nextE41int64_20generator_28func_3d_"
		 "3cfunction_20",
		 "__main__.gen (finalizer)", "(int64 generator(func=<function )"},
		{"_ZN5numba2np8arrayobj11ol_np_empty12_3clocals_3e4impl" TAGS
		 "E8UniTupleIxLi1EE18dtype_28float64_29",
		 "numba.np.arrayobj.ol_np_empty.<locals>.impl",
		 "(UniTuple(int64, 1), dtype(float64))"},
		{"_Z3foo" TAGS "xDhb", "foo", "(int64, float16, bool)"},
		{"_ZN7cpython3fooE" TAGS "x", "foo (call from Python)", "(int64)"},
		/* not escapes */
		{"_ZN8__main__7add_24hEx", "__main__.add_24h", "(int64)"},
		{"_ZN8__main__5v_3cxEx", "__main__.v_3cx", "(int64)"},
		{"_ZN8__main__8f_c3_a9_Ex", "__main__.f\xc3\xa9_", "(int64)"},
		{"_ZN8__main__5f_c3bEx", "__main__.f_c3b", "(int64)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buf[NUMBA_NAME_MAX];
		struct numba_name name;

		if (!numba_name_parse(rows[i].symbol, &name))
			fail_msg("row %zu is not read", i);
		assert_string_equal(numba_name_text(&name, buf, sizeof(buf)),
				    rows[i].text);
		assert_string_equal(numba_name_types(rows[i].symbol, buf, sizeof(buf)),
				    rows[i].types);
	}
}

static void other_symbols_are_not_numbas(void **state)
{
	static const char *const symbols[] = {
		"",          "_Z",       "_ZN",        "main",      "_ZN8__main__",
		"_ZN99xE",   "_ZN3fooI", "TRACE_7",    "_Z999x",    "cfunc.",
		"_ZN3fooIE", "_ZNE",     "_ZN1aB9tag", "finalize_", ".kernel.12_",
	};
	struct numba_name name;

	(void)state;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (numba_name_parse(symbols[i], &name))
			fail_msg("%s is read as %s", symbols[i], name.path);
	/* C++ symbols look the same: they are not certain to be Numba's. */
	assert_true(numba_name_parse("_ZN2ns4workEv", &name));
	assert_false(name.certain);
	assert_true(numba_name_parse("_ZN8__main__1f" TAGS "Ev", &name));
	assert_true(name.certain);
}

static void types_that_cannot_be_read_are_empty(void **state)
{
	static const char *const symbols[] = {
		"_ZN1a1bE5ArrayIhLi2E", "_ZN1a1bEQ",        "_ZN1a1bE99x",
		"_ZN1a1bELf1E",         "_ZN1a1bE1xIiE1xI",
	};
	char buf[64], deep[400] = "_ZN1a1bE";

	(void)state;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		assert_string_equal(numba_name_types(symbols[i], buf, sizeof(buf)), "");
		assert_int_equal(numba_name_nr_args(symbols[i]), -1);
	}
	for (int i = 0; i < 100; i++)
		strcat(deep, "1xI");
	assert_string_equal(numba_name_types(deep, buf, sizeof(buf)), "");
	assert_int_equal(numba_name_nr_args("_ZN1a1bE"), 0);
	assert_int_equal(numba_name_nr_args("_ZN1a1bEdd5ArrayIhLi2E1C7mutable7alignedE"),
			 3);
}

static void long_names_are_cut(void **state)
{
	const char *symbol = "_ZN8__main__6ditherB2v1Exxxxxxxxxxxx";
	struct numba_name name;
	char buf[12];

	(void)state;
	assert_true(numba_name_parse(symbol, &name));
	assert_string_equal(numba_name_text(&name, buf, sizeof(buf)), "__main__.di");
	assert_string_equal(numba_name_types(symbol, buf, sizeof(buf)), "(int64, int");
	/* Not truncated within a character. */
	assert_true(numba_name_parse("_ZN8__main__8xy_c3_a9E", &name));
	assert_string_equal(numba_name_text(&name, buf, sizeof(buf)), "__main__.xy");
	/* What follows a character without room does not take its place. */
	assert_string_equal(numba_name_types("_ZN1a1bE8x_c3_a9z", buf, 4), "(x");
	assert_string_equal(numba_name_types("_ZN1a1bE8x_c3_a9z", buf, 7), "(x\u00e9z)");
}

static void generated_functions_are_known(void **state)
{
	char buf[64];

	(void)state;
	assert_true(numba_name_is_generated("__numba_array_expr_0x7f8f6d5955a0"));
	assert_false(numba_name_is_generated("_ZN8__main__6ditherB2v1Ex"));
	assert_string_equal(
		numba_name_generated("__numba_array_expr_0x7f8", "p", buf, sizeof(buf)),
		"array expression");
	assert_string_equal(
		numba_name_generated(
			"_ZN13_3cdynamic_3e36__numba_parfor_gufunc_0x7f4edf41d890",
			"prange in psum", buf, sizeof(buf)),
		"prange in psum");
	assert_string_equal(
		numba_name_generated("jit_wrapper__function_round__at_0x7f8f7a3fb250_",
				     "p", buf, sizeof(buf)),
		"wrapper of round");
	/* All symbols of one prange have the same text in them. */
	assert_string_equal(
		numba_name_parfor(
			"cfunc._ZN13_3cdynamic_3e36__numba_parfor_gufunc_0x7f4B3v12Ex"),
		numba_name_parfor(".kernel.13_gufunc__._ZN13_3cdynamic_3e36"
				  "__numba_parfor_gufunc_0x7f4B3v12Ex"));
	assert_null(numba_name_parfor("_ZN8__main__4psumB3v10Ex"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_of_numba_are_readable),
		cmocka_unit_test(other_symbols_are_not_numbas),
		cmocka_unit_test(types_that_cannot_be_read_are_empty),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(generated_functions_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
