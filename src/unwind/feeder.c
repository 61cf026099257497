// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/feeder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "process/table.h"
#include "unwind/files.h"
#include "unwind/interps.h"
#include "unwind/segments.h"
#include "unwind/tables.h"
#include "unwind/texts.h"

/*
 * Limit of one look: requests that arrive meanwhile wait, above all those of new
 * programs.
 */
#define LOOK_NS      10000000ULL
#define EARLY_NS     2000000ULL /* part of it for files not requested yet */
#define MAX_REQUESTS 4096
/*
 * Pause of an image after its segments were built, so that one that always maps or
 * registers code takes neither all our time nor all room for segments between two grace
 * periods: a multiple of the time taken, plus a time per segment. The time taken is
 * capped, as other programs may have had the CPU.
 */
#define REST_TIMES      16
#define REST_MAX_NS     100000000ULL /* cap for the time taken */
#define REST_SEGMENT_NS 50000ULL
#define NO_ROOM_REST_NS 1000000000ULL
/* After a program starts, the loader maps its first libraries in about this time. */
#define LOADING_NS 1000000ULL

/* What the kernel knows of an image; indexed by id like the process table. */
struct watched_image {
	struct lb_image key; /* start_boottime_ns 0: forked, not sampled yet */
	bool in_use;
	bool is_dirty; /* its segments must be rebuilt */
	bool is_told; /* the kernel has our entry of it */
	uint64_t maps_changes, jit_changes; /* of the process, when they were built */
	uint64_t interp_changes; /* of its maps, at the last search for an interpreter */
	uint64_t rest_until_ns;
	struct text_set texts; /* texts that the segments refer to */
	struct image_interp interp;
};

struct unwind_feeder {
	struct process_table *processes; /* borrowed */
	struct unwind_tables *tables;
	struct unwind_files *files;
	struct unwind_texts *texts;
	struct unwind_interps *interps;
	struct segment_list segments; /* work space */

	struct watched_image *images; /* by id; heap */
	size_t nr_images, cap_images;
	uint32_t *used; /* ids in use; heap */
	size_t nr_used, cap_used;
	size_t nr_dirty; /* images that may be dirty, an upper limit */
	bool has_new_mappings; /* not yet searched for an interpreter */
	size_t nr_waiting; /* images whose interpreter must be queried */
	bool has_cut_codes; /* some image has code objects to read again */
	size_t next_from; /* index in used at which a look begins, round robin */

	struct lb_unwind_request *requests; /* heap */
	size_t nr_requests, cap_requests;
	uint64_t jit_changes; /* of all images, at the last comparison */
	bool is_expecting; /* some images may have changed */
	bool is_behind; /* the last look ran out of time */
	uint64_t look_again_ns; /* new programs' libraries are mapped then; 0: none */
	struct unwind_feeder_totals totals;
};

int unwind_feeder_new(const struct unwind_feeder_config *config,
		      const struct unwind_kmaps *maps, struct process_table *processes,
		      struct worker *decoder, struct worker *reader,
		      struct unwind_feeder **ret, struct error *err)
{
	_cleanup_(unwind_feeder_freep) struct unwind_feeder *w = calloc(1, sizeof(*w));
	struct unwind_tables_config tables = {.max_row_bytes = config->max_row_bytes};
	int rc;

	if (!w)
		return error_set(err, -ENOMEM, "out of memory");
	w->processes = processes;
	rc = unwind_tables_new(&tables, maps, &w->tables, err);
	if (!rc)
		rc = unwind_files_new(w->tables, processes, decoder, &w->files, err);
	if (!rc)
		rc = unwind_texts_new(w->tables, process_table_jit_store(processes),
				      decoder, &w->texts, err);
	if (!rc)
		rc = unwind_interps_new(w->tables, processes, decoder, reader,
					&w->interps, err);
	if (rc)
		return rc;
	*ret = take_ptr(w);
	return 0;
}

