/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of growth, for CI: "file.py:func +10%". The subject is
 *
 *   total        everything
 *   FILE:LINE    a line, by its number in AFTER; the end of the path is enough
 *   [FILE:]FUNC  functions of that name or last part of a name (code_query.h); each is
 *                judged alone
 *
 * The total of the subject is judged: what it and all that it calls cost. A rule is
 * exceeded if it grew by more than the limit and the growth is significant, corrected
 * for the number of subjects of all rules.
 */
#ifndef LB_ANALYZE_DIFF_RULE_H
#define LB_ANALYZE_DIFF_RULE_H

#include "analyze/profile_diff.h"

#define DIFF_MAX_RULES 64

struct diff_rule {
	char *subject; /* heap */
	double growth; /* 0.1: 10 % */
};

/** Parses "SUBJECT +N%". Return: 0, -EINVAL (not a rule), -ENOMEM. */
int diff_rule_parse(const char *text, struct diff_rule *ret);

/* What one rule says of one subject. */
struct diff_verdict {
	const struct diff_rule *rule;
	const char *path, *function; /* "": not known, or the whole */
	uint32_t line; /* of AFTER, or where the function begins; 0: not known */
	bool is_function; /* the subject is a function; a rule may have several */
	struct change change;
	double growth; /* relative; infinite: it has no samples before */
	bool is_exceeded;
};

struct diff_verdicts {
	struct diff_verdict *items; /* in the order of the rules */
	size_t nr, cap;
	size_t nr_exceeded;
};

/**
 * Judges @d, which was compared.
 *
 * Return: 0; -ENOMEM; -EINVAL with a message: neither side has the subject of a rule.
 */
int diff_judge(const struct profile_diff *d, const struct diff_rule *rules, size_t nr,
	       struct diff_verdicts *ret, struct error *err);
void diff_verdicts_deinit(struct diff_verdicts *v);

#endif
