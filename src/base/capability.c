// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/capability.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int capabilities_permitted(uint64_t *ret)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &header, caps))
		return -errno;
	*ret = caps[0].permitted | (uint64_t)caps[1].permitted << 32;
	return 0;
}

int capabilities_set(uint64_t effective, uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2] = {0};

	for (int i = 0; i < 2; i++) {
		caps[i].effective = (uint32_t)(effective >> 32 * i);
		caps[i].permitted = (uint32_t)(permitted >> 32 * i);
		caps[i].inheritable = (uint32_t)(inheritable >> 32 * i);
	}
	return syscall(SYS_capset, &header, caps) ? -errno : 0;
}

int capabilities_keep(uint64_t keep, bool pass_on)
{
	uint64_t have = 0;
	int rc = keep ? capabilities_permitted(&have) : 0;

	keep &= have;
	/* Ambient capabilities cannot remain without permitted ones. */
	if (!rc)
		rc = capabilities_set(keep, keep, pass_on ? keep : 0);
	for (unsigned int i = 0; !rc && pass_on && i < 64; i++)
		if (keep & CAPABILITY(i) &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0))
			rc = -errno;
	return rc;
}
