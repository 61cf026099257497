// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/as_root.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/suggest.h"
#include "base/user.h"
#include "process/proc_dir.h"
#include "target/comm_glob.h"

#define MAX_THREADS    100000 /* most threads whose names are read */
#define LIST_BYTES     65536 /* of those of one process: 8,192 at least */
#define MAX_USERS      64 /* most users to suggest */
#define COMM_MAX_BYTES 64

/* ---- -p ---- */

/* Processes that have this pid in another pid namespace: "4711 (nginx), 4812 (sh)". */
struct inside {
	uint32_t pid;
	char text[512];
	size_t nr;
};

static int list_in_namespace(void *ctx, uint32_t tgid, int dir)
{
	struct inside *inside = ctx;
	struct proc_status status;
	struct proc_stat stat;
	char comm[80];

	if (dir < 0 || proc_dir_status(dir, &status) || status.ns_tgid != inside->pid ||
	    proc_dir_stat(dir, &stat))
		return 0;
	text_append(inside->text, sizeof(inside->text), "%s%u (%s)",
		    inside->nr++ ? ", " : "", tgid,
		    escape_terminal_buf(comm, sizeof(comm), stat.comm));
	return inside->nr == SUGGESTIONS_SHOWN;
}

int explain_no_process(uint32_t pid, struct error *err)
{
	_cleanup_close_ int dir = proc_dir_open_here(pid);
	struct inside inside = {.pid = pid};
	struct proc_status status;
	struct proc_stat stat;
	char advice[AS_ROOT_MAX_BYTES];

	if (dir >= 0 && !proc_dir_stat(dir, &stat) && !proc_dir_status(dir, &status)) {
		if (status.tgid != pid)
			return error_set(
				err, -ESRCH,
				"%u is a thread of process %u; give -t %u, or -p "
				"%u for all of its threads",
				pid, status.tgid, pid, status.tgid);
		if (stat.state == 'Z')
			return error_set(err, -ESRCH,
					 "process %u has ended, and its parent %u has "
					 "not collected its exit status yet; see \"ps "
					 "-e\" for what runs",
					 pid, stat.ppid);
	} else if (proc_dir_is_late(dir)) {
		return error_set_exit(
			err, EXIT_SYSTEM, dir,
			"/proc does not answer: a process holds it; try again, "
			"and see what \"ps -e\" waits for");
	} else if (!kill((pid_t)pid, 0) || errno == EPERM) {
		return error_set_exit(
			err, EXIT_SYSTEM, -EACCES,
			"process %u is hidden by an option of /proc (hidepid); add "
			"CAP_SYS_PTRACE%s",
			pid, as_root_advice(advice, sizeof(advice)));
	}
	proc_dir_each(AT_FDCWD, list_in_namespace, &inside);
	if (inside.nr)
		return error_set(err, -ESRCH,
				 "there is no process %u; processes with this pid in a "
				 "pid namespace of their own: %s",
				 pid, inside.text);
	return error_set(err, -ESRCH,
			 "there is no process %u; see \"ps -e\" for what runs", pid);
}

/* ---- --comm and --user ---- */

/* A search for threads, and the names it found. */
struct thread_search {
	struct lb_comm_table *comms; /* one pattern; NULL: searches a user */
	uint32_t uid;
	uint32_t uids[MAX_USERS]; /* of processes so far */
	size_t nr_uids;
	bool is_found;
	size_t nr_threads;
	size_t nr_late; /* processes that did not answer */
	struct suggestions others;
};

static int look_at_comm(void *ctx, const char *tid, const char *text)
{
	struct thread_search *s = ctx;
	char comm[COMM_MAX_BYTES];

	(void)tid;
	snprintf(comm, sizeof(comm), "%.*s", (int)strcspn(text, "\n"), text);
	s->is_found = comm_glob_match(s->comms, comm) & LB_FILTER_IN(LB_FILTER_COMM);
	suggestions_add(&s->others, comm);
	return s->is_found || ++s->nr_threads == MAX_THREADS;
}

