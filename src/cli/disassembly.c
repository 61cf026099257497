// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/disassembly.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/creds.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "process/file.h"
#include "profile/profile.h"
#include "symbolize/instructions.h"
#include "worker/worker.h"

#define MAX_FILE_BYTES (64ULL << 30)

struct disassembly {
	const struct profile *p;
	struct worker *worker;
	int root_fd;
	const struct named_files *named;
	struct hashmap withheld; /* names of files, by their addresses */
};

static void disassembly_deinit(struct disassembly *d)
{
	worker_free(d->worker);
	hashmap_deinit(&d->withheld);
	if (d->root_fd >= 0)
		close(d->root_fd);
}

/* ---- sources of the code ---- */

/*
 * Returns the architecture of the stored code: the recording machine's, else this
 * one's.
 */
static uint16_t machine_of(const struct profile *p)
{
	struct utsname name;

	if (*p->extra.arch)
		return instructions_machine(p->extra.arch);
	return uname(&name) ? EM_NONE : instructions_machine(name.machine);
}

static int open_by(const struct file_opener *opener, const char *path)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	fd = opener->open(opener->ctx, path, &st);
	return fd >= 0 && (uint64_t)st.st_size > MAX_FILE_BYTES ? -EFBIG : take_fd(&fd);
}

/*
 * Opens an untrusted path: only a regular file, whose build id is checked later. Any
 * program may have chosen the path, in a mount namespace of its own.
 * Ignores " (deleted)", the kernel's mark of a removed file, because a new file may
 * have the same content.
 */
static int open_file(const struct disassembly *d, const char *filename)
{
	static const char deleted[] = " (deleted)";
	static const struct file_opener nobody = {.open = creds_open_as_nobody};
	struct safe_open how = {.root_fd = d->root_fd, .max_bytes = MAX_FILE_BYTES};
	size_t len = strlen(filename);
	char path[PATH_MAX];

	if (filename[0] != '/' || len >= sizeof(path))
		return -ENOENT;
	strcpy(path, filename);
	if (len > strlen(deleted) && !strcmp(path + len - strlen(deleted), deleted))
		path[len - strlen(deleted)] = '\0';
	how.path = path;
	if (d->named->is_careful)
		return open_by(&nobody, path);
	return d->named->opener.open ? open_by(&d->named->opener, path)
				     : safe_open(&how, NULL);
}

static const char *status_text(enum instructions_status status)
{
	static const char *const texts[] = {
		[INSTRUCTIONS_OK] = "",
		[INSTRUCTIONS_BAD_FILE] = "it is not an ELF file, or it is damaged",
		[INSTRUCTIONS_FILE_REPLACED] =
			"it is not the build that ran; put that build there",
		[INSTRUCTIONS_NOT_THERE] = "it has no code at these addresses",
		[INSTRUCTIONS_UNKNOWN_MACHINE] =
			"lineburn does not disassemble code of its machine",
		[INSTRUCTIONS_TOO_LARGE] = "the function is too large",
		[INSTRUCTIONS_GAVE_UP] = "the decoder gave up on it",
	};

	_Static_assert(ARRAY_SIZE(texts) == NR_INSTRUCTIONS_STATUSES, "one text each");
	return texts[status];
}

static int ask(struct disassembly *d, struct machine_piece *piece,
	       const struct instructions_question *question, const char *where)
{
	_cleanup_(instruction_list_deinit) struct instruction_list list = {0};
	int err = instructions_ask(d->worker, question, &list);

	if (err)
		return err;
	piece->instructions = take_ptr(list.items);
	piece->nr = list.nr;
	piece->bytes = take_ptr(list.bytes);
	piece->texts = take_ptr(list.texts);
	if (list.status != INSTRUCTIONS_OK)
		piece->note = strpool_print(d->p->pool,
					    "no instructions: looked in %s: %s", where,
					    status_text(list.status));
	return 0;
}

static int fill_from_profile(struct disassembly *d, struct machine_piece *piece)
{
	const struct instructions_question question = {
		.address = piece->code->address,
		.size_bytes = piece->code->size_bytes,
		.bytes = piece->code->bytes,
		.machine = machine_of(d->p),
		.fd = -1,
	};

	piece->not_linked = true;
	return ask(d, piece, &question, "the profile");
}

/* A file may have several pieces. Return: 0 or -ENOMEM. */
static int count_withheld(struct disassembly *d, const char *filename)
{
	uint64_t hash = hash_pointer(0, filename);

	if (hashmap_get(&d->withheld, hash, NULL, NULL, NULL) != HASHMAP_NONE)
		return 0;
	return hashmap_add(&d->withheld, hash, 0);
}

static int withhold(struct disassembly *d, struct machine_piece *piece,
		    const char *filename, const char *note)
{
	piece->note = note;
	return count_withheld(d, filename);
}

static int fill_from_file(struct disassembly *d, struct machine_piece *piece)
{
	const struct profile_mapping *mapping =
		piece->code->mapping < d->p->nr_mappings
			? &d->p->mappings[piece->code->mapping]
			: NULL;
	const char *filename = mapping ? mapping->filename : "";
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	struct instructions_question question = {
		.address = piece->code->address,
		.size_bytes = piece->code->size_bytes,
		.build_id = build_id,
		.build_id_len = mapping ? build_id_parse(mapping->build_id, build_id) : 0,
	};
	_cleanup_close_ int fd = -1;
	int err;

	if (filename[0] != '/') {
		piece->note = strpool_print(d->p->pool,
					    "no instructions: its machine code is not in "
					    "a file, and the profile has no copy");
		return 0;
	}
	if (d->named->is_strangers)
		return withhold(
			d, piece, filename,
			strpool_print(d->p->pool,
				      "no instructions: the profile is not a file of "
				      "yours, so %s is not opened; use --sources",
				      filename));
	fd = open_file(d, filename);
	if (d->named->is_careful && (fd == -EACCES || fd == -EPERM))
		return withhold(d, piece, filename,
				strpool_print(d->p->pool,
					      "no instructions: not every user may read "
					      "%s; use --sources to open it as root",
					      filename));
	if (fd < 0) {
		piece->note = strpool_print(
			d->p->pool,
			"no instructions: looked for %s: %s; run annotate where that "
			"file "
			"is",
			filename,
			fd == -EINVAL || fd == -EXDEV ? "not a regular file"
						      : strerror(-fd));
		return 0;
	}
	question.fd = fd;
	err = ask(d, piece, &question, filename);
	if (!err && piece->nr && !question.build_id_len)
		piece->note = strpool_print(d->p->pool,
					    "it is not known whether %s is the file that "
					    "ran: it had no build id",
					    filename);
	return err;
}

int disassembly_fill(struct machine_code *m, const struct profile *p,
		     const struct named_files *named, size_t *ret_nr_withheld)
{
	_cleanup_(disassembly_deinit) struct disassembly d = {
		.p = p,
		.named = named,
		.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
	const struct worker_config config = {0};
	int err = worker_new(&config, &d.worker, NULL);

	for (size_t i = 0; i < m->nr && !err; i++)
		err = m->pieces[i].code->bytes ? fill_from_profile(&d, &m->pieces[i])
					       : fill_from_file(&d, &m->pieces[i]);
	*ret_nr_withheld += d.withheld.nr_items;
	return err ? -ENOMEM : 0;
}
