/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places of a table that tenants share, counted by tenant, so that none takes those of
 * others: nobody but root may have more than a quarter of them. Without a maximum nothing
 * is counted or refused: where the caller chose the targets, they have no neighbours.
 */
#ifndef LB_BASE_QUOTA_H
#define LB_BASE_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"

/*
 * Who pays for places: a container that root made, whatever users it has, or else a user.
 * Zeroed: root outside of containers, who pays for nothing.
 */
struct tenant {
	uint64_t container; /* hash of its id (base/hash.h); 0: it is a user */
	uint32_t uid; /* TENANT_UNKNOWN_UID: all who are not known count as one user */
};

#define TENANT_UNKNOWN_UID UINT32_MAX
#define TENANT_UNKNOWN     ((struct tenant){.uid = TENANT_UNKNOWN_UID})

/*
 * Folders that any user may list, and so hold (docs/security.md, "What can block"). Who does is
 * not known, so folders have accounts of their own: one for those of each user, and for root's.
 */
#define TENANT_FOLDERS UINT64_C(1)
#define TENANT_OF_FOLDERS(uid_) \
	((struct tenant){.container = TENANT_FOLDERS, .uid = (uid_)})

/* /proc, which any user may hold, too. */
#define TENANT_OF_PROC ((struct tenant){.container = UINT64_C(3)})

/* Perf maps in the machine's own /tmp, which any user may hold, too. */
#define TENANT_OF_TMP ((struct tenant){.container = UINT64_C(4)})

/*
 * What root's programs execute, and what that starts, until it is known whose it is: it may
 * be any user's.
 */
#define TENANT_NEW ((struct tenant){.container = UINT64_C(5)})

/* Helpers that got stuck before they served anybody. */
#define TENANT_HELPERS UINT64_C(2)

static inline bool tenant_is_same(struct tenant a, struct tenant b)
{
	return a.container == b.container && a.uid == b.uid;
}

/*
 * Any of whom pays for what they share, so that none of them decides for the others. More
 * tenants than this could use up the whole table alone: then nobody pays.
 */
#define PAYERS_MAX 3

/* Zeroed: nobody pays. */
struct payers {
	struct tenant items[PAYERS_MAX];
	size_t nr;
};

/* Root pays for nothing, so with it nobody does. */
static inline struct payers payers_of_one(struct tenant who)
{
	return (struct payers){.items = {who}, .nr = who.container || who.uid};
}

/** Adds who shares it now. */
void payers_add(struct payers *p, struct tenant who);

/* Zero-initialise. */
struct quota {
	const char *what; /* the places, as in "unwind rules"; literal */
	const char *loss; /* of who is refused some: "its stacks may be cut"; literal */
	uint64_t max; /* places of the table; 0: no limit. Set it before the first use. */
	struct quota_account {
		struct tenant tenant;
		uint64_t nr; /* places it has */
		uint64_t nr_refused; /* places, since quota_each_refused() */
		uint64_t nr_in_round, nr_worst; /* refused in this round; in the worst */
		bool met_full; /* some of these because nobody has any left */
	} * accounts; /* heap; no order */
	size_t nr_accounts, cap_accounts;
	struct hashmap index;
};

void quota_deinit(struct quota *q);

/**
 * Takes @nr places for @who. Return: false, counted, with nothing taken: they are more
 * than its part, or there is no memory to count them.
 */
bool quota_take(struct quota *q, struct tenant who, uint64_t nr);

/** Would quota_take() succeed? Counts nothing. */
bool quota_has_room(const struct quota *q, struct tenant who, uint64_t nr);

/** quota_take() for whoever has room; counts as the first one's. @ret  who paid */
bool quota_take_any(struct quota *q, const struct payers *payers, uint64_t nr,
		    struct tenant *ret);

/** Counts @nr places that @who has got without a question. */
void quota_add(struct quota *q, struct tenant who, uint64_t nr);

/** quota_add() for whoever has room, else for the first one. */
void quota_add_any(struct quota *q, const struct payers *payers, uint64_t nr);

/**
 * Refuses @nr places, counted, by a rule of the caller's. Return: false: @who pays for
 * nothing, and is refused nothing.
 */
bool quota_refuse(struct quota *q, struct tenant who, uint64_t nr);

/** Refuses @nr places, counted, because the whole table is full. */
void quota_refuse_full(struct quota *q, struct tenant who, uint64_t nr);

/** Was @who refused some for that reason since the last quota_each_refused()? */
bool quota_met_full(const struct quota *q, struct tenant who);

/**
 * Begins another round of the same questions: what is refused again in it is not counted
 * again. Without rounds, each refusal counts.
 */
void quota_begin_round(struct quota *q);

/** Gives back places that @who took. */
void quota_give(struct quota *q, struct tenant who, uint64_t nr);

/** Has @who more than its part? It may, of what was added without a question. */
bool quota_is_over(const struct quota *q, struct tenant who);

/** Has @who more than half of its part? */
bool quota_is_half_used(const struct quota *q, struct tenant who);

/** Have all of them more than their part? */
bool quota_are_over(const struct quota *q, const struct payers *payers);

/** Is any tenant over its part? */
bool quota_is_any_over(const struct quota *q);

/** Calls @fn for each tenant that was refused places since the last call, how many. */
typedef void (*quota_refused_fn)(void *ctx, const struct quota *q, struct tenant who,
				 uint64_t nr_refused);
void quota_each_refused(struct quota *q, quota_refused_fn fn, void *ctx);

#endif
