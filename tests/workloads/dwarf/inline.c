/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions inlined into each other. Each PROBE is a symbol in the code, so that a test
 * has an address whose frames can be read from this file.
 */
#define PROBE(name)  __asm__ volatile(".globl " #name "\n" #name ":\n\tnop")
#define INLINE	     static inline __attribute__((always_inline))
#define NOINLINE     __attribute__((noinline, noclone))
#define LEVEL(n, to) INLINE int level##n(int x) { return level##to(x + n) ^ n; }

volatile int sink;

INLINE int leaf(int x)
{
	PROBE(probe_leaf);
	return x * 3;
}

INLINE int middle(int x)
{
	int y = x + 1;

	y += leaf(y); /* leaf is called */
	return y;
}

INLINE int outer(int x)
{
	return middle(x) /* middle is called */
	       + 2;
}

NOINLINE int work(int x)
{
	PROBE(probe_work);
	sink = outer(x); /* outer is called */
	return sink;
}

NOINLINE __attribute__((cold)) void rare(void)
{
	sink = 1;
}

NOINLINE int hot_cold(int x)
{
	if (__builtin_expect(x == 4242, 0)) {
		rare();
		PROBE(probe_cold);
		rare();
	}
	return x + 1;
}

INLINE int level0(int x)
{
	PROBE(probe_deep);
	return x;
}

LEVEL(1, 0) LEVEL(2, 1) LEVEL(3, 2) LEVEL(4, 3) LEVEL(5, 4) LEVEL(6, 5)
LEVEL(7, 6) LEVEL(8, 7) LEVEL(9, 8) LEVEL(10, 9) LEVEL(11, 10) LEVEL(12, 11)
LEVEL(13, 12) LEVEL(14, 13) LEVEL(15, 14) LEVEL(16, 15) LEVEL(17, 16) LEVEL(18, 17)
LEVEL(19, 18) LEVEL(20, 19) LEVEL(21, 20) LEVEL(22, 21) LEVEL(23, 22) LEVEL(24, 23)
LEVEL(25, 24) LEVEL(26, 25) LEVEL(27, 26) LEVEL(28, 27) LEVEL(29, 28) LEVEL(30, 29)
LEVEL(31, 30) LEVEL(32, 31) LEVEL(33, 32) LEVEL(34, 33) LEVEL(35, 34) LEVEL(36, 35)
LEVEL(37, 36) LEVEL(38, 37) LEVEL(39, 38) LEVEL(40, 39) LEVEL(41, 40) LEVEL(42, 41)
LEVEL(43, 42) LEVEL(44, 43) LEVEL(45, 44) LEVEL(46, 45) LEVEL(47, 46) LEVEL(48, 47)
LEVEL(49, 48) LEVEL(50, 49) LEVEL(51, 50) LEVEL(52, 51) LEVEL(53, 52) LEVEL(54, 53)
LEVEL(55, 54) LEVEL(56, 55) LEVEL(57, 56) LEVEL(58, 57) LEVEL(59, 58) LEVEL(60, 59)
LEVEL(61, 60) LEVEL(62, 61) LEVEL(63, 62) LEVEL(64, 63) LEVEL(65, 64) LEVEL(66, 65)
LEVEL(67, 66) LEVEL(68, 67) LEVEL(69, 68) LEVEL(70, 69)

NOINLINE int deep(int x)
{
	return level70(x);
}

int main(int argc, char **argv)
{
	(void)argv;
	return work(argc) + hot_cold(argc) + deep(argc);
}
