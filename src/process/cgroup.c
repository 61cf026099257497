// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Naming schemes of cgroups, and where the software that uses them defines them:
 *
 *   runc, crun      a cgroupsPath "SLICE:PREFIX:ID" becomes PREFIX-ID.scope below SLICE
 *                   if systemd makes the cgroup; other paths are used unchanged
 *                   (runc: docs/systemd.md)
 *   docker          /docker/ID or docker-ID.scope (moby: daemon/oci_linux.go)
 *   buildkit        PARENT/buildkit/ID (executor/oci/spec_linux.go), ID: 25 of [0-9a-z]
 *   containerd CRI  cri-containerd-ID.scope, POD/ID (internal/cri/server)
 *   CRI-O           crio-ID[.scope], crio-conmon-ID[.scope] (internal/config/cgmgr)
 *   podman          libpod-ID[.scope], libpod-payload-ID, libpod-conmon-ID.scope
 *                   (libpod/container_internal_linux.go)
 *   kubelet         kubepods/QOS/podUID or kubepods-QOS-podUID.slice, which has "_"
 *                   for "-" in the UID (pkg/kubelet/cm/cgroup_manager_linux.go)
 *   ECS             /ecs/TASK/ID; Fargate: /ecs/TASK/TASK-NUMBER
 *   LXC             lxc.payload.NAME; before 4.0 lxc.payload/NAME, before 3.1 lxc/NAME
 *   systemd         machine-NAME.scope, systemd-nspawn@NAME.service
 *                   (systemd-nspawn(1)), escaped as by systemd-escape(1) and by
 *                   cg_escape() of src/basic/cgroup-util.c
 *   libvirt         machine-qemu\x2dNUMBER\x2dNAME.scope is a virtual machine,
 *                   machine-lxc\x2d... a container (libvirt.org/cgroups.html)
 */
#include "process/cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "opener/opener.h"
#include "process/cgroup_folder.h"

#define HEX_ID_LEN     64
#define TASK_ID_LEN    32
#define BUILD_ID_LEN   25

#define MAX_PATH_BYTES 4096

/* A part of a borrowed text, not terminated. */
struct text_part {
	const char *at;
	size_t len;
};

static bool text_is(struct text_part t, const char *s)
{
	return t.len == strlen(s) && !memcmp(t.at, s, t.len);
}

static bool text_begins(struct text_part t, const char *s)
{
	size_t n = strlen(s);

	return t.len >= n && !memcmp(t.at, s, n);
}

static bool text_ends(struct text_part t, const char *s)
{
	size_t n = strlen(s);

	return t.len >= n && !memcmp(t.at + t.len - n, s, n);
}

static struct text_part text_skip(struct text_part t, size_t n)
{
	return (struct text_part){t.at + n, t.len - n};
}

/* Returns @t without @suffix; unchanged if it does not end in it. */
static struct text_part text_without(struct text_part t, const char *suffix)
{
	if (text_ends(t, suffix))
		t.len -= strlen(suffix);
	return t;
}

#define DIGITS     "0123456789"
#define HEX_DIGITS DIGITS "abcdefABCDEF"

/* Returns the number of leading characters that are in @set. */
static size_t text_span(struct text_part t, const char *set)
{
	size_t n = 0;

	while (n < t.len && t.at[n] && strchr(set, t.at[n]))
		n++;
	return n;
}

/* Return: false, with "" in @ret, if empty, too long, or if it has a 0 byte. */
static bool text_copy(struct text_part t, char *ret, size_t size)
{
	size_t len = t.len < size && !memchr(t.at, '\0', t.len) ? t.len : 0;

	memcpy(ret, t.at, len);
	ret[len] = '\0';
	return len;
}

/* Finds the last component before @end and moves @end to the slash in front of it. */
static bool previous_component(const char *path, size_t *end, struct text_part *ret)
{
	size_t to = *end, from;

	while (to && path[to - 1] == '/')
		to--;
	for (from = to; from && path[from - 1] != '/';)
		from--;
	*ret = (struct text_part){path + from, to - from};
	*end = from;
	return to > from;
}

/* ---- containers ---- */

