/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members that lineburn.proto and the model have under the same name. */
#ifndef LB_PROFILE_EXTRA_FIELDS_H
#define LB_PROFILE_EXTRA_FIELDS_H

/* struct profile_losses and Lineburn__Losses; all uint64_t */
#define EXTRA_LOSSES(X)             \
	X(due)                      \
	X(sampled)                  \
	X(counted)                  \
	X(missed)                   \
	X(lost_counts_full)         \
	X(lost_internal)            \
	X(lost_drain)               \
	X(no_body)                  \
	X(user_truncated)           \
	X(kern_truncated)           \
	X(kern_failed)              \
	X(idle)                     \
	X(other)                    \
	X(first_dropped)            \
	X(lost_events)              \
	X(processes_dropped)        \
	X(files_dropped)            \
	X(names_dropped)            \
	X(addresses_dropped)        \
	X(rows_dropped)             \
	X(decoder_deaths)           \
	X(decoder_deadlines)        \
	X(jit_objects_lost)         \
	X(jit_objects_foreign)      \
	X(unwind_requests_dropped)  \
	X(unwind_pages_evicted)     \
	X(unwind_pages_refused)     \
	X(unwind_rules_refused)     \
	X(unwind_segments_refused)  \
	X(unwind_processes_refused) \
	X(unwind_files_failed)      \
	X(guessed_frames)           \
	X(pythons_unknown)          \
	X(python_stale)             \
	X(python_faults)            \
	X(python_codes_lost)        \
	X(stolen_ns)

/* struct profile_cost and Lineburn__Cost; all uint64_t */
#define EXTRA_COST(X)               \
	X(bpf_runs)                 \
	X(bpf_ns)                   \
	X(collector_cpu_ns)         \
	X(collector_peak_rss_bytes) \
	X(map_bytes)                \
	X(budget_ppm)               \
	X(tick_ns)                  \
	X(lowered_ns)               \
	X(longest_period_ns)

#endif