void unwind_feeder_free(struct unwind_feeder *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->nr_images; i++)
		unwind_texts_put(w->texts, &w->images[i].texts);
	free(w->images);
	free(w->used);
	free(w->requests);
	segment_list_deinit(&w->segments);
	unwind_interps_free(w->interps);
	unwind_texts_free(w->texts);
	unwind_files_free(w->files);
	unwind_tables_free(w->tables);
	free(w);
}

void unwind_feeder_prepare(struct unwind_feeder *w, const struct process *p,
			   bool (*is_wanted)(const struct mapping *m),
			   uint64_t deadline_ns)
{
	struct image_interp interp = {0};

	for (size_t i = 0; i < p->maps.nr_live; i++) {
		const struct mapping *m = &p->maps.items[p->maps.live[i]];
		struct lb_unwind_segment not_told;

		if (!is_wanted || is_wanted(m))
			unwind_files_segment(w->files, m, &not_told);
	}
	unwind_files_serve_early(w->files, deadline_ns);
	if (clock_now_ns() < deadline_ns)
		unwind_interps_look(w->interps, p, &interp);
	for (size_t i = 0; is_wanted && i < p->maps.nr_live; i++) {
		const struct mapping *m = &p->maps.items[p->maps.live[i]];

		if (is_wanted(m))
			unwind_files_read(w->files, m, deadline_ns);
	}
}

/* ---- images ---- */

static void forget_image(struct unwind_feeder *w, struct watched_image *img)
{
	if (img->is_told)
		unwind_process_remove(w->tables, &img->key);
	unwind_texts_put(w->texts, &img->texts);
	*img = (struct watched_image){0};
}

static bool is_of(const struct watched_image *img, const struct process *p)
{
	if (!img->in_use || img->key.tgid != p->tgid)
		return false;
	return !img->key.start_boottime_ns ||
	       (img->key.start_boottime_ns == p->start_boottime_ns &&
		img->key.exec_id == p->exec_id);
}

/* Finds or adds the entry of @p. NULL: out of memory. */
static struct watched_image *image_of(struct unwind_feeder *w, const struct process *p)
{
	struct watched_image *img;

	if (vec_grow(&w->images, &w->cap_images, p->id + 1, sizeof(*w->images), 0) ||
	    vec_grow(&w->used, &w->cap_used, w->nr_used + 1, sizeof(*w->used), 0))
		return NULL;
	if (w->nr_images <= p->id)
		w->nr_images = p->id + 1;
	img = &w->images[p->id];
	if (!img->in_use)
		w->used[w->nr_used++] = p->id;
	else if (!is_of(img, p))
		forget_image(w, img);
	img->in_use = true;
	img->key.tgid = p->tgid;
	if (p->identified) {
		img->key.start_boottime_ns = p->start_boottime_ns;
		img->key.exec_id = p->exec_id;
	}
	return img;
}

static void mark(struct unwind_feeder *w, struct watched_image *img)
{
	w->nr_dirty += !img->is_dirty;
	img->is_dirty = true;
}

static void want_segments(struct unwind_feeder *w, const struct process *p)
{
	struct watched_image *img =
		p && !p->is_kernel_thread && p->identified ? image_of(w, p) : NULL;

	if (img)
		mark(w, img);
}

void unwind_feeder_sampled(struct unwind_feeder *w, const struct process *p)
{
	want_segments(w, p);
}

void unwind_feeder_forked(struct unwind_feeder *w, const struct process *parent,
			  const struct process *child)
{
	struct image_interp interp = {0};
	struct watched_image *img;

	if (!parent || !child || parent->id >= w->nr_images ||
	    !is_of(&w->images[parent->id], parent))
		return;
	interp = w->images[parent->id].interp;
	if (interp.state == IMAGE_INTERP_NONE)
		return;
	/* It is at the same place as in the parent. */
	img = image_of(w, child);
	if (img)
		img->interp = interp;
}

void unwind_feeder_code_is_cut(struct unwind_feeder *w)
{
	w->has_cut_codes = true;
}

