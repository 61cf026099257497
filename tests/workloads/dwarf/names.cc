/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that C++ makes: methods, templates, lambdas, namespaces without a name. */
#define PROBE(name) __asm__ volatile(".globl " #name "\n" #name ":\n\tnop")
#define NOINLINE __attribute__((noinline, noclone))
#define INLINE inline __attribute__((always_inline))

extern "C" volatile int sink;
volatile int sink;

namespace shapes {
template <class T> class Square {
public:
	explicit Square(T side) : side_(side) {}
	INLINE T area() const
	{
		PROBE(probe_method);
		return side_ * side_;
	}

private:
	T side_;
};
} // namespace shapes

namespace {
struct Hidden {
	static INLINE int twice(int x)
	{
		PROBE(probe_hidden);
		return 2 * x;
	}
};

NOINLINE int hidden(int x)
{
	return Hidden::twice(x); // twice is called
}
} // namespace

template <class F> static NOINLINE int apply(F f, int x)
{
	return f(x); // the lambda is called
}

int main(int argc, char **)
{
	shapes::Square<int> s(argc);

	sink = s.area(); // area is called
	sink = hidden(argc);
	sink = apply([](int x) __attribute__((always_inline)) {
		PROBE(probe_lambda);
		return x + 7;
	}, argc);
	return sink;
}