enum id_kind {
	ID_HEX, /* 64 hex digits */
	ID_TASK, /* 32 hex digits, "-", a number */
	ID_BUILD,
	ID_NAME, /* any text after the prefix */
	ID_MACHINE, /* same, escaped by systemd; libvirt may have named it */
};

enum id_place {
	ANYWHERE,
	BELOW, /* its parent is @above */
	BELOW_TOP, /* its parent is @above, the first component of the path */
	UNDER_TOP, /* somewhere below @above, the first component of the path */
	BELOW_POD,
};

/* Patterns of one path component: prefix, id, suffix. The first match wins. */
static const struct name_pattern {
	enum id_place place;
	const char *above;
	const char *prefix; /* ":x:": anything that ends in ":x:"; NULL: anything */
	const char *suffix; /* "?.scope": with or without ".scope" */
	enum id_kind id;
	enum container_runtime runtime; /* CONTAINER_NONE: a helper of a container */
} name_patterns[] = {
	{ANYWHERE, NULL, "docker-", ".scope", ID_HEX, CONTAINER_DOCKER},
	{ANYWHERE, NULL, "docker-", ".scope", ID_BUILD, CONTAINER_DOCKER},
	{ANYWHERE, NULL, ":docker:", "", ID_HEX, CONTAINER_DOCKER},
	{BELOW, "docker", "", "", ID_HEX, CONTAINER_DOCKER},
	{BELOW, "buildkit", "", "", ID_BUILD, CONTAINER_DOCKER},
	{ANYWHERE, NULL, "cri-containerd-", ".scope", ID_HEX, CONTAINER_CONTAINERD},
	{ANYWHERE, NULL, ":cri-containerd:", "", ID_HEX, CONTAINER_CONTAINERD},
	{ANYWHERE, NULL, "nerdctl-", ".scope", ID_HEX, CONTAINER_CONTAINERD},
	{BELOW_TOP, "default", "", "", ID_HEX, CONTAINER_CONTAINERD},
	{BELOW_POD, NULL, "", "", ID_HEX, CONTAINER_CONTAINERD},
	{ANYWHERE, NULL, "crio-conmon-", "?.scope", ID_HEX, CONTAINER_NONE},
	{ANYWHERE, NULL, "crio-", "?.scope", ID_HEX, CONTAINER_CRIO},
	{ANYWHERE, NULL, ":crio:", "", ID_HEX, CONTAINER_CRIO},
	{ANYWHERE, NULL, "libpod-conmon-", "?.scope", ID_HEX, CONTAINER_NONE},
	{ANYWHERE, NULL, "libpod-payload-", "?.scope", ID_HEX, CONTAINER_PODMAN},
	{ANYWHERE, NULL, "libpod-", "?.scope", ID_HEX, CONTAINER_PODMAN},
	{UNDER_TOP, "ecs", "", "", ID_HEX, CONTAINER_ECS},
	{ANYWHERE, NULL, "", "", ID_TASK, CONTAINER_ECS},
	{ANYWHERE, NULL, "lxc.payload.", "", ID_NAME, CONTAINER_LXC},
	{BELOW, "lxc.payload", "", "", ID_NAME, CONTAINER_LXC},
	{BELOW_TOP, "lxc", "", "", ID_NAME, CONTAINER_LXC},
	{ANYWHERE, NULL, "machine-", ".scope", ID_MACHINE, CONTAINER_NSPAWN},
	{ANYWHERE, NULL, "systemd-nspawn@", ".service", ID_MACHINE, CONTAINER_NSPAWN},
	{ANYWHERE, NULL, NULL, "?.scope", ID_HEX, CONTAINER_OTHER},
};

static bool is_id(struct text_part t, enum id_kind kind)
{
	switch (kind) {
	case ID_HEX:
		return t.len == HEX_ID_LEN && text_span(t, HEX_DIGITS) == t.len;
	case ID_TASK:
		if (t.len < TASK_ID_LEN + 2 || text_span(t, HEX_DIGITS) != TASK_ID_LEN ||
		    t.at[TASK_ID_LEN] != '-')
			return false;
		t = text_skip(t, TASK_ID_LEN + 1);
		return text_span(t, DIGITS) == t.len;
	case ID_BUILD:
		return t.len == BUILD_ID_LEN &&
		       text_span(t, DIGITS "abcdefghijklmnopqrstuvwxyz") == t.len;
	case ID_NAME:
	case ID_MACHINE:
		break;
	}
	return true;
}