void unwind_feeder_expect(struct unwind_feeder *w)
{
	w->is_expecting = true;
}

/* Returns the image of an entry, if it is still the same. */
static struct process *process_of(struct unwind_feeder *w, uint32_t id)
{
	struct process *p = process_table_at(w->processes, id);

	return p && is_of(&w->images[id], p) ? p : NULL;
}

static void find_changed(struct unwind_feeder *w)
{
	uint64_t jit_changes = process_table_jit_store(w->processes)->stats.nr_changes;

	if (!w->is_expecting && jit_changes == w->jit_changes)
		return;
	w->is_expecting = false;
	w->jit_changes = jit_changes;
	for (size_t i = 0; i < w->nr_used; i++) {
		uint32_t id = w->used[i];
		struct watched_image *img = &w->images[id];
		const struct process *p = img->is_told ? process_of(w, id) : NULL;

		if (p && (p->maps.nr_changes != img->maps_changes ||
			  p->jit_code.nr_changes != img->jit_changes))
			mark(w, img);
	}
}

/* ---- segments ---- */

static void rest(struct watched_image *img, uint64_t begin_ns, size_t nr_segments)
{
	uint64_t end_ns = clock_now_ns(), rest_ns = REST_TIMES * (end_ns - begin_ns);

	if (rest_ns > REST_MAX_NS)
		rest_ns = REST_MAX_NS;
	img->rest_until_ns = end_ns + rest_ns + REST_SEGMENT_NS * nr_segments;
}

/* Return: false when work is left. */
static bool tell_kernel(struct unwind_feeder *w, const struct process *p,
			struct watched_image *img, uint64_t deadline_ns)
{
	uint64_t begin_ns = clock_now_ns();
	struct text_set texts = {0};
	int rc = unwind_texts_get(w->texts, p, deadline_ns, &texts);
	bool is_whole = !rc;

	if (segment_list_make(&w->segments, p, w->files, &texts))
		w->totals.nr_segments_refused++;
	rc = unwind_process_set(w->tables, &img->key, w->segments.items, w->segments.nr,
				img->interp.number, img->interp.tls_off,
				img->interp.text_bias);
	if (rc) {
		/* The kernel's previous entry still refers to the previous texts. */
		unwind_texts_put(w->texts, &texts);
		img->rest_until_ns = begin_ns + NO_ROOM_REST_NS;
		return false;
	}
	unwind_texts_put(w->texts, &img->texts);
	img->texts = texts;
	img->is_told = true;
	img->maps_changes = p->maps.nr_changes;
	img->jit_changes = p->jit_code.nr_changes;
	rest(img, begin_ns, w->segments.nr);
	return is_whole;
}

static void update(struct unwind_feeder *w, uint32_t id, uint64_t deadline_ns)
{
	struct watched_image *img = &w->images[id];
	const struct process *p = process_of(w, id);

	if (!p || p->until_ns != UINT64_MAX) {
		img->is_dirty = false;
		return;
	}
	if (clock_now_ns() < img->rest_until_ns) {
		w->nr_dirty++;
		return;
	}
	img->is_dirty = !tell_kernel(w, p, img, deadline_ns);
	w->nr_dirty += img->is_dirty;
	w->has_new_mappings |= img->interp.state == IMAGE_INTERP_NONE;
}

static void update_dirty(struct unwind_feeder *w, uint64_t deadline_ns)
{
	size_t nr = w->nr_used;

	if (!w->nr_dirty)
		return;
	w->nr_dirty = 0;
	for (size_t i = 0, from = w->next_from; i < nr; i++) {
		size_t at = (from + i) % nr;
		uint32_t id = w->used[at];

		if (!w->images[id].is_dirty)
			continue;
		if (clock_now_ns() >= deadline_ns) {
			w->next_from = at;
			w->nr_dirty++;
			w->is_behind = true;
			return;
		}
		update(w, id, deadline_ns);
	}
}

