/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a profile says beside its samples: target, machine, losses, cost, warnings. */
#ifndef LB_RECORD_RECORDING_EXTRA_H
#define LB_RECORD_RECORDING_EXTRA_H

struct recording;

/**
 * Fills in the extra of @r's profile, and its times, for the window that has ended:
 * window.totals are of then. Losses and costs are those since the window before.
 */
void recording_fill_extra(struct recording *r);

#endif
