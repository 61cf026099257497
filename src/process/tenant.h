/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who pays for the places that an image has in tables (base/quota.h). */
#ifndef LB_PROCESS_TENANT_H
#define LB_PROCESS_TENANT_H

#include "base/quota.h"
#include "process/cgroup_mount.h"
#include "process/proc_dir.h"
#include "process/process.h"
#include "process/uid_owners.h"

/**
 * Finds who pays for the places of @p: the container that it is in, if root made that; else
 * its user. Containers of a user, and uids of his ranges, are on his account. A uid that is
 * not known counts for him, too, if it is in his slice and not known to be in our user
 * namespace. Until anything is known, its parent's tenant pays.
 *
 * @cgroup  as just read; NULL: its owner has it, or it is not known. Then root, too, counts
 *          as a user who is not known.
 */
struct tenant tenant_find(const struct cgroup_places *places,
			  const struct uid_owners *owners, const struct process *p,
			  const struct look *cgroup);

#endif