/* After the segments: the kernel finds both by them. */
static void find_interps(struct unwind_feeder *w, uint64_t deadline_ns)
{
	if (!w->nr_waiting && !w->has_new_mappings)
		return;
	w->nr_waiting = 0;
	w->has_new_mappings = false;
	for (size_t i = 0; i < w->nr_used; i++) {
		uint32_t id = w->used[i];
		struct watched_image *img = &w->images[id];
		const struct process *p;

		if (!img->is_told || img->interp.state == IMAGE_INTERP_FOUND ||
		    img->interp.state == IMAGE_INTERP_REFUSED)
			continue;
		p = process_of(w, id);
		if (!p || p->until_ns != UINT64_MAX)
			continue;
		if (clock_now_ns() >= deadline_ns) {
			w->has_new_mappings = w->is_behind = true;
			return;
		}
		if (img->interp_changes != p->maps.nr_changes) {
			img->interp_changes = p->maps.nr_changes;
			unwind_interps_look(w->interps, p, &img->interp);
		}
		if (unwind_interps_ask(w->interps, p, &img->interp)) {
			img->rest_until_ns = 0;
			mark(w, img);
		}
		w->nr_waiting += img->interp.state == IMAGE_INTERP_WAITS;
	}
}

/* Soon: the rest of long line tables is lost when the process exits. */
static void read_cut_codes(struct unwind_feeder *w, uint64_t deadline_ns)
{
	if (!w->has_cut_codes)
		return;
	w->has_cut_codes = false;
	for (size_t i = 0; i < w->nr_used; i++) {
		uint32_t id = w->used[i];
		struct watched_image *img = &w->images[id];
		struct process *p = process_of(w, id);

		if (p && clock_now_ns() < deadline_ns)
			unwind_interps_read_codes(w->interps, p, &img->interp);
		w->has_cut_codes |= p && img->interp.number && !img->interp.is_banned &&
				    p->interp_codes.nr_cut;
	}
}

/* ---- requests ---- */

void unwind_feeder_request(struct unwind_feeder *w,
			   const struct lb_unwind_request *request)
{
	if (request->kind == LB_REQUEST_LIST)
		return; /* runtime/jit/watch.h answers it */
	w->totals.nr_requests++;
	if (vec_grow(&w->requests, &w->cap_requests, w->nr_requests + 1,
		     sizeof(*w->requests), MAX_REQUESTS)) {
		w->totals.nr_requests_dropped++;
		return;
	}
	w->requests[w->nr_requests++] = *request;
}

static void want_page(struct unwind_feeder *w, const struct process *p, uint64_t ip)
{
	const struct mapping *m;

	if (maps_find(&p->maps, ip, UINT64_MAX - 1, UINT64_MAX - 1, &m) != MAPS_FOUND)
		return;
	if (unwind_texts_want(w->texts, &w->images[p->id].texts, ip))
		mark(w, &w->images[p->id]);
	else if (m->kind == MAPPING_FILE || m->kind == MAPPING_MEMFD ||
		 m->kind == MAPPING_VDSO)
		unwind_files_want(w->files, m, ip);
}

static void take_request(struct unwind_feeder *w, const struct lb_unwind_request *r)
{
	const struct process *p =
		r->ip ? process_table_first_sample(w->processes, &r->image,
						   clock_now_ns())
		      : process_table_expect(w->processes, &r->image, clock_now_ns());
	struct watched_image *img =
		p && p->identified && !p->is_kernel_thread ? image_of(w, p) : NULL;

	if (!img)
		return;
	if (r->kind == LB_REQUEST_PROCESS || !img->is_told ||
	    p->maps.nr_changes != img->maps_changes)
		mark(w, img);
	if (r->ip)
		want_page(w, p, r->ip);
	else
		w->look_again_ns = clock_now_ns() + LOADING_NS;
}

/* ---- look ---- */

