// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPython keeps the current thread state in one or two places of each thread:
 *
 * - where PyThread_tss_get() has it, for PyGILState_GetThisThreadState(), which stays set
 *   while the GIL is released. Up to 3.14. In glibc's struct pthread are the slots of the
 *   first 32 keys (at fs + 0x310 + 16 * key + 8 in glibc 2.36), and pointers to tables
 *   of the other ones; in musl's there is a pointer to one table.
 * - since 3.12 in _Py_tss_tstate, a thread-local variable, below fs, which is NULL while
 *   the thread has no GIL; 3.15 has _Py_tss_gilstate there instead of a slot.
 *
 * Neither is exported, and where the C library's part is nowhere promised. But thread
 * states themselves say whose they are: thread_id is pthread_self(), which is the thread
 * pointer on x86-64. So the words around each thread pointer are searched for the
 * addresses of that thread's states, and a distance that all threads have is it. (A
 * thread may run with a state that was made in another one: 3.12's interpreters.)
 * By chance, the same words are at the same distances only in the stacks of threads that
 * began alike; those lie below the variables, so what is nearest is taken.
 */
#include "decode/python/state.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "decode/requests.h"
#include "worker/reader.h"

#define WORDS_BELOW         (PYTHON_BYTES_BELOW / 8)
#define WORDS_ABOVE         (PYTHON_BYTES_ABOVE / 8)
#define NR_WORDS            (WORDS_BELOW + WORDS_ABOVE)
#define PAGE_BYTES          4096

#define FIRST_WITH_VARIABLE 0x030f /* _Py_tss_gilstate */

/* Lists and words change while they are read: looked at again when nothing fits. */
#define MAX_ATTEMPTS 8

/* Of a part of a list, which has no main thread perhaps, so many are believed. */
#define MIN_TORN_THREADS 4

/* Of a thread state, what is read at once: up to thread_id and the next one. */
#define MAX_STATE_BYTES 512

struct thread_state {
	uint64_t addr, thread_id, interpreter;
};

struct thread_walk {
	const struct python_search *search;
	struct thread_state states[PYTHON_MAX_THREAD_STATES]; /* as the lists have them */
	struct thread_state by_addr[PYTHON_MAX_THREAD_STATES];
	size_t nr_states;
	uint64_t interpreters[PYTHON_MAX_INTERPRETERS];
	size_t nr_interpreters;
	bool is_torn; /* a list was changed meanwhile: only a part of it is here */
	bool is_late; /* a read came too late */
};

/* Words around one thread pointer, which is at words[WORDS_BELOW]. */
struct surroundings {
	uint64_t words[NR_WORDS];
	size_t start, end; /* of those that could be read */
};

/* Over threads, of each distance. */
struct distance_tally {
	uint16_t nr_own[NR_WORDS]; /* threads that have a state of theirs there */
	uint16_t nr_other[NR_WORDS]; /* that have one of another thread there */
	uint16_t nr_null[NR_WORDS];
	uint16_t nr_interpreter[NR_WORDS]; /* that have an interpreter there */
	uint64_t threads[PYTHON_MAX_THREADS]; /* their thread pointers */
	size_t nr_threads;
};

static ssize_t read_some(struct thread_walk *w, uint64_t addr, void *buf, size_t len)
{
	ssize_t n = w->search->read(w->search->ctx, addr, buf, len);

	if (n == -ETIME)
		w->is_late = true;
	return n;
}

static bool read_all(struct thread_walk *w, uint64_t addr, void *buf, size_t len)
{
	return read_some(w, addr, buf, len) == (ssize_t)len;
}

static uint64_t word_at(const uint8_t *bytes, size_t off)
{
	uint64_t word;

	memcpy(&word, bytes + off, sizeof(word));
	return word;
}

/* ---- the lists ---- */

static size_t max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Freed memory, and what has it now, points neither back nor at its interpreter. */
static bool is_linked(const struct python_lists *l, const uint8_t *state, uint64_t before,
		      uint64_t interpreter)
{
	return word_at(state, l->thread_interpreter) == interpreter &&
	       (!before || word_at(state, l->thread_prev) == before);
}

/* From a thread state on. */
static void walk_threads(struct thread_walk *w, const struct python_lists *l,
			 uint64_t addr, uint64_t interpreter)
{
	size_t bytes = max_size(max_size(l->thread_id, l->thread_interpreter),
				max_size(l->thread_prev, l->thread_next)) +
		       8;
	uint8_t state[MAX_STATE_BYTES];
	uint64_t before = 0;

	while (addr && w->nr_states < ARRAY_SIZE(w->states)) {
		if (bytes > sizeof(state) || !read_all(w, addr, state, bytes) ||
		    !is_linked(l, state, before, interpreter)) {
			w->is_torn = true;
			return;
		}
		w->states[w->nr_states++] = (struct thread_state){
			addr, word_at(state, l->thread_id), interpreter};
		before = addr;
		addr = word_at(state, l->thread_next);
	}
}

