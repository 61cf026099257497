// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPython keeps the current thread state in one or two places of each thread:
 *
 * - up to 3.14 in the thread-specific data (PyThread_tss_get()) of
 *   PyGILState_GetThisThreadState(). It stays set while the GIL is released. glibc's
 *   struct pthread has slots for the first 32 keys (at fs + 0x310 + 16 * key + 8 in
 *   glibc 2.36), and pointers to tables of the other keys; musl's has a pointer to one
 *   table.
 * - since 3.12 in the thread-local variable _Py_tss_tstate, below fs. It is NULL while
 *   the thread does not hold the GIL. 3.15 also has _Py_tss_gilstate there, which
 *   replaces the slot.
 *
 * None of these is exported, and the C library does not document its part. But a thread
 * state contains its thread: thread_id is pthread_self(), which on x86-64 is the thread
 * pointer. So we search the words around each thread pointer for the addresses of that
 * thread's states, and take an offset at which all threads have one. (A thread may run
 * with a state that was made in another one: 3.12's interpreters.) By chance, threads
 * that began alike may have states at equal offsets in their stacks. Stacks lie below
 * the variables, so the offset nearest to the thread pointer is taken.
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

/* Lists and words change while they are read, so retry when nothing fits. */
#define MAX_ATTEMPTS 8

/* A partly read list may lack the main thread; trust it only with so many threads. */
#define MIN_TORN_THREADS 4

/* Maximum that is read of a thread state: up to thread_id and the list's pointers. */
#define MAX_STATE_BYTES 512

struct thread_state {
	uint64_t addr, thread_id, interpreter;
};

struct thread_walk {
	const struct python_search *search;
	struct thread_state states[PYTHON_MAX_THREAD_STATES]; /* in list order */
	struct thread_state by_addr[PYTHON_MAX_THREAD_STATES];
	size_t nr_states;
	uint64_t interpreters[PYTHON_MAX_INTERPRETERS];
	size_t nr_interpreters;
	bool is_torn; /* a list changed during the walk: only a part of it was read */
	bool is_late; /* a read missed the deadline */
};

/* Words around one thread pointer, which is at words[WORDS_BELOW]. */
struct thread_words {
	uint64_t words[NR_WORDS];
	size_t start, end; /* range of the words that could be read */
};

/* Counts of threads, for each offset from the thread pointer. */
struct distance_tally {
	uint16_t nr_own[NR_WORDS]; /* threads that have a state of their own there */
	uint16_t nr_other[NR_WORDS]; /* that have one of another thread there */
	uint16_t nr_null[NR_WORDS];
	uint16_t nr_interpreter[NR_WORDS]; /* that have an interpreter there */
	uint64_t threads[PYTHON_MAX_THREADS]; /* thread pointers */
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

/*
 * Is the state linked into the list? Memory that was freed or reused points neither to
 * the state before it nor to its interpreter.
 */
static bool is_linked(const struct python_lists *l, const uint8_t *state, uint64_t before,
		      uint64_t interpreter)
{
	return word_at(state, l->thread_interpreter) == interpreter &&
	       (!before || word_at(state, l->thread_prev) == before);
}

/* Walks the list from the thread state at @addr on. */
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

/* ---- words around a thread pointer ---- */

/* Reads by page: the memory below a main thread's variables may be unmapped. */
static void read_below(struct thread_walk *w, uint64_t pointer, struct thread_words *ret)
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

/* Return: is it the thread pointer of a live thread? It then points to itself. */
static bool read_thread_words(struct thread_walk *w, uint64_t pointer,
			      struct thread_words *ret)
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

/* ---- offset that all threads share ---- */

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
			 const struct thread_words *around, struct distance_tally *t)
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

/* The lists begin with the newest thread. Count from the end, to have main threads. */
static void count_threads(struct thread_walk *w, struct distance_tally *t)
{
	struct thread_words around;

	*t = (struct distance_tally){.nr_threads = 0};
	for (size_t i = w->nr_states; i-- && t->nr_threads < PYTHON_MAX_THREADS;) {
		uint64_t id = w->states[i].thread_id;

		if (id && !is_earlier_id(w, i) && read_thread_words(w, id, &around))
			count_thread(w, id, &around, t);
	}
}

/* Every thread has a state there, at least half of them their own. */
static bool is_of_all(const struct distance_tally *t, size_t i)
{
	return t->nr_own[i] + t->nr_other[i] == (int)t->nr_threads &&
	       t->nr_own[i] >= t->nr_other[i];
}

/* Like is_of_all(), but threads that do not run Python (yet) may have NULL. */
static bool is_of_most(const struct distance_tally *t, size_t i)
{
	return t->nr_own[i] > t->nr_threads / 2 &&
	       t->nr_own[i] + t->nr_other[i] + t->nr_null[i] == (int)t->nr_threads;
}

typedef bool (*fits_fn)(const struct distance_tally *t, size_t i);

/* Return: an offset in words, or 0: none. */
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
 * If all threads hold their GIL (as a single one may), _Py_tss_tstate has the same
 * value as _Py_tss_gilstate; only the latter stays set when the GIL is released. The
 * former is recognised by its neighbour _Py_tss_interp.
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

/* ---- tables of thread-specific data ---- */

#define TABLE_BYTES     1024 /* PTHREAD_KEYS_MAX pointers of musl; glibc's have 512 */
#define MAX_ADDR        (UINT64_C(1) << 47)
#define MAX_TABLE_READS 64 /* pointer-like words of a struct pthread */

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

/* Searches the tables to which a struct pthread points. */
static bool search_tables(struct thread_walk *w, const struct distance_tally *t,
			  struct tls_place *ret)
{
	struct thread_words around;
	int nr_reads = 0;

	if (!t->nr_threads || !read_thread_words(w, t->threads[0], &around))
		return false;
	for (size_t i = WORDS_BELOW + 1; i < around.end && nr_reads < MAX_TABLE_READS;
	     i++) {
		uint64_t word = around.words[i];

		/* A pointer into its own struct leads to the same slots. */
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

/* ---- place of the thread state ---- */

/* Finds an offset at which every thread has a state. */
static bool find_place(const struct thread_walk *w, const struct distance_tally *t,
		       struct tls_place *ret)
{
	int words = 0;

	if (!t->nr_threads || (w->is_torn && t->nr_threads < MIN_TORN_THREADS))
		return false;
	words = nearest_above(t, is_of_all);
	/* With a partly read list, stacks of threads that began alike could match. */
	if (!words && !w->is_torn && w->search->version >= FIRST_WITH_VARIABLE)
		words = nearest_variable(t);
	*ret = (struct tls_place){.tls_off = words * 8};
	return words;
}

/* Fallback: searches thread-specific data, then allows NULL in some threads. */
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

/* ---- search ---- */

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
/* The distance between pthread_self() and the thread pointer is not documented. */
#define THREAD_ID_IS_POINTER false
#endif

#define CALL_NS UINT64_C(100000000) /* half of the caller's timeout */

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
