#!/bin/sh
# Makes a shared object with at least MB megabytes of uncompressed DWARF. The same
# compilers always give the same object: one C++ source with many templates and much
# inlining, compiled by g++ (DWARF 5 and 4) and clang++ (5 and 4), then as many copies
# of each object as needed, with other symbol names. It is linked without libraries
# and never run. Takes about a minute.
#
# usage: dwarf-big.sh OUT [MB]    (default 160)
set -eu
out=$1
want=$((${2:-160} << 20))
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
CLANGXX=${CLANGXX:-$(command -v clang++-14 || command -v clang++ || echo g++)}

cat >"$dir/unit.cc" <<'CC'
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

template <int N> struct Step {
	template <class T> static inline T run(T x)
	{
		std::vector<T> v(N + 1, x);
		std::sort(v.begin(), v.end(), std::greater<T>());
		std::map<T, std::string> m;
		for (T y : v)
			m[y + N] += std::to_string(y);
		std::unordered_map<std::string, T> u;
		for (auto &p : m)
			u[p.second] = p.first;
		return Step<N - 1>::run(T(x + u.size()));
	}
};
template <> struct Step<0> {
	template <class T> static inline T run(T x) { return x; }
};

bool match(const std::string &s) { return std::regex_search(s, std::regex("a[0-9]+(b|c)*")); }
long run_long(long x) { return Step<24>::run(x); }
int run_int(int x) { return Step<24>::run(x); }
double run_double(double x) { return Step<12>::run(x); }
std::string text(int x)
{
	std::ostringstream o;
	std::set<std::shared_ptr<int>> s;
	for (int i = 0; i < x; i++)
		s.insert(std::make_shared<int>(i));
	for (auto &p : s)
		o << *p << ' ' << run_int(*p);
	return o.str();
}
CC

g++ -O2 -fPIC -gdwarf-5 -c "$dir/unit.cc" -o "$dir/0.o"
g++ -O2 -fPIC -gdwarf-4 -ffunction-sections -c "$dir/unit.cc" -o "$dir/1.o"
"$CLANGXX" -O2 -fPIC -gdwarf-5 -c "$dir/unit.cc" -o "$dir/2.o"
"$CLANGXX" -O2 -fPIC -gdwarf-4 -ffunction-sections -c "$dir/unit.cc" -o "$dir/3.o"

# Bytes of an object's .debug_* sections, without relocations.
debug_size() {
	readelf -SW "$1" | sed -n 's/^.*\] \.debug_[a-z_]* *PROGBITS *[0-9a-f]* *[0-9a-f]* *\([0-9a-f]*\).*/\1/p' |
		while read -r hex; do echo $((0x$hex)); done | awk '{ n += $1 } END { print n }'
}
total=0
n=0
: >"$dir/list"
while [ "$total" -lt "$want" ]; do
	object=$dir/$((n % 4)).o
	objcopy --prefix-symbols="copy${n}_" "$object" "$dir/copy$n.o"
	echo "$dir/copy$n.o" >>"$dir/list"
	# The linker merges strings; the rest is about three quarters.
	total=$((total + $(debug_size "$object") * 3 / 4))
	n=$((n + 1))
done
gcc -shared -nostdlib -Wl,--unresolved-symbols=ignore-all -Wl,-z,notext -o "$out" "@$dir/list"
echo "$out: $n units, $(debug_size "$out") bytes of DWARF"
