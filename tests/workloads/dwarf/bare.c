// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines without machine code of their own, as optimising compilers leave them. */
#define TWICE(x) ((x) + (x)) /* a macro has the line of its use */
int table[1024];

static inline int helper(int a)
{
	int unused = a * 3; /* BARE unused */
	(void)unused;
	return a ^ (a >> 3); /* CODE helper */
}

__attribute__((noinline)) int work(int n, int seed)
{
	int dead = seed * 17; /* BARE dead */
	int sum = 0;

	for (int i = 0; i < n; i++) { /* CODE loop */
		int again, same = table[i & 1023] * seed; /* CODE same */
		again = table[i & 1023] * seed; /* BARE merged */
		dead = sum; /* BARE store */
		if (0)
			sum += 1000; /* BARE never */
		sum += /* CODE call */
			helper(same);
		sum += TWICE(again); /* CODE macro */
		table[(i + 1) & 1023] = sum; /* CODE write */
	}
	return sum;
}

__attribute__((cold, noinline)) void unlikely(int x)
{
	table[x & 1] = x;
}

/* Its unlikely part is placed elsewhere. */
__attribute__((noinline)) int split(int x)
{
	if (__builtin_expect(x > 1000000, 0)) {
		unlikely(x + 1); /* CODE cold */
		unlikely(x + 2); /* CODE colder */
	}
	return table[x & 1023] + 1; /* CODE hot */
}

int main(int argc, char **argv)
{
	(void)argv;
	return work(argc * 100, argc) + split(argc);
}
