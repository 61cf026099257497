// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/frame.h"

#include <string.h>

#include "base/cleanup.h"

static const struct miss_words {
	const char *name, *text, *remedy;
} words[] = {
	[MISS_NONE] = {"none", "has a source line", ""},
	[MISS_NO_PROCESS] = {"no-process",
			     "the process was gone before it could be identified",
			     "record with a higher -F, or start it with lineburn run"},
	[MISS_NO_MAPPING] = {"no-mapping", "nothing executable was known at the address",
			     ""},
	[MISS_AMBIGUOUS_TIME] = {"ambiguous-time",
				 "the address changed its owner while it was sampled",
				 "record with a higher -F; with --uprobe the kernel "
				 "reports each change of a JIT's code at once"},
	[MISS_FILE_GONE] = {"file-gone", "the mapped file could not be opened",
			    "keep the file until the recording ends"},
	[MISS_FILE_REPLACED] = {"file-replaced",
				"the file on disk is not the one that ran",
				"restart the program, so that it runs the installed "
				"file, and record again"},
	[MISS_TOO_MANY_FILES] = {"too-many-files",
				 "too many files were mapped to keep all open",
				 "record fewer processes, with -p"},
	[MISS_FILE_LATE] =
		{"file-late",
		 "the file, its process, or others of its user were too slow to "
		 "answer",
		 "run again with -v, which tells what did not answer"},
	[MISS_BAD_FILE] = {"bad-file", "the file is not a well-formed ELF file", ""},
	[MISS_BAD_DEBUG_INFO] =
		{"bad-debug-info",
		 "the debug info is malformed, or of an unknown version",
		 "build the program again, or reinstall its debug package"},
	[MISS_DECODER_GAVE_UP] = {"decoder-gave-up",
				  "reading the file took too long, too much memory, or "
				  "crashed the decoder",
				  "run again with -v and report the file"},
	[MISS_NO_SYMBOLS] = {"no-symbols", "the file has no symbol for the address",
			     "install its debug package, or build it without stripping"},
	[MISS_NO_DEBUG_INFO] =
		{"no-debug-info", "a symbol was found, but no line table",
		 "build with -g, install the debug package, or set DEBUGINFOD_URLS"},
	[MISS_NO_LINE] = {"no-line", "the debug info has no line for the address", ""},
	[MISS_NO_DWZ] = {"no-dwz", "the shared debug file (dwz) was not found",
			 "install the debug package completely, with its .dwz directory"},
	[MISS_NO_DWO] = {"no-dwo", "the split debug file (.dwo) was not found",
			 "keep the .dwo files where the build wrote them"},
	[MISS_JIT_UNKNOWN] =
		{"jit-unknown", "generated code that no perf map or jitdump describes",
		 "start the runtime with its perf support, as node --perf-prof"},
	[MISS_JIT_LOST] = {"jit-lost", "generated code whose description was lost",
			   "see the losses above; with --no-uprobe, lineburn reads the "
			   "registered code at intervals instead"},
	[MISS_JIT_NO_LINES] =
		{"jit-no-lines", "the runtime names the function, not the line",
		 "Numba: start the program with lineburn run, or, for a service, install "
		 "lineburn python-hook --install VENV; others: use a jitdump where the "
		 "runtime has one, as node --perf-prof"},
	[MISS_JIT_FILE_REFUSED] =
		{"jit-file-refused",
		 "the perf map or jitdump was unsafe to read or is garbage",
		 "it must be a regular file of the program's own user, not writable by "
		 "others"},
	[MISS_KERNEL] = {"kernel", "kernel code: functions only", ""},
	[MISS_KERNEL_HIDDEN] = {"kernel-hidden", "the kernel hides its addresses",
				"record as root, or set kernel.kptr_restrict to 0 or 1"},
	[MISS_PYTHON_LOST] = {"python-lost",
			      "a Python function whose name could not be copied in time",
			      "record at a lower -F"},
	[MISS_PYTHON_CUT] =
		{"python-cut",
		 "a Python function too long for its line table to be copied, of a "
		 "process that has ended",
		 "record the process while it lives"},
	[MISS_INTERPRETER] =
		{"interpreter",
		 "C code of Python that no line of Python called (its start, "
		 "its end)",
		 "--runtime charges it to its C lines"},
	[MISS_C_RUNTIME] = {"c-runtime", "code of the C library, which takes no charge",
			    "--runtime charges it to its own lines"},
	[MISS_NO_STACK] = {"no-stack", "the sample has no user address", ""},
	[MISS_LIMIT] = {"limit", "a table was full",
			"record for a shorter time, or at a lower -F"},
	[MISS_OTHER_TOOL] = {"other-tool",
			     "the tool that wrote the profile recorded no line", ""},
};
_Static_assert(ARRAY_SIZE(words) == NR_MISSES, "one row per miss");

const char *miss_name(enum miss miss)
{
	return words[miss].name;
}

enum miss miss_from_name(const char *name)
{
	for (size_t i = 0; i < NR_MISSES; i++)
		if (!strcmp(words[i].name, name))
			return (enum miss)i;
	return NR_MISSES;
}

const char *miss_text(enum miss miss)
{
	return words[miss].text;
}

const char *miss_remedy(enum miss miss)
{
	return words[miss].remedy;
}
