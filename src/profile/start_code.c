// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/start_code.h"

#include <string.h>

#include "base/cleanup.h"

bool function_is_start_code(const char *function)
{
	static const char *const names[] = {
		"_start",
		"_start_c",
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_call_main",
		"libc_start_main_stage2",
		"start_thread",
		"clone",
		"__clone",
		"clone3",
		"__clone3",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(function, names[i]))
			return true;
	return false;
}