void unwind_feeder_look(struct unwind_feeder *w)
{
	uint64_t deadline_ns;

	if (w->look_again_ns && clock_now_ns() >= w->look_again_ns)
		w->look_again_ns = 0;
	find_changed(w);
	if (!w->nr_requests && !w->nr_dirty && !w->nr_waiting && !w->is_behind &&
	    !w->has_new_mappings && !w->has_cut_codes)
		return;
	deadline_ns = clock_now_ns() + LOOK_NS;
	w->is_behind = false;
	for (size_t i = 0; i < w->nr_requests; i++)
		take_request(w, &w->requests[i]);
	w->nr_requests = 0;
	update_dirty(w, deadline_ns);
	/*
	 * Before the rows, which take longer: interpreted lines need no rows, and a
	 * script may end soon.
	 */
	find_interps(w, deadline_ns);
	update_dirty(w, deadline_ns);
	read_cut_codes(w, deadline_ns);
	w->is_behind |= unwind_files_serve(w->files, deadline_ns);
	/* New requests come first, so this is done in small parts. */
	w->is_behind |= unwind_files_serve_early(w->files, clock_now_ns() + EARLY_NS);
}

int unwind_feeder_wait_ms(const struct unwind_feeder *w, int max_ms)
{
	static const int retry_ms = 5; /* for paused images, or those to query again */
	static const int loading_ms = LOADING_NS / 1000000;

	if (w->is_behind)
		return 0;
	if (w->look_again_ns && loading_ms < max_ms)
		return loading_ms;
	return (w->nr_dirty || w->nr_waiting) && retry_ms < max_ms ? retry_ms : max_ms;
}

/* Has the image ended? Threads may outlive the leader and its image. */
static bool is_over(struct unwind_feeder *w, uint32_t id)
{
	const struct process *p = process_of(w, id);

	return !p || p->is_over ||
	       (p->until_ns != UINT64_MAX && !process_is_alive(w->processes, p));
}

void unwind_feeder_grace(struct unwind_feeder *w)
{
	unwind_tables_grace(w->tables);
}

static void forget_over(struct unwind_feeder *w)
{
	size_t nr = 0;

	for (size_t i = 0; i < w->nr_used; i++) {
		uint32_t id = w->used[i];

		if (is_over(w, id))
			forget_image(w, &w->images[id]);
		else
			w->used[nr++] = id;
	}
	w->nr_used = nr;
}

void unwind_feeder_forget_files(struct unwind_feeder *w)
{
	forget_over(w); /* first: segments refer to the objects of files */
	unwind_files_forget(w->files);
}

void unwind_feeder_drain(struct unwind_feeder *w)
{
	forget_over(w);
	w->is_expecting = true; /* files were opened, or can be now */
}

void unwind_feeder_totals(const struct unwind_feeder *w, struct unwind_feeder_totals *ret)
{
	struct unwind_tables_stats tables;
	struct unwind_files_totals files;
	struct unwind_texts_totals texts;
	struct unwind_interps_totals interps;

	unwind_tables_stats(w->tables, &tables);
	unwind_files_totals(w->files, &files);
	unwind_texts_totals(w->texts, &texts);
	unwind_interps_totals(w->interps, &interps);
	*ret = w->totals;
	ret->nr_requests_dropped += files.nr_wants_dropped;
	ret->nr_rows = tables.nr_rows;
	ret->nr_rules = tables.nr_rules;
	ret->nr_objects = tables.nr_objects;
	ret->nr_processes = tables.nr_processes;
	ret->nr_segments = tables.nr_segments;
	ret->nr_pages_evicted = tables.nr_evicted;
	ret->nr_pages_refused = tables.nr_refused_pages;
	ret->nr_rules_refused = tables.nr_refused_rules;
	ret->nr_processes_refused = tables.nr_refused_processes;
	ret->nr_interps_found = interps.nr_found;
	ret->nr_interps_refused = interps.nr_refused;
	ret->nr_asked = files.nr_asked;
	ret->nr_failed = files.nr_failed + texts.nr_failed;
	ret->ask_ns = files.ask_ns + texts.ask_ns;
	ret->row_bytes = tables.row_bytes;
}
