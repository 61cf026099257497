// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "collect/kernel_quirks.h"

static void known_kernels(void **state)
{
	static const struct {
		const char *release, *version;
		const char *bad; /* versions of the quirk; NULL: a good kernel */
	} cases[] = {
		{"6.18.44-fc-v445", "Linux version 6.18.44-fc-v445 (@buildhost) #1 SMP",
		 NULL},
		{"5.10.0-46-cloud-amd64",
		 "Linux version 5.10.0-46-cloud-amd64 (debian-kernel@lists.debian.org) "
		 "#1 SMP "
		 "Debian 5.10.262-1 (2026-08-01)",
		 NULL},
		{"5.15.0-91-generic", NULL, NULL},
		{"5.18.19", NULL, NULL},
		{"5.19.0", NULL, "5.19 to 6.1.35"},
		{"5.19.0-50-generic", NULL, "5.19 to 6.1.35"},
		{"6.0.12-arch1-1", NULL, "5.19 to 6.1.35"},
		{"6.1.35", NULL, "5.19 to 6.1.35"},
		{"6.1.36", NULL, NULL},
		/* Debian's release has no patch level: /proc/version decides. */
		{"6.1.0-56-cloud-amd64",
		 "Linux version 6.1.0-56-cloud-amd64 (debian-kernel@lists.debian.org) "
		 "(gcc-12 "
		 "(Debian 12.2.0-14+deb12u1) 12.2.0) #1 SMP PREEMPT_DYNAMIC Debian "
		 "6.1.192-1 "
		 "(2026-08-01)",
		 NULL},
		{"6.1.0-9-amd64",
		 "Linux version 6.1.0-9-amd64 (debian-kernel@lists.debian.org) (gcc-12 "
		 "(Debian "
		 "12.2.0-14) 12.2.0) #1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)",
		 "5.19 to 6.1.35"},
		{"6.1.0-9-amd64", NULL, "5.19 to 6.1.35"},
		{"6.1.0-9-amd64", "Linux version 6.1.0-9-amd64 (somebody)",
		 "5.19 to 6.1.35"},
		{"6.2.0-39-generic", NULL, "6.2 to 6.3.9"},
		{"6.3.9", NULL, "6.2 to 6.3.9"},
		{"6.3.10", NULL, NULL},
		{"6.4.0-rc1", NULL, NULL},
		{"7.3-rc7-cloud-amd64", NULL, NULL},
		{"garbage", NULL, NULL},
		{"", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct kernel_quirk *quirk =
			kernel_quirk_find(cases[i].release, cases[i].version);

		if (!quirk != !cases[i].bad)
			fail_msg("%s: %s", cases[i].release,
				 quirk ? quirk->versions : "good");
		if (quirk)
			assert_string_equal(quirk->versions, cases[i].bad);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
