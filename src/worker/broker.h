/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Brokers keep the caller's rights after the collector has given up its own (lockdown.h),
 * and use them for single things that the collector asks for. A broker is a fork of the
 * collector from before it read anything of a target. It reads nothing but requests: an
 * operation, a small structure, descriptors. It ends with the collector.
 *
 * Without brokers (readers of profiles, doctor, tests) the calling process does the same
 * things itself.
 *
 * A broker serves one request at a time, of one thread at a time.
 */
#ifndef LB_WORKER_BROKER_H
#define LB_WORKER_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum broker_kind {
	BROKER_HELPERS, /* starts workers, opens what the kernel gives only to root */
	BROKER_OUTPUT, /* writes files, runs the pager and the browser */
	NR_BROKER_KINDS,
};

/* Each is described where it is served. */
enum broker_op {
	/* BROKER_HELPERS */
	BROKER_START_CHILD, /* worker/child.c */
	BROKER_KILL_CHILD,
	BROKER_REAP_CHILD,
	BROKER_NAME_USER, /* record/user_names.c */
	BROKER_NEXT_BPF_PROGRAM, /* collect/bpf_programs.c */
	/* BROKER_OUTPUT */
	BROKER_WRITE_FILE, /* record/output.c */
	BROKER_FOLLOW_FOLDER,
	BROKER_OPEN_PAGER, /* cli/pager.c */
	BROKER_CLOSE_PAGER,
	BROKER_WRITE_PAGE, /* cli/commands.c */
	BROKER_FINISH_OUTPUT, /* cli/keeper.c */
	BROKER_OPEN_SOURCE,
	NR_BROKER_OPS,
};

#define BROKER_MAX_BYTES 4096 /* of a request, of a reply */
#define BROKER_MAX_FDS   2

struct broker_message {
	void *data;
	size_t len;
	int fds[BROKER_MAX_FDS];
	size_t nr_fds;
};

/**
 * Serves one request.
 *
 * @request  its descriptors are closed by the caller
 * @reply    data has BROKER_MAX_BYTES zero bytes, len is 0; descriptors are closed after
 *           they were sent
 * Return: 0 or a negative errno; the reply is sent in both cases.
 */
typedef int broker_fn(void *ctx, const struct broker_message *request,
		      struct broker_message *reply);

struct broker_config {
	const char *name; /* of the process, at most 15 bytes */
	broker_fn *const *ops; /* NR_BROKER_OPS; NULL: not served */
	uint64_t capabilities; /* that it keeps, of those present (base/capability.h) */
	bool passes_on; /* programs that it executes get these, and nothing else */
	void (*begin)(void *ctx); /* called in the new process; may be NULL */
	void *ctx;
	int answer_ms; /* most time for an answer; 0: as long as it takes */
	/*
	 * The one descriptor of the caller, beside the standard streams, that the broker
	 * has, too. There the number becomes another. NULL, or -1: none
	 */
	int *kept_fd;
};

/**
 * Forks a broker. It keeps the standard streams and no other descriptor, and blocks all
 * signals. Call it while there is one thread.
 */
int broker_begin(enum broker_kind kind, const struct broker_config *config,
		 struct error *err);
/** Ends all brokers and waits for them: for those with an answer_ms 2 s at most. */
void broker_end(void);

/** Is the broker there, or was it and has died? Then its requests fail. */
bool broker_is_there(enum broker_kind kind);

/**
 * Makes one request and waits for its reply.
 *
 * @request  descriptors are borrowed; NULL: an empty one
 * @reply    data of len bytes is filled; a reply of another length is an error. Its
 *           descriptors are the caller's, also if the operation failed. NULL: none wanted
 * Return: the operation's 0 or negative errno; -EPIPE: the broker has ended; -EAGAIN: it has
 * not answered in its time, and what it does then is lost, or it has still to answer an
 * earlier request.
 */
int broker_ask(enum broker_kind kind, enum broker_op op,
	       const struct broker_message *request, struct broker_message *reply);

/*
 * Content of any size goes along as a memfd, the first descriptor of a request.
 */

/** Return: 0, or a negative errno. Then, and after the request, broker_drop_content(). */
int broker_put_content(struct broker_message *request, const void *data, size_t len);
void broker_drop_content(struct broker_message *request);
/**
 * In the broker: maps it until the process ends or munmap(2). *ret is NULL if there are no
 * bytes. Return: 0 or a negative errno.
 */
int broker_map_content(const struct broker_message *request, void **ret,
		       uint64_t *ret_len);

/**
 * For other children of the collector: closes the brokers' sockets. A broker ends when nobody
 * has its socket any more.
 */
void broker_leave(void);

/** For children of a broker: unblocks the signals that broker_begin() has blocked. */
void broker_restore_signals(void);

/** Returns its process id, or 0. */
pid_t broker_pid(enum broker_kind kind);
/** Returns the CPU time of all brokers in ns. */
uint64_t broker_cpu_ns(void);

#endif
