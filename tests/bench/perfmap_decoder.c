// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A perf map of a million lines, 2000 addresses: wall time and peak memory of
 *   serve  perfmap_serve(), which keeps what the addresses need
 *   store  what it is compared with: all lines kept, sorted, searched
 * Usage: perfmap make FILE LINES | perfmap serve|store FILE QUERIES
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/vec.h"
#include "decode/answer.h"
#include "decode/jit/perfmap.h"
#include "decode/requests.h"

#define BASE_IP 0x7f0000000000ull

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/* Lines as long as Node's, in no order, a fifth of them over older ones. */
static int make(const char *path, uint64_t nr_lines)
{
	_cleanup_fclose_ FILE *f = fopen(path, "w");
	uint64_t seed = 1;

	for (uint64_t i = 0; f && i < nr_lines; i++) {
		uint64_t slot = next_random(&seed) % (nr_lines * 4 / 5);

		fprintf(f,
			"%llx %llx LazyCompile:*function%llu "
			"/srv/app/node_modules/pkg%llu/lib/index.js:%llu:%llu\n",
			(unsigned long long)(BASE_IP + slot * 0x200),
			(unsigned long long)(0x40 + next_random(&seed) % 0x1c0),
			(unsigned long long)i, (unsigned long long)(i % 5000),
			(unsigned long long)(i % 3000 + 1),
			(unsigned long long)(i % 80 + 1));
	}
	return f ? 0 : -1;
}

static uint64_t query_ip(uint64_t *seed)
{
	return BASE_IP + next_random(seed) % (1000000ull * 4 / 5 * 0x200);
}

/* Return: how many of the addresses have a name, or -1. */
static long serve(const char *path, size_t nr)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(64 << 20);
	_cleanup_(answers_deinit) struct answers answers = {0};
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct wire_writer request = {0}, reply = {0};
	struct wire_reader r;
	uint64_t seed = 2;
	long found = 0;

	wire_put_u32(&request, 0);
	wire_put_u32(&request, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++) {
		wire_put_u64(&request, query_ip(&seed));
		wire_put_u64(&request, 1);
		wire_put_u64(&request, 2);
	}
	r = (struct wire_reader){.data = request.data, .len = request.len};
	if (!pool || perfmap_serve(NULL, &r, &fd, 1, &reply))
		return -1;
	r = (struct wire_reader){.data = reply.data, .len = reply.len};
	if (wire_get_u32(&r) != MISS_NONE || wire_get_u64(&r) ||
	    answers_read(&r, nr, pool, &answers))
		return -1;
	for (size_t i = 0; i < nr; i++)
		found += answers.items[i].nr_frames != 0;
	wire_writer_deinit(&request);
	wire_writer_deinit(&reply);
	return found;
}

struct stored {
	uint64_t start_ip, size_bytes, order;
	char *name;
};

static int by_start(const void *a, const void *b)
{
	const struct stored *sa = a, *sb = b;

	if (sa->start_ip != sb->start_ip)
		return sa->start_ip < sb->start_ip ? -1 : 1;
	return sa->order < sb->order ? -1 : 1;
}

static long store(const char *path, size_t nr)
{
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	struct stored *all = NULL;
	size_t nr_all = 0, cap = 0, size = 0;
	uint64_t seed = 2;
	char *text = NULL;
	long found = 0;
	ssize_t len;

	while (f && (len = getline(&text, &size, f)) > 0) {
		struct perfmap_line line;

		if (!perfmap_parse_line(text, (size_t)len - 1, &line) ||
		    vec_grow(&all, &cap, nr_all + 1, sizeof(*all), 0))
			continue;
		all[nr_all] = (struct stored){.start_ip = line.start_ip,
					      .size_bytes = line.size_bytes,
					      .order = nr_all,
					      .name = strndup(line.name, line.name_len)};
		nr_all++;
	}
	if (nr_all)
		qsort(all, nr_all, sizeof(*all), by_start);
	for (size_t i = 0; i < nr; i++) {
		uint64_t ip = query_ip(&seed);
		size_t low = 0, high = nr_all;

		while (low < high) {
			size_t mid = low + (high - low) / 2;

			if (all[mid].start_ip <= ip)
				low = mid + 1;
			else
				high = mid;
		}
		/* Any of those that start at the same place may reach it. */
		for (size_t k = low; k && all[k - 1].start_ip == all[low - 1].start_ip;
		     k--)
			if (ip - all[k - 1].start_ip < all[k - 1].size_bytes) {
				found++;
				break;
			}
	}
	for (size_t i = 0; i < nr_all; i++)
		free(all[i].name);
	free(all);
	free(text);
	return found;
}

int main(int argc, char **argv)
{
	struct timespec from, to;
	struct rusage usage;
	long found, n;

	if (argc != 4)
		return 2;
	n = strtol(argv[3], NULL, 10);
	if (!strcmp(argv[1], "make"))
		return make(argv[2], (uint64_t)n) ? 1 : 0;
	clock_gettime(CLOCK_MONOTONIC, &from);
	found = !strcmp(argv[1], "serve") ? serve(argv[2], (size_t)n)
					  : store(argv[2], (size_t)n);
	clock_gettime(CLOCK_MONOTONIC, &to);
	getrusage(RUSAGE_SELF, &usage);
	printf("perfmap %s: %.3f s wall, %.1f MB peak, %ld of %ld addresses named\n",
	       argv[1],
	       (double)(to.tv_sec - from.tv_sec) +
		       (double)(to.tv_nsec - from.tv_nsec) / 1e9,
	       (double)usage.ru_maxrss / 1024, found, n);
	return found > 0 ? 0 : 1;
}
