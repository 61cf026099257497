// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks keys up in a hash table with far too few buckets: 40,000 keys in 1,024 chains.
 * usage: chains ROUNDS   (of 40,000 look-ups)
 */
#include <stdio.h>
#include <stdlib.h>

#define NR_BUCKETS 1024
#define NR_KEYS    40000

struct entry {
	struct entry *next;
	unsigned int key, value;
};

static struct entry *buckets[NR_BUCKETS];
static struct entry entries[NR_KEYS];

static unsigned int bucket_of(unsigned int key)
{
	return key * 2654435761u >> 22;
}

__attribute__((noinline)) static struct entry *find(unsigned int key)
{
	struct entry *e = buckets[bucket_of(key)];

	while (e && e->key != key) /* HOT chain */
		e = e->next;
	return e;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, sum = 0;

	for (unsigned int i = 0; i < NR_KEYS; i++) {
		struct entry **bucket = &buckets[bucket_of(i * 7)];

		entries[i] = (struct entry){*bucket, i * 7, i};
		*bucket = &entries[i];
	}
	for (unsigned long round = 0; round < rounds; round++)
		for (unsigned int i = 0; i < NR_KEYS; i++)
			sum += find(i * 7)->value;
	printf("%lu\n", sum);
	return 0;
}
