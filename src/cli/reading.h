/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile to view, and the rights to view it with. Its writer chooses each of its
 * bytes, and the files that it names. So root decodes and shows only root's own profiles
 * as root; for another one it gives up its rights for good before it looks at a byte.
 */
#ifndef LB_CLI_READING_H
#define LB_CLI_READING_H

#include <stdbool.h>

#include "base/error.h"
#include "base/io.h"
#include "profile/profile.h"

/* From most to fewest. */
enum viewer_rights {
	RIGHTS_OWN, /* those of the caller */
	RIGHTS_USER, /* those of the user who called sudo */
	RIGHTS_NONE, /* those of a uid that nobody else has */
};

struct profile_input {
	const char *name; /* of the file, or "stdin" */
	int fd; /* -1: not open; that of stdin is not ours */
	bool is_strangers; /* untrusted: no file that it names may be opened */
	enum viewer_rights rights; /* most that it may be viewed with */
};

/* Which files may be opened of those that it names, and who opens them. */
struct named_files {
	/* It is untrusted: only those below the NEW of a rule (struct source_search). */
	bool is_strangers;
	bool is_careful; /* root's, of programs that may be strangers' (same) */
	bool is_run; /* shown by run, as root without the rights to open more */
	struct file_opener opener;
};

/**
 * Takes the capabilities of a caller that is not root, which only a recording needs. Call it
 * before the first path of the command line is opened.
 */
void reading_begin(void);

/**
 * Opens the profile at @path ("-": stdin), and finds out who may have written it.
 * reading_begin() is part of it. Return: 0 or -errno with a message.
 */
int profile_input_open(const char *path, struct profile_input *ret, struct error *err);
/**
 * The same for a file that was just written at @path, in the folder @folder_fd. What another
 * user has put into its place is not waited for.
 */
int profile_input_open_in(int folder_fd, const char *path, struct profile_input *ret,
			  struct error *err);
/** Decodes it. Return: 0 or -errno with a message. */
int profile_input_load(const struct profile_input *r, struct strpool *pool,
		       struct profile **ret, struct error *err);
void profile_input_deinit(struct profile_input *r);

/**
 * Gives up root's rights for good, but for @rights.
 * Return: 0 or -errno with a message.
 */
int rights_give_up(enum viewer_rights rights, struct error *err);

#endif
