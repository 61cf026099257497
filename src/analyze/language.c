// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/language.h"

#include <string.h>

#include "base/cleanup.h"

static const struct suffix {
	const char *suffix, *language;
} suffixes[] = {
	{"c", "c"},
	{"h", "c"},
	{"cc", "c++"},
	{"cpp", "c++"},
	{"cxx", "c++"},
	{"c++", "c++"},
	{"C", "c++"},
	{"hh", "c++"},
	{"hpp", "c++"},
	{"hxx", "c++"},
	{"h++", "c++"},
	{"ipp", "c++"},
	{"tcc", "c++"},
	{"inl", "c++"},
	{"rs", "rust"},
	{"go", "go"},
	{"py", "python"},
	{"pyw", "python"},
	{"pyx", "cython"},
	{"pxd", "cython"},
	{"js", "javascript"},
	{"mjs", "javascript"},
	{"cjs", "javascript"},
	{"jsx", "javascript"},
	{"ts", "typescript"},
	{"tsx", "typescript"},
	{"mts", "typescript"},
	{"cts", "typescript"},
	{"java", "java"},
	{"kt", "kotlin"},
	{"scala", "scala"},
	{"clj", "clojure"},
	{"cs", "c#"},
	{"fs", "f#"},
	{"rb", "ruby"},
	{"php", "php"},
	{"lua", "lua"},
	{"pl", "perl"},
	{"pm", "perl"},
	{"s", "assembly"},
	{"S", "assembly"},
	{"asm", "assembly"},
	{"f", "fortran"},
	{"F", "fortran"},
	{"f90", "fortran"},
	{"F90", "fortran"},
	{"f95", "fortran"},
	{"f03", "fortran"},
	{"f08", "fortran"},
	{"for", "fortran"},
	{"zig", "zig"},
	{"d", "d"},
	{"swift", "swift"},
	{"m", "objective-c"},
	{"mm", "objective-c++"},
	{"jl", "julia"},
	{"nim", "nim"},
	{"ml", "ocaml"},
	{"hs", "haskell"},
	{"adb", "ada"},
	{"ads", "ada"},
	{"cu", "cuda"},
	{"cuh", "cuda"},
	{"erl", "erlang"},
	{"ex", "elixir"},
	{"exs", "elixir"},
	{"dart", "dart"},
	{"v", "v"},
	{"cr", "crystal"},
	{"pas", "pascal"},
};

const char *language_of(const char *path, bool jit)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');

	if (!dot) /* the C++ library's headers have no suffix */
		return strstr(path, "/c++/") ? "c++" : "";
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (strcmp(dot + 1, suffixes[i].suffix))
			continue;
		if (jit && !strcmp(suffixes[i].language, "python"))
			return "numba";
		return suffixes[i].language;
	}
	return "";
}