/* Return: could the head of the lists be read? */
static bool walk_interpreters(struct thread_walk *w, const struct python_lists *l)
{
	uint64_t addr, threads, next;

	w->nr_states = w->nr_interpreters = 0;
	w->is_torn = false;
	if (!read_all(w, w->search->runtime_addr + l->runtime_interpreters, &addr,
		      sizeof(addr)))
		return false;
	for (size_t i = 0; addr && i < PYTHON_MAX_INTERPRETERS; i++, addr = next) {
		if (!read_all(w, addr + l->interpreter_threads, &threads,
			      sizeof(threads)) ||
		    !read_all(w, addr + l->interpreter_next, &next, sizeof(next))) {
			w->is_torn = true;
			break;
		}
		w->interpreters[w->nr_interpreters++] = addr;
		walk_threads(w, l, threads, addr);
	}
	return true;
}

/* ---- what is around a thread pointer ---- */

/* Page by page, because below the variables of a main thread may be nothing. */
static void read_below(struct thread_walk *w, uint64_t pointer, struct surroundings *ret)
{
	uint64_t addr = pointer;

	while (ret->start) {
		size_t len = addr % PAGE_BYTES ? addr % PAGE_BYTES : PAGE_BYTES;

		if (len > ret->start * 8)
			len = ret->start * 8;
		addr -= len;
		if (!read_all(w, addr, &ret->words[ret->start - len / 8], len))
			return;
		ret->start -= len / 8;
	}
}

/* Return: is it the thread pointer of a live thread? There it points at itself. */
static bool read_surroundings(struct thread_walk *w, uint64_t pointer,
			      struct surroundings *ret)
{
	ssize_t n;

	if (pointer % 8 || pointer < PYTHON_BYTES_BELOW)
		return false;
	ret->start = 0;
	n = read_some(w, pointer - PYTHON_BYTES_BELOW, ret->words, sizeof(ret->words));
	if (n <= PYTHON_BYTES_BELOW) {
		ret->start = WORDS_BELOW;
		n = read_some(w, pointer, &ret->words[WORDS_BELOW], PYTHON_BYTES_ABOVE);
		if (n <= 0)
			return false;
		n += PYTHON_BYTES_BELOW;
		read_below(w, pointer, ret);
	}
	ret->end = (size_t)n / 8;
	return ret->end > WORDS_BELOW && ret->words[WORDS_BELOW] == pointer;
}

/* ---- which distance ---- */

