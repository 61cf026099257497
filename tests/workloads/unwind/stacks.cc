// SPDX-License-Identifier: GPL-2.0-or-later
// Deep stacks of C++ without frame pointers.
// usage: stackscc deep|exceptions ROUNDS   (of about 2 ms each)
//
// deep: 15 times a virtual member, a template, a function and a closure in it.
// exceptions: the same, and what is thrown at the bottom is caught at the top, with
// 15 destructors to run; most of the work is the unwinder's.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>

static volatile unsigned long sink;
static bool throws;

#define STAYS() __asm__ volatile("" ::: "memory")
#define NOT_CHANGED __attribute__((noinline, noipa))

struct Counted {
	~Counted() { sink = sink + 1; }
};

NOT_CHANGED static void burn(unsigned long turns)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < turns; i++) x = x * 6364136223846793005UL + i; // HOT burn
	sink = x;
}

struct Step {
	virtual ~Step() = default;
	virtual void down(int left) = 0;
};

NOT_CHANGED static void closure(Step *next, int left);

template <typename T> NOT_CHANGED static void pass(T *next, int left)
{
	Counted counted;

	closure(next, left - 1);
	STAYS();
}

struct Virtual : Step {
	NOT_CHANGED void down(int left) override
	{
		if (left > 0) {
			pass<Step>(this, left - 1);
		} else if (throws) {
			burn(1000);
			throw std::runtime_error("thrown at the bottom");
		} else {
			burn(1500000);
		}
		STAYS();
	}
};

NOT_CHANGED static void closure(Step *next, int left)
{
	std::function<void()> call = [=] {
		next->down(left - 1);
		STAYS();
	};

	call();
	STAYS();
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 2 ? strtoul(argv[2], nullptr, 10) : 0;
	Virtual step;

	throws = argc > 1 && !strcmp(argv[1], "exceptions");
	if (throws)
		rounds *= 20;
	while (rounds--) {
		try {
			step.down(45); // HOT call
		} catch (const std::runtime_error &e) {
			sink = sink + strlen(e.what());
		}
	}
}
