// SPDX-License-Identifier: GPL-2.0-or-later

// Work of 5:3:2 on three lines of three functions.
// usage: hot MILLIONS   (of loop turns, in all; about 1 ns each)
package main

import (
	"os"
	"strconv"
)

//go:noinline
func five(x, n uint64) uint64 {
	for i := uint64(0); i < n; i++ { x = x*6364136223846793005 + i } // HOT five
	return x
}

//go:noinline
func three(x, n uint64) uint64 {
	for i := uint64(0); i < n; i++ { x = x*6364136223846793005 + (i ^ 3) } // HOT three
	return x
}

//go:noinline
func two(x, n uint64) uint64 {
	for i := uint64(0); i < n; i++ { x = x*6364136223846793005 + (i ^ 5) } // HOT two
	return x
}

func main() {
	millions, x := 1000, uint64(1)
	if len(os.Args) > 1 {
		millions, _ = strconv.Atoi(os.Args[1])
	}
	for i := 0; i < millions; i++ {
		x = five(x, 500000)
		x = three(x, 300000)
		x = two(x, 200000)
	}
	if x == 42 {
		os.Exit(1)
	}
}
