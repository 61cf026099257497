// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/shares.h"

#include <stdio.h>

#include "base/log.h"
#include "record/intake.h"
#include "record/naming.h"

#define MAX_SENTENCES 16 /* of a profile: a line for each tenant and table */
#define SHOWN_ID_LEN  12 /* of a container's id, as its runtime shows it */

struct sharing {
	struct intake *in;
	struct naming *n;
	size_t nr; /* tenants and tables */
};

static void write_tenant(struct tenant who, const char *user,
			 const struct process_owner *owner, char *ret, size_t size)
{
	/* Some have the container of their parent. */
	if (tenant_is_same(who, TENANT_NEW))
		snprintf(
			ret, size,
			"What root's programs started, before it was known whose it is,");
	else if (owner && *owner->container_name)
		snprintf(ret, size, "Container %s (%.*s)", owner->container_name,
			 SHOWN_ID_LEN, owner->container);
	else if (owner)
		snprintf(ret, size, "Container %s", owner->container);
	else if (who.container)
		snprintf(ret, size, "A container that has ended");
	else if (who.uid == TENANT_UNKNOWN_UID)
		snprintf(ret, size, "A user who is not known");
	else if (*user)
		snprintf(ret, size, "User %s (uid %u)", user, who.uid);
	else
		snprintf(ret, size, "The user with uid %u", who.uid);
}

void shares_sentence(struct tenant who, const char *user,
		     const struct process_owner *owner, const struct quota *q,
		     uint64_t nr_refused, char *ret, size_t size)
{
	char tenant[320];

	write_tenant(who, user, owner, tenant, sizeof(tenant));
	if (quota_met_full(q, who))
		snprintf(ret, size, "%s found the %s used up, %llu were refused: %s.",
			 tenant, q->what, (unsigned long long)nr_refused, q->loss);
	else
		snprintf(ret, size,
			 "%s used up its quarter of the %s, %llu more were refused: %s.",
			 tenant, q->what, (unsigned long long)nr_refused, q->loss);
}

static void on_refused(void *ctx, const struct quota *q, struct tenant who,
		       uint64_t nr_refused)
{
	struct sharing *s = ctx;
	const struct process_owner *owner = NULL;
	const char *user = "";
	char text[640];

	if (who.container)
		owner = process_table_container(s->in->processes, who.container);
	else if (who.uid != TENANT_UNKNOWN_UID)
		user = profile_builder_user(&s->n->builder, who.uid);
	shares_sentence(who, user, owner, q, nr_refused, text, sizeof(text));
	log_info("%s", text);
	if (s->nr++ < MAX_SENTENCES)
		profile_add_warning(s->n->profile, text);
}

void shares_warn(struct intake *in, struct naming *n)
{
	struct sharing s = {.in = in, .n = n};
	char text[96];

	target_each_refused(in->target, on_refused, &s);
	process_table_each_refused(in->processes, on_refused, &s);
	unwind_feeder_each_refused(in->unwind, on_refused, &s);
	symbolizer_each_refused(n->symbolizer, on_refused, &s);
	strpool_each_refused(n->names, on_refused, &s);
	strpool_each_refused(n->pool, on_refused, &s);
	source_names_each_refused(&n->builder.files, on_refused, &s);
	if (s.nr <= MAX_SENTENCES)
		return;
	snprintf(text, sizeof(text),
		 "%zu more tenants or tables are not listed here (-v shows all).",
		 s.nr - MAX_SENTENCES);
	profile_add_warning(n->profile, text);
}
