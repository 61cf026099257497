// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/version.h"

#include <features.h>
#include <sys/auxv.h>

#include "built_with.h"

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

#ifdef __aarch64__
#define ARCHITECTURE "arm64"
#else
#define ARCHITECTURE "x86-64"
#endif

void version_print(bool verbose, FILE *out)
{
	/* A static program has no interpreter (ld.so) that the kernel would map. */
	bool is_static = !getauxval(AT_BASE);

	fputs("lineburn " LINEBURN_VERSION "\n", out);
	if (!verbose)
		return;
	fprintf(out, "architecture: " ARCHITECTURE "\nlinked: %s\n",
		is_static ? "statically" : "dynamically");
	fputs("compiler: " COMPILER "; BPF programs: " BUILT_BPF_COMPILER "\n", out);
	fprintf(out, "%s: glibc %d.%d, " BUILT_LIBRARIES "\n",
		is_static ? "contains" : "built with", __GLIBC__, __GLIBC_MINOR__);
}
