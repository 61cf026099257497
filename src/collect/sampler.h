/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the BPF sampler, attaches it to a sample source and drains it. */
#ifndef LB_COLLECT_SAMPLER_H
#define LB_COLLECT_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collect/cpu_clock.h"
#include "collect/kmap.h"
#include "collect/sample_source.h"
#include "lineburn_unwind.h"

#define SAMPLER_MAX_HZ 10000

/*
 * The types of the kernel. libbpf shall look only here for those that the programs know: it
 * would look for types that this kernel lacks in all modules, too, which takes
 * CAP_SYS_ADMIN (libbpf 1.1). No module has any of them.
 */
#define KERNEL_BTF_PATH "/sys/kernel/btf/vmlinux"

struct sampler_config {
	const struct sample_source_kind *source; /* NULL: cpu_clock_source */
	uint32_t freq_hz; /* of a clock: 1..SAMPLER_MAX_HZ */
	uint64_t period; /* of another source: > 0, events per sample */
	bool whole_machine; /* false: only the targets */
	bool keep_tid; /* samples keep their thread id */
	uint32_t launched_tgid; /* its execs are announced as requests before their first
				 * samples; 0: none */
	bool kernel_stacks;
	bool walk_user; /* false: leaf of user stacks only (kernel_quirks.h) */
	uint32_t max_frames; /* of user stacks, 1..LB_MAX_FRAMES; 0: that */
	uint32_t nr_cpus; /* to size the maps for; 0: those of this machine */
	size_t max_rows; /* of one slot's counts map; 0: by rate and CPUs */
	size_t body_bytes; /* of one slot's body store, a power of two; 0: same */
};

/*
 * Totals from the start to the last drain. At every drain
 * sampled = counted + lost_counts_full + lost_internal + lost_drain, exactly.
 */
struct sampler_totals {
	struct lb_counters ctr; /* added up over CPUs and slots */
	/* added up from the drained rows; equals LB_CTR_COUNTED - lost_drain */
	uint64_t rows_counted;
	uint64_t lost_drain; /* counted in the kernel, but the row could not be read */
	/* rows whose body was not found: counted without frames */
	uint64_t bodies_missing;
	uint64_t targets_dropped; /* children of targets that did not fit the map */
	/* forks, executions and exits that the programs for them missed */
	uint64_t tasks_missed;
	uint64_t cgroups_too_deep; /* filter checks that had to skip cgroups */
	uint64_t due; /* expected ticks of all tasks, without idle time */
	uint64_t due_error; /* due is exact to this number of ticks */
	uint64_t ran; /* ticks that ran, without those of idle CPUs */
	uint64_t stolen_ns; /* stolen by a hypervisor: cpus_stolen_ns() */
	uint64_t enabled_ns; /* sum over CPUs of the time that events were enabled */
	uint32_t nr_cpus; /* CPUs with an event now */
	/* idle time is unknown; then due is unknown, too, and 0 */
	bool idle_unknown;
};

/* From the start to the last drain. */
struct sampler_cost {
	uint32_t nr_cpus; /* sampled now */
	uint64_t nr_ticks; /* including those of idle CPUs */
	/*
	 * Time in the program at ticks that were not idle, of targets or others. An
	 * idle tick costs almost nothing compared to its interrupt.
	 */
	uint64_t program_ns;
};

struct sampler;

/** Opens, sizes and loads the BPF object. Nothing is sampled yet. */
int sampler_new(const struct sampler_config *config, struct sampler **ret,
		struct error *err);
void sampler_free(struct sampler *s);
DEFINE_CLEANUP(struct sampler, sampler_free);

/** Makes @tgid a target, with its threads and future children. */
int sampler_add_target(struct sampler *s, uint32_t tgid, struct error *err);

/* For collect/ only: its maps and variables. Borrowed. */
struct sampler_bpf;
struct sampler_bpf *sampler_skel(const struct sampler *s);

/* Returns the maps of the unwinder, which other stages fill. Borrowed. */
void sampler_unwind_kmaps(const struct sampler *s, struct unwind_kmaps *ret);

/** Attaches an event on every online CPU and starts them. */
int sampler_start(struct sampler *s, struct error *err);

/**
 * Adds CPUs that came online and drops those that went offline. Cheap if none changed.
 */
void sampler_follow_cpus(struct sampler *s);

/** Changes what depends on time in the source. Call it a few times a second. */
void sampler_tick(struct sampler *s, uint64_t now_ns);

/**
 * Sets the rate to config.freq_hz / 2^@level. @level  < CPU_CLOCK_NR_LEVELS. Does nothing
 * if the source has no rate.
 */
void sampler_set_level(struct sampler *s, unsigned int level);

/** Stops the events. Samples already taken can still be drained. */
void sampler_stop(struct sampler *s);

