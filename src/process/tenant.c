// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/tenant.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "process/cgroup.h"

/* @container  its id; "" */
static struct tenant tenant_in(const struct uid_owners *owners, const struct process *p,
			       const char *container, const char *path, size_t len)
{
	struct tenant who = {.uid = p->uid ? p->uid : p->real_uid};
	uint32_t owner, user;
	char *end;

	/* "?/ID": whoever runs in it pays. "1000/ID": it is this user's. */
	if (*container && *container != '?') {
		who.uid = (uint32_t)strtoul(container, &end, 10);
		if (end == container || *end != '/' || !who.uid)
			who = (struct tenant){
				.container = hash_bytes(0, container, strlen(container))};
	} else if (!p->in_our_user_ns && !uid_owners_find(owners, who.uid, &owner) &&
		   cgroup_user(path, len, &user)) {
		/* Of a range that is not known. Anybody else may be in this slice by su. */
		who.uid = user;
	}
	return who;
}

struct tenant tenant_find(const struct cgroup_places *places,
			  const struct uid_owners *owners, const struct process *p,
			  const struct look *cgroup)
{
	struct tenant who = {.uid = p->uid ? p->uid : TENANT_UNKNOWN_UID};
	struct cgroup_owner found;
	const char *path = NULL;
	uint32_t hierarchy, owner;
	size_t len;

	if (cgroup)
		path = proc_dir_cgroup_path(cgroup, &len, &hierarchy);
	if (path) {
		cgroup_owner_at(cgroup_place(places, hierarchy), p->uid, path, len,
				&found);
		who = tenant_in(owners, p, found.container, path, len);
	} else if (p->owner.cgroup && *p->owner.cgroup) {
		who = tenant_in(owners, p, p->owner.container, p->owner.cgroup,
				strlen(p->owner.cgroup));
	}
	if (!who.container && uid_owners_find(owners, who.uid, &owner))
		who.uid = owner;
	return who.container || p->uid != (uid_t)-1 ? who : p->tenant;
}
