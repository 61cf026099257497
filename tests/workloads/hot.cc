// SPDX-License-Identifier: GPL-2.0-or-later
// Work of 5:3:2 on three lines: a member, a template and a function of a namespace.
// usage: hot ROUNDS   (of 100 million loop turns, about 0.1 s each)
#include <cstdlib>

using u64 = unsigned long;

struct Five {
	u64 x = 1;
	__attribute__((noinline)) void spin(u64 n)
	{
		for (u64 i = 0; i < n; i++) x = x * 6364136223846793005UL + i; // HOT five
	}
};

template <typename T, u64 K> __attribute__((noinline)) T three(T x, T n)
{
	for (T i = 0; i < n; i++) x = x * 6364136223846793005UL + (i ^ K); // HOT three
	return x;
}

namespace outer
{
__attribute__((noinline)) static u64 two(u64 x, u64 n)
{
	for (u64 i = 0; i < n; i++) x = x * 6364136223846793005UL + (i ^ 5); // HOT two
	return x;
}
} // namespace outer

int main(int argc, char **argv)
{
	u64 rounds = argc > 1 ? strtoul(argv[1], nullptr, 10) : 10;
	Five f;

	for (u64 i = 0; i < rounds; i++) {
		f.spin(50000000);
		f.x = three<u64, 3>(f.x, 30000000);
		f.x = outer::two(f.x, 20000000);
	}
	return f.x == 42;
}