/** Becomes readable (poll) when sampler_notices() has something to deliver. */
int sampler_poll_fd(const struct sampler *s);

/* One row of a drained slot, as plain data. Pointers are valid during the callback only. */
struct sample {
	uint64_t start_boottime_ns; /* of the thread group's leader */
	uint32_t tgid; /* initial pid namespace */
	uint32_t exec_id;
	uint32_t code_gen;
	enum lb_stack_status status;
	uint64_t count; /* > 0 */
	enum lb_source source;
	/* Sums of the samples' values, by source; [0] is the sum of their periods. */
	uint64_t values[LB_NR_VALUES];
	uint64_t first_ns; /* CLOCK_MONOTONIC, first_ns <= last_ns */
	uint64_t last_ns;
	const char *comm; /* of the thread, terminated; NULL: not known */
	uint32_t tid; /* 0: threads are not distinguished, or unknown */
	uint64_t cgroup_id; /* 0: not known */
	uint32_t uid; /* effective, of the process then; if has_uid */
	bool has_uid;
	uint64_t user_hash; /* covers comm, cgroup, tid, uid and user_ips */
	uint64_t kern_hash; /* 0: no kernel stack */
	/* Leaf first: an instruction, or a return address after a system call. */
	const __u64 *user_ips;
	const __u64 *kern_ips; /* leaf first: an instruction, then return addresses */
	bool user_leaf_is_return; /* the thread is in a system call */
	uint32_t nr_user;
	uint32_t callers; /* LB_CALLERS_*: how some user frames were found */
	uint32_t nr_kern;
};

struct sampler_handlers {
	void *ctx;
	/* First in a drain: samples from now on are in the other slot. */
	void (*flipped)(void *ctx);
	/*
	 * Next: all programs that ran before have ended. That takes milliseconds, on a
	 * loaded machine maybe a second.
	 */
	void (*grace)(void *ctx);
	/*
	 * After this time, ns, a call leaves first samples to the next one, but for those
	 * that were announced together, and after as long again requests and code
	 * objects. 0: it tells all that came before it.
	 */
	uint64_t notices_ns;
	/*
	 * Announces a first sample that is told soon; NULL: that is not wanted. Return:
	 * false: those announced are to be told before more are announced.
	 */
	bool (*announce)(void *ctx, const struct lb_first_sample *first);
	/* The announced ones are told next (@is_next), or have been told. NULL as above. */
	void (*announced)(void *ctx, bool is_next);
	/*
	 * Returns whether the first sample of this image was told. While first samples are
	 * left, requests and code objects of others wait. NULL: all are told at once.
	 */
	bool (*knows)(void *ctx, const struct lb_image *image);
	void (*first_sample)(void *ctx, const struct lb_first_sample *first);
	/* A walk of a user stack needs a table that is missing. */
	void (*unwind_request)(void *ctx, const struct lb_unwind_request *request);
	/* A code object of an interpreter at its first sample; has @size_bytes. */
	void (*interp_code)(void *ctx, const struct lb_interp_code *code,
			    size_t size_bytes);
	void (*sample)(void *ctx, const struct sample *sample);
};

/**
 * Empties the rings of first samples, requests and code objects into memory, for the next
 * call below. May be called while a handler waits.
 */
void sampler_gather(struct sampler *s);

/**
 * Delivers first samples, requests and code objects to their handlers.
 * Return: true when a slot is half full and should be drained now.
 */
bool sampler_notices(struct sampler *s, const struct sampler_handlers *handlers);
/** Are any left for the next call, or the next drain? */
bool sampler_notices_are_left(const struct sampler *s);

/**
 * Flips the slots, waits until the kernel has left the old one, delivers its rows to
 * handlers->sample and empties it. Takes ~10 ms of waiting.
 * Return: 0 or a negative errno of a map operation (then rows may be lost, counted).
 */
int sampler_drain(struct sampler *s, const struct sampler_handlers *handlers);

/** Returns those totals that are cheap to read. */
void sampler_cost(const struct sampler *s, struct sampler_cost *ret);

void sampler_totals(struct sampler *s, struct sampler_totals *ret);
/** Returns sampler_totals.tasks_missed, which is cheap to read. */
uint64_t sampler_tasks_missed(const struct sampler *s);

/** Returns the drain interval that keeps slots from filling, ms. */
unsigned int sampler_drain_interval_ms(const struct sampler *s);
/** Returns how long the kernel has room at this rate if all samples differ, ms. */
unsigned int sampler_room_ms(const struct sampler *s);

/** Returns the kernel memory of all maps, bytes. */
uint64_t sampler_map_bytes(const struct sampler *s);

/** Returns the number of verified instructions of all loaded programs; 0: not known. */
uint32_t sampler_verified_insns(const struct sampler *s);

#endif
