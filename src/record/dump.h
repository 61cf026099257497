/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --dump: prints the data that passes between the stages, as text. */
#ifndef LB_RECORD_DUMP_H
#define LB_RECORD_DUMP_H

#include <stdio.h>

#include "collect/sampler.h"
#include "process/process.h"
#include "symbolize/symbolizer.h"

struct process_table;

void dump_sample(const struct sample *sample, FILE *out);
void dump_maps(struct process_table *processes, FILE *out);
void dump_resolved(const struct resolved *resolved, FILE *out);

#endif