static int compare_addrs(const void *a, const void *b)
{
	const struct thread_state *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static const struct thread_state *find_state(const struct thread_walk *w, uint64_t addr)
{
	const struct thread_state key = {.addr = addr};

	return bsearch(&key, w->by_addr, w->nr_states, sizeof(key), compare_addrs);
}

static bool is_interpreter(const struct thread_walk *w, uint64_t addr)
{
	for (size_t i = 0; i < w->nr_interpreters; i++)
		if (w->interpreters[i] == addr)
			return true;
	return false;
}

static void count_thread(const struct thread_walk *w, uint64_t thread_id,
			 const struct surroundings *around, struct distance_tally *t)
{
	for (size_t i = around->start; i < around->end; i++) {
		const struct thread_state *state;

		if (!around->words[i]) {
			t->nr_null[i]++;
			continue;
		}
		t->nr_interpreter[i] += is_interpreter(w, around->words[i]);
		state = find_state(w, around->words[i]);
		if (state && state->thread_id == thread_id)
			t->nr_own[i]++;
		else if (state)
			t->nr_other[i]++;
	}
	t->threads[t->nr_threads++] = thread_id;
}

static bool is_earlier_id(const struct thread_walk *w, size_t i)
{
	for (size_t j = i + 1; j < w->nr_states; j++)
		if (w->states[j].thread_id == w->states[i].thread_id)
			return true;
	return false;
}

/* Newest come first in the lists: from the end, so that main threads are among them. */
static void count_threads(struct thread_walk *w, struct distance_tally *t)
{
	struct surroundings around;

	*t = (struct distance_tally){.nr_threads = 0};
	for (size_t i = w->nr_states; i-- && t->nr_threads < PYTHON_MAX_THREADS;) {
		uint64_t id = w->states[i].thread_id;

		if (id && !is_earlier_id(w, i) && read_surroundings(w, id, &around))
			count_thread(w, id, &around, t);
	}
}

/* Every thread has a state there, most their own. */
static bool is_of_all(const struct distance_tally *t, size_t i)
{
	return t->nr_own[i] + t->nr_other[i] == (int)t->nr_threads &&
	       t->nr_own[i] >= t->nr_other[i];
}

/* Those that are no thread of Python any more, or not yet, may have nothing there. */
static bool is_of_most(const struct distance_tally *t, size_t i)
{
	return t->nr_own[i] > t->nr_threads / 2 &&
	       t->nr_own[i] + t->nr_other[i] + t->nr_null[i] == (int)t->nr_threads;
}

typedef bool (*fits_fn)(const struct distance_tally *t, size_t i);

/* Return: a distance in words, or 0: none. */
static int nearest_above(const struct distance_tally *t, fits_fn fits)
{
	for (int i = 1; i < WORDS_ABOVE; i++)
		if (fits(t, (size_t)(WORDS_BELOW + i)))
			return i;
	return 0;
}

static bool is_beside_interpreter(const struct distance_tally *t, size_t i)
{
	return t->nr_interpreter[i - 1] == t->nr_threads ||
	       t->nr_interpreter[i + 1] == t->nr_threads;
}

/*
 * While all threads have their GIL (one does) _Py_tss_tstate is the same as
 * _Py_tss_gilstate, which lasts. The former is beside _Py_tss_interp.
 */
static int nearest_variable(const struct distance_tally *t)
{
	for (int i = 1; i < WORDS_BELOW - 1; i++) {
		size_t at = (size_t)(WORDS_BELOW - i);

		if (!is_of_all(t, at))
			continue;
		if (is_beside_interpreter(t, at) && is_of_all(t, at - 1))
			return -i - 1;
		return -i;
	}
	return 0;
}

/* ---- tables ---- */

#define TABLE_BYTES     1024 /* PTHREAD_KEYS_MAX pointers of musl; glibc's have 512 */
#define MAX_ADDR        (UINT64_C(1) << 47)
#define MAX_TABLE_READS 64 /* words of a struct pthread that can be pointers */

struct tls_place {
	int32_t tls_off;
	bool is_in_table;
	uint16_t table_off;
};

/* Does every other thread have a state of its own there, too? */
static bool is_table_of_all(struct thread_walk *w, const struct distance_tally *t,
			    const struct tls_place *p)
{
	for (size_t i = 1; i < t->nr_threads; i++) {
		const struct thread_state *state;
		uint64_t table, word;

		if (!read_all(w, t->threads[i] + (uint64_t)p->tls_off, &table,
			      sizeof(table)) ||
		    !read_all(w, table + p->table_off, &word, sizeof(word)))
			return false;
		state = find_state(w, word);
		if (!state || state->thread_id != t->threads[i])
			return false;
	}
	return true;
}

static bool find_in_table(struct thread_walk *w, const struct distance_tally *t,
			  uint64_t table, struct tls_place *p)
{
	uint64_t words[TABLE_BYTES / 8];
	ssize_t n = read_some(w, table, words, sizeof(words));

	for (ssize_t i = 0; i < n / 8; i++) {
		const struct thread_state *state = find_state(w, words[i]);

		p->table_off = (uint16_t)(i * 8);
		if (state && state->thread_id == t->threads[0] &&
		    is_table_of_all(w, t, p))
			return true;
	}
	return false;
}

/* Follows what a struct pthread points at. */
static bool search_tables(struct thread_walk *w, const struct distance_tally *t,
			  struct tls_place *ret)
{
	struct surroundings around;
	int nr_reads = 0;

	if (!t->nr_threads || !read_surroundings(w, t->threads[0], &around))
		return false;
	for (size_t i = WORDS_BELOW + 1; i < around.end && nr_reads < MAX_TABLE_READS;
	     i++) {
		uint64_t word = around.words[i];

		/* One that points into its own struct leads to the same slots. */
		if (word % 8 || word < PAGE_BYTES || word >= MAX_ADDR ||
		    word - t->threads[0] < PYTHON_BYTES_ABOVE)
			continue;
		nr_reads++;
		*ret = (struct tls_place){.tls_off = (int32_t)(i - WORDS_BELOW) * 8,
					  .is_in_table = true};
		if (find_in_table(w, t, word, ret))
			return true;
	}
	return false;
}

/* ---- the place ---- */

/* What every thread has. */
static bool find_place(const struct thread_walk *w, const struct distance_tally *t,
		       struct tls_place *ret)
{
	int words = 0;

	if (!t->nr_threads || (w->is_torn && t->nr_threads < MIN_TORN_THREADS))
		return false;
	words = nearest_above(t, is_of_all);
	/* The stacks of a part of the threads, which began alike, are no proof. */
	if (!words && !w->is_torn && w->search->version >= FIRST_WITH_VARIABLE)
		words = nearest_variable(t);
	*ret = (struct tls_place){.tls_off = words * 8};
	return words;
}

/* When that stays without a result. */
static bool find_other_place(struct thread_walk *w, const struct distance_tally *t,
			     struct tls_place *ret)
{
	if (search_tables(w, t, ret))
		return true;
	*ret = (struct tls_place){.tls_off = nearest_above(t, is_of_most) * 8};
	return ret->tls_off;
}

static uint32_t count_candidates(const struct distance_tally *t)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < NR_WORDS; i++)
		nr += is_of_all(t, i);
	return nr;
}