static int hex_value(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

static bool unescape(struct text_part t, char *ret, size_t size)
{
	size_t nr = 0;

	if (t.len >= size || memchr(t.at, '\0', t.len)) {
		*ret = '\0';
		return false;
	}
	for (size_t i = 0; i < t.len; i++) {
		int c = 0;

		if (t.len - i >= 4 && t.at[i] == '\\' && t.at[i + 1] == 'x' &&
		    text_span((struct text_part){t.at + i + 2, 2}, HEX_DIGITS) == 2)
			c = hex_value(t.at[i + 2]) << 4 | hex_value(t.at[i + 3]);
		if (c >= ' ' && c != 0x7f)
			i += 3;
		else
			c = (unsigned char)t.at[i];
		ret[nr++] = (char)c;
	}
	ret[nr] = '\0';
	return nr;
}

bool cgroup_unescape(const char *text, char *ret, size_t size)
{
	return unescape((struct text_part){text, strlen(text)}, ret, size);
}

/* Returns NAME of "lxc-12-NAME"; NULL if it is not one of libvirt's names. */
static const char *name_by_libvirt(const char *machine, const char *driver)
{
	struct text_part t = {machine, strlen(machine)};
	size_t n;

	if (!text_begins(t, driver))
		return NULL;
	t = text_skip(t, strlen(driver));
	n = text_span(t, DIGITS);
	return n && n + 1 < t.len && t.at[n] == '-' ? t.at + n + 1 : NULL;
}

static bool take_machine(struct text_part id, enum container_runtime runtime,
			 struct cgroup_owner *ret)
{
	char machine[UNIT_BYTES];
	const char *name;

	if (!unescape(id, machine, sizeof(machine)) || name_by_libvirt(machine, "qemu-"))
		return false;
	name = name_by_libvirt(machine, "lxc-");
	if (!text_copy((struct text_part){name ? name : machine,
					  strlen(name ? name : machine)},
		       ret->container, CONTAINER_ID_BYTES))
		return false;
	ret->runtime = name ? CONTAINER_LXC : runtime;
	return true;
}

/* Removes the prefix and the suffix. Return: false if @component lacks them. */
static bool cut_id(const struct name_pattern *pattern, struct text_part component,
		   struct text_part *ret)
{
	const char *suffix = pattern->suffix, *prefix = pattern->prefix;
	struct text_part id = component;

	if (*suffix == '?')
		id = text_without(id, suffix + 1);
	else if (!text_ends(id, suffix))
		return false;
	else
		id.len -= strlen(suffix);
	if (prefix && *prefix != ':') {
		if (!text_begins(id, prefix))
			return false;
		*ret = text_skip(id, strlen(prefix));
		return true;
	}
	/* Any prefix: the id is the end of it, after a separator. */
	if (id.len < HEX_ID_LEN)
		return false;
	*ret = text_skip(id, id.len - HEX_ID_LEN);
	id.len -= HEX_ID_LEN;
	if (prefix)
		return text_ends(id, prefix);
	return !id.len || text_ends(id, "-") || text_ends(id, ":");
}

static bool pod_of(const char *path, struct text_part component, char *ret);

static bool is_in_place(const struct name_pattern *pattern, const char *path,
			struct text_part component)
{
	size_t end = (size_t)(component.at - path);
	struct text_part outside = {path, end}, above;
	char pod[POD_UID_BYTES];

	if (pattern->place == ANYWHERE)
		return true;
	outside = text_skip(outside, text_span(outside, "/"));
	if (pattern->place == UNDER_TOP)
		return text_begins(outside, pattern->above) &&
		       outside.at[strlen(pattern->above)] == '/';
	if (!previous_component(path, &end, &above))
		return false;
	if (pattern->place == BELOW_POD)
		return pod_of(path, above, pod);
	return text_is(above, pattern->above) &&
	       (pattern->place == BELOW || above.at == outside.at);
}

static bool take_id(const struct name_pattern *pattern, struct text_part id,
		    struct cgroup_owner *ret)
{
	if (pattern->id == ID_MACHINE)
		return take_machine(id, pattern->runtime, ret);
	if (!is_id(id, pattern->id) || !text_copy(id, ret->container, CONTAINER_ID_BYTES))
		return false;
	ret->runtime = pattern->runtime;
	return true;
}

/* @below  the next inner component of the path, if any */
static void container_of(const char *path, struct text_part component,
			 struct text_part below, struct cgroup_owner *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(name_patterns); i++) {
		const struct name_pattern *pattern = &name_patterns[i];
		struct text_part id;

		/* systemd-nspawn's own cgroup, beside that of the container. */
		if (pattern->id == ID_MACHINE && text_is(below, "supervisor"))
			continue;
		if (!cut_id(pattern, component, &id) ||
		    !is_in_place(pattern, path, component) || !take_id(pattern, id, ret))
			continue;
		if (ret->runtime == CONTAINER_NONE)
			ret->container[0] = '\0';
		return;
	}
}