static int look_at_user(struct thread_search *s, int dir)
{
	struct proc_status status;
	struct user user;
	int rc = proc_dir_status(dir, &status);

	if (rc)
		return rc;
	s->is_found = status.uid == s->uid;
	for (size_t i = 0; i < s->nr_uids; i++)
		if (s->uids[i] == status.uid)
			return 0;
	if (s->nr_uids == MAX_USERS)
		return 0;
	s->uids[s->nr_uids++] = status.uid;
	if (user_by_uid(status.uid, USER_ASK_MS, &user))
		snprintf(user.name, sizeof(user.name), "%u", status.uid);
	suggestions_add(&s->others, user.name);
	return 0;
}

static int look_at_process(void *ctx, uint32_t tgid, int dir)
{
	struct thread_search *s = ctx;
	int rc = dir;

	if (dir >= 0)
		rc = s->comms ? proc_dir_each_thread(dir, "comm", LIST_BYTES,
						     look_at_comm, s)
			      : look_at_user(s, dir);

	(void)tgid;
	s->nr_late += proc_dir_is_late(rc);
	/* Threads that were not read may match. */
	s->is_found |= rc == -EFBIG;
	return s->is_found || s->nr_threads == MAX_THREADS;
}

static void look_at_all(struct thread_search *s)
{
	int rc = proc_dir_each(AT_FDCWD, look_at_process, s);

	/* The same. */
	s->is_found |= rc < 0 || s->nr_threads == MAX_THREADS;
}

static bool matches_nothing(const struct target_value *v, char *ret, size_t size)
{
	bool is_comm = v->kind == LB_FILTER_COMM;
	_cleanup_free_ struct lb_comm_table *table = calloc(1, sizeof(*table));
	struct thread_search s = {.comms = is_comm ? table : NULL};
	struct user user;
	char *end = "";
	char asked[128], others[512];

	if (is_comm || user_by_name(v->text, USER_ASK_MS, &user))
		user.uid = (uid_t)strtoul(v->text, &end, 10);
	s.uid = user.uid;
	if (!table || (!is_comm && *end) ||
	    (is_comm && comm_glob_add(table, v->text, false)))
		return false;
	look_at_all(&s);
	if (!s.is_found)
		snprintf(ret, size,
			 is_comm ? "no thread is called \"%s\"; %s"
				 : "nothing runs as user \"%s\"; %s",
			 escape_terminal_buf(asked, sizeof(asked), v->text),
			 suggestions_say(&s.others, v->text, others, sizeof(others)));
	if (!s.is_found && s.nr_late)
		text_append(ret, size, "; processes that did not answer: %zu", s.nr_late);
	suggestions_deinit(&s.others);
	return !s.is_found;
}

/*
 * Finds the first --comm or --user that matches no thread: @ret is an escaped sentence
 * without its end. Return: false, with @ret unchanged, if all match.
 */
static bool find_first(const struct target_request *r, char *ret, size_t size)
{
	for (size_t i = 0; i < r->nr_values; i++) {
		const struct target_value *v = &r->values[i];

		if (!v->excludes &&
		    (v->kind == LB_FILTER_COMM || v->kind == LB_FILTER_USER) &&
		    matches_nothing(v, ret, size))
			return true;
	}
	return false;
}

void explain_empty_target(const struct target_request *r)
{
	char nothing[768];

	if (!r->is_command && find_first(r, nothing, sizeof(nothing)))
		log_warning("%s; recording in case that changes", nothing);
}

int explain_no_samples(const struct target_request *r, bool is_clock, struct error *err)
{
	char nothing[768];

	if (find_first(r, nothing, sizeof(nothing)))
		return error_set_exit(err, EXIT_NO_SAMPLES, -ENODATA, "no samples: %s",
				      nothing);
	return error_set_exit(
		err, EXIT_NO_SAMPLES, -ENODATA,
		is_clock ? "no samples: the target used no CPU; record for longer, or "
			   "with a higher -F"
			 : "no samples: the sampled event did not happen in the target; "
			   "record for longer, or with a lower -c");
}