/* ---- all of it ---- */

static bool read_layout(struct thread_walk *w, struct python_layout *ret)
{
	const struct python_layout *known = python_layout_find(w->search->version);
	uint8_t bytes[PYTHON_MAX_DEBUG_BYTES];
	size_t len = python_debug_bytes(w->search->version);

	if (known) {
		*ret = *known;
		return true;
	}
	return len && read_all(w, w->search->runtime_addr, bytes, len) &&
	       python_layout_read(w->search->version, bytes, ret);
}

static void sort_states(struct thread_walk *w)
{
	memcpy(w->by_addr, w->states, w->nr_states * sizeof(w->states[0]));
	qsort(w->by_addr, w->nr_states, sizeof(w->by_addr[0]), compare_addrs);
}

enum locate_result python_state_search(const struct python_search *s,
				       struct python_state_found *ret)
{
	struct thread_walk w = {.search = s};
	struct python_layout layout;
	struct distance_tally tally = {.nr_threads = 0};
	struct tls_place place;
	bool is_found = false;

	if (!read_layout(&w, &layout))
		return w.is_late ? LOCATE_NO_ANSWER : LOCATE_UNKNOWN;
	for (int i = 0; i < MAX_ATTEMPTS && !is_found && !w.is_late; i++) {
		if (!walk_interpreters(&w, &layout.lists))
			return w.is_late ? LOCATE_NO_ANSWER : LOCATE_UNKNOWN;
		if (!w.nr_states)
			break;
		sort_states(&w);
		count_threads(&w, &tally);
		is_found = find_place(&w, &tally, &place);
	}
	if (!is_found && !w.is_torn && tally.nr_threads && !w.is_late)
		is_found = find_other_place(&w, &tally, &place);
	if (!is_found)
		return w.is_late ? LOCATE_NO_ANSWER : LOCATE_NOT_YET;
	layout.frames.ts_is_in_table = place.is_in_table;
	layout.frames.ts_table_off = place.table_off;
	*ret = (struct python_state_found){.layout = layout.frames,
					   .tls_off = place.tls_off,
					   .nr_threads = (uint32_t)tally.nr_threads,
					   .nr_candidates = count_candidates(&tally)};
	return LOCATE_FOUND;
}

/* ---- The search for thread states as an operation of a reader ---- */

#if defined(__x86_64__)
#define THREAD_ID_IS_POINTER true
#else
/* pthread_self() and the thread pointer are apart by a size that is nowhere said. */
#define THREAD_ID_IS_POINTER false
#endif

#define CALL_NS UINT64_C(100000000) /* half of what the caller gives */

static ssize_t read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return reader_read_until(ctx, addr, buf, len);
}

int python_state_serve(struct worker_call *call, struct wire_reader *request,
		       const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	struct reader_target target = {.end_ns = clock_now_ns() + CALL_NS};
	struct python_search search = {.read = read_memory, .ctx = &target};
	struct python_state_found found = {.tls_off = 0};
	enum locate_result state = LOCATE_UNKNOWN;

	(void)call, (void)fds, (void)nr_fds;
	target.pid = (pid_t)wire_get_u32(request);
	search.version = wire_get_u32(request);
	search.runtime_addr = wire_get_u64(request);
	if (request->failed)
		return -EBADMSG;
	if (THREAD_ID_IS_POINTER)
		state = python_state_search(&search, &found);
	wire_put_u32(reply, state);
	wire_put_bytes(reply, &found.layout, sizeof(found.layout));
	wire_put_u64(reply, (uint64_t)(int64_t)found.tls_off);
	return 0;
}