/* ---- pods and units ---- */

/* Returns the length of a UUID, with "-" or "_", or of a static pod's 32-digit hash. */
static size_t pod_uid_len(struct text_part t)
{
	static const char uuid[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (text_span(t, HEX_DIGITS) == TASK_ID_LEN)
		return TASK_ID_LEN;
	if (t.len < strlen(uuid))
		return 0;
	for (size_t i = 0; uuid[i]; i++)
		if (uuid[i] == '-' ? t.at[i] != '-' && t.at[i] != '_'
				   : !isxdigit((unsigned char)t.at[i]))
			return 0;
	return strlen(uuid);
}

static bool take_pod(struct text_part uid, char *ret)
{
	size_t len = pod_uid_len(uid);
	struct text_part rest;

	if (!len)
		return false;
	rest = text_skip(uid, len);
	if (rest.len && !text_is(rest, ".slice") && !text_begins(rest, ".slice:"))
		return false;
	text_copy((struct text_part){uid.at, len}, ret, POD_UID_BYTES);
	for (size_t i = 0; i < len; i++)
		if (ret[i] == '_')
			ret[i] = '-';
	return true;
}

/* @component  within @path. @ret has POD_UID_BYTES; only written if it is a pod. */
static bool pod_of(const char *path, struct text_part component, char *ret)
{
	static const char kubepods[] = "kubepods", mark[] = "-pod";
	size_t before = (size_t)(component.at - path);
	const char *at;

	if (text_begins(component, "pod")) {
		component = text_skip(component, 3);
		return pod_uid_len(component) &&
		       memmem(path, before, kubepods, strlen(kubepods)) &&
		       take_pod(component, ret);
	}
	at = memmem(component.at, component.len, kubepods, strlen(kubepods));
	if (!at)
		return false;
	component = text_skip(component, (size_t)(at - component.at) + strlen(kubepods));
	at = memmem(component.at, component.len, mark, strlen(mark));
	return at &&
	       take_pod(text_skip(component, (size_t)(at - component.at) + strlen(mark)),
			ret);
}

static void unit_of(struct text_part component, struct cgroup_owner *ret)
{
	/*
	 * cg_escape() adds "_" to names that could clash with the kernel's own files.
	 */
	if (text_begins(component, "_"))
		component = text_skip(component, 1);
	if ((text_ends(component, ".service") && component.len > strlen(".service")) ||
	    (text_ends(component, ".scope") && component.len > strlen(".scope")))
		unescape(component, ret->unit, sizeof(ret->unit));
}

/* ---- names chosen by other users than root ---- */

/* @uid chose the names in the path from offset @from on. */
struct name_claim {
	size_t from;
	uint32_t uid;
};

/* Skips the parents of the root of our cgroup namespace. */
static struct text_part without_parents(const char *path, size_t len)
{
	struct text_part t = {path, len};

	while (text_begins(t, "/.."))
		t = text_skip(t, 3);
	return t;
}

bool cgroup_user(const char *path, size_t len, uint32_t *ret)
{
	struct text_part t = without_parents(path, len), uid;
	char slice[64];
	uint32_t user;

	if (!text_begins(t, "/user.slice/user-"))
		return false;
	uid = text_skip(t, strlen("/user.slice/user-"));
	uid.len = text_span(uid, DIGITS);
	if (!uid.len || uid.len > CLAIM_BYTES - 1)
		return false;
	user = (uint32_t)strtoul(uid.at, NULL, 10);
	snprintf(slice, sizeof(slice), "/user.slice/user-%u.slice/", user);
	if (!user || !text_begins(t, slice))
		return false;
	*ret = user;
	return true;
}

/* "/user.slice/user-1000.slice/user@1000.service/..." */
static bool claim_by_path(const char *path, size_t len, struct name_claim *ret)
{
	struct text_part t = without_parents(path, len);
	char slice[64];

	if (!cgroup_user(path, len, &ret->uid))
		return false;
	snprintf(slice, sizeof(slice), "/user.slice/user-%u.slice/user@%u.service/",
		 ret->uid, ret->uid);
	ret->from = (size_t)(t.at - path) + strlen(slice);
	return text_begins(t, slice);
}

/*
 * Looks at the folders of the path, from @top on. Any user who may list one could hold it.
 * @ret  the caller frees it; its rc may be an error
 */
static void look_at_owners(int top, const char *path, size_t len, struct look *ret)
{
	char name[MAX_PATH_BYTES + 1] = ".";

	*ret = (struct look){.where = LOOK_BELOW,
			     .what = LOOK_OWNERS,
			     .name = name,
			     .rc = -EINVAL,
			     .fd = -1};
	if (top >= 0 && len < MAX_PATH_BYTES) {
		memcpy(name + 1, path, len);
		name[1 + len] = '\0';
		opener_look_at(top, TENANT_OF_FOLDERS(0), ret);
	}
	ret->name = NULL;
}

/* Of the folder @depth levels below the top. Return: whether it can be seen. */
static bool owner_at(const struct look *owners, size_t depth, struct look_owner *ret)
{
	if (owners->rc || (depth + 1) * sizeof(*ret) > owners->len)
		return false;
	memcpy(ret, owners->text + depth * sizeof(*ret), sizeof(*ret));
	return ret->mode;
}

bool cgroup_folder_user(int top, const char *path, uint32_t *ret)
{
	_cleanup_(look_deinit) struct look owners;
	struct look_owner owner;

	look_at_owners(top, path, strlen(path), &owners);
	*ret = 0;
	for (size_t depth = 0; depth * sizeof(owner) < owners.len && !*ret; depth++)
		if (owner_at(&owners, depth, &owner))
			*ret = owner.uid;
	return !cgroup_folder_is_late(owners.rc);
}

/* Containers side by side share the folders above them, and so do all in one container. */
#define OWNERS_NS (100 * CLOCK_MS_NS)

static bool is_of(const struct cgroup_owners *o, const char *path, size_t len)
{
	return o->path && !strncmp(o->path, path, len) && !o->path[len];
}

/* Returns those of this path, or else those that are replaced. */
static struct cgroup_owners *find_kept(struct cgroup_owners *last, const char *path,
				       size_t len)
{
	struct cgroup_owners *oldest = last;

	for (size_t i = 0; i < CGROUP_OWNERS_KEPT; i++) {
		if (is_of(&last[i], path, len))
			return &last[i];
		if (last[i].read_ns < oldest->read_ns)
			oldest = &last[i];
	}
	return oldest;
}

/* Of the folders above @path. @ret  holds them, or nothing; the caller frees it */
static const struct look *look_above(const struct cgroup_place *place, const char *path,
				     size_t len, struct look *ret)
{
	const char *end = memrchr(path, '/', len);
	uint64_t now_ns = clock_now_ns();
	struct cgroup_owners *kept;

	len = end ? (size_t)(end - path) : 0;
	*ret = (struct look){.fd = -1};
	if (!place->last) {
		look_at_owners(place->fd, path, len, ret);
		return ret;
	}
	kept = find_kept(place->last, path, len);
	if (is_of(kept, path, len) && now_ns - kept->read_ns < OWNERS_NS)
		return &kept->look;
	free(kept->path);
	look_deinit(&kept->look);
	look_at_owners(place->fd, path, len, &kept->look);
	kept->path = kept->look.rc ? NULL : strndup(path, len);
	kept->read_ns = kept->path ? now_ns : 0;
	return &kept->look;
}

/*
 * Finds the first folder that does not belong to root, and its owner. Who made the folders
 * in one that is gone is not known: they count as @uid's.
 */
static bool claim_by_folder(const struct cgroup_place *place, const char *path,
			    size_t len, uint32_t uid, struct name_claim *ret,
			    bool *ret_is_late)
{
	_cleanup_(look_deinit) struct look held;
	const struct look *owners = look_above(place, path, len, &held);
	struct look_owner owner;
	size_t depth = 0;

	*ret_is_late = cgroup_folder_is_late(owners->rc);
	for (size_t i = 0; i < len; i++) {
		if (path[i] != '/')
			continue;
		if (!owner_at(owners, depth++, &owner))
			owner = (struct look_owner){.uid = uid, .mode = S_IWOTH};
		if (!owner.uid && !(owner.mode & S_IWOTH) &&
		    !(owner.gid && owner.mode & S_IWGRP))
			continue;
		*ret = (struct name_claim){.from = i, .uid = owner.uid};
		return true;
	}
	return false;
}

static void add_claim_prefix(uint32_t uid, char *text)
{
	char claimed[CLAIM_BYTES + CONTAINER_ID_BYTES];
	int len = uid == CGROUP_NO_UID
			  ? snprintf(claimed, sizeof(claimed), "?/%s", text)
			  : snprintf(claimed, sizeof(claimed), "%u/%s", uid, text);

	memcpy(text, claimed, (size_t)len + 1);
}

static bool owner_with(const char *path, size_t len, const struct name_claim *claim,
		       struct cgroup_owner *ret)
{
	struct cgroup_owner owner = {.runtime = CONTAINER_NONE};
	struct text_part component, below = {path, 0};
	bool pod_is_claimed = false;
	size_t end = len;

	/*
	 * From the innermost outwards: the outermost container overwrites inner ones.
	 */
	while (previous_component(path, &end, &component)) {
		bool is_claimed = claim && end >= claim->from;
		struct cgroup_owner here = {.runtime = CONTAINER_NONE};

		container_of(path, component, below, &here);
		if (here.runtime != CONTAINER_NONE) {
			memcpy(owner.container, here.container, sizeof(owner.container));
			owner.runtime = here.runtime;
			owner.is_claimed = is_claimed;
			owner.pod[0] = '\0';
		}
		if (pod_of(path, component, owner.pod))
			pod_is_claimed = is_claimed;
		if (!*owner.unit)
			unit_of(component, &owner);
		below = component;
	}
	if (owner.is_claimed)
		add_claim_prefix(claim->uid, owner.container);
	if (pod_is_claimed && *owner.pod)
		add_claim_prefix(claim->uid, owner.pod);
	*ret = owner;
	return owner.runtime != CONTAINER_NONE || *owner.pod || *owner.unit;
}

bool cgroup_owner_by_path(const char *path, size_t len, struct cgroup_owner *ret)
{
	struct name_claim claim;

	return owner_with(path, len, claim_by_path(path, len, &claim) ? &claim : NULL,
			  ret);
}

/*
 * Returns the path from the top of the hierarchy on, heap; NULL: it is not known, or what is
 * there cannot be seen.
 */
static char *path_from_top(const struct cgroup_place *place, const char *path, size_t len)
{
	char text[MAX_PATH_BYTES];

	if (!place || len >= sizeof(text) || memchr(path, '\0', len))
		return NULL;
	memcpy(text, path, len);
	text[len] = '\0';
	return cgroup_namespace_to_mount(place->root, place->base, text);
}

bool cgroup_owner_at(const struct cgroup_place *place, uint32_t uid, const char *path,
		     size_t len, struct cgroup_owner *ret)
{
	struct name_claim claim = {.from = 0, .uid = uid};
	bool has_owner = cgroup_owner_by_path(path, len, ret);
	_cleanup_free_ char *from_top = NULL;
	bool is_late = false;

	/* Most paths name no container and no pod: no need to check folders. */
	if ((ret->runtime == CONTAINER_NONE && !*ret->pod) || ret->is_claimed)
		return has_owner;
	from_top = path_from_top(place, path, len);
	if (!from_top)
		return owner_with(path, len, &claim, ret);
	len = strlen(from_top);
	if (len < MAX_PATH_BYTES &&
	    !claim_by_folder(place, from_top, len, uid, &claim, &is_late))
		return cgroup_owner_by_path(from_top, len, ret);
	has_owner = owner_with(from_top, len, &claim, ret);
	ret->is_late = is_late;
	return has_owner;
}

const char *container_runtime_name(enum container_runtime runtime)
{
	static const char *const names[] = {
		[CONTAINER_NONE] = "",         [CONTAINER_DOCKER] = "docker",
		[CONTAINER_PODMAN] = "podman", [CONTAINER_CONTAINERD] = "containerd",
		[CONTAINER_CRIO] = "cri-o",    [CONTAINER_NSPAWN] = "systemd-nspawn",
		[CONTAINER_LXC] = "lxc",       [CONTAINER_ECS] = "ecs",
		[CONTAINER_OTHER] = "other",
	};

	_Static_assert(ARRAY_SIZE(names) == NR_CONTAINER_RUNTIMES,
		       "each runtime has a name");
	return names[runtime];
}

/* ---- the text of /proc/PID/cgroup ---- */

/* Splits "4:memory:/a/b". Newlines in names are escaped. */
static bool split_line(struct text_part line, struct text_part *hierarchy,
		       struct text_part *path)
{
	const char *first = memchr(line.at, ':', line.len), *second;

	if (!first)
		return false;
	*hierarchy = text_skip(line, (size_t)(first + 1 - line.at));
	second = memchr(hierarchy->at, ':', hierarchy->len);
	if (!second)
		return false;
	*path = text_skip(*hierarchy, (size_t)(second + 1 - hierarchy->at));
	hierarchy->len = (size_t)(second - hierarchy->at);
	/*
	 * cgroup v2 appends this if the cgroup was removed while the process is in it.
	 */
	*path = text_without(*path, " (deleted)");
	return text_begins(*path, "/");
}

/* Ranks a path by the owners it names, then by hierarchy, v2 first. */
static unsigned int path_worth(struct text_part hierarchy, struct text_part path)
{
	struct cgroup_owner owner;
	unsigned int worth = path.len > 1;

	cgroup_owner_by_path(path.at, path.len, &owner);
	worth |= (owner.runtime != CONTAINER_NONE) << 3 | (*owner.pod != '\0') << 2 |
		 (*owner.unit != '\0') << 1;
	return worth << 2 | (!hierarchy.len                       ? 3
			     : text_is(hierarchy, "name=systemd") ? 2
			     : text_is(hierarchy, "memory")       ? 1
								  : 0);
}

const char *cgroup_path_of(const char *text, size_t len, size_t *ret_len,
			   uint32_t *ret_hierarchy)
{
	struct text_part left = {text, len}, best = {text, 0};
	unsigned int best_worth = 0;

	*ret_hierarchy = 0;
	while (left.len) {
		const char *newline = memchr(left.at, '\n', left.len);
		struct text_part line = {left.at, newline ? (size_t)(newline - left.at)
							  : left.len};
		struct text_part hierarchy, path;
		unsigned int worth;

		left = text_skip(left, line.len + (newline != NULL));
		if (!split_line(line, &hierarchy, &path))
			continue;
		worth = path_worth(hierarchy, path);
		if (best.len && worth <= best_worth)
			continue;
		best = path;
		best_worth = worth;
		*ret_hierarchy = hierarchy.len ? (uint32_t)strtoul(line.at, NULL, 10) : 0;
	}
	*ret_len = best.len;
	return best.at;
}
