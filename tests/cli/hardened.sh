#!/bin/sh
# Functions of libc that write are told how much room there is; functions watch over where they return to.
for symbol in __memcpy_chk __snprintf_chk __vsnprintf_chk __stack_chk_fail; do
	nm "$(command -v lineburn)" | grep -q " $symbol" && echo $symbol
done
