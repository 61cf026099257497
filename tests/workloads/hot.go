// SPDX-License-Identifier: GPL-2.0-or-later

// Work of 5:3:2 on three lines of three functions: chains of multiplications, so long that nothing else counts.
// usage: hot ROUNDS   (of 100 million loop turns, about 0.1 s each)
package main

import (
	"os"
	"strconv"
)

//go:noinline
func five(x, n uint64) uint64 {
	for i := uint64(0); i < n; i += 4 { x = (((x*6364136223846793005+i)*6364136223846793005+i)*6364136223846793005+i)*6364136223846793005 + i } // HOT five
	return x
}

//go:noinline
func three(x, n uint64) uint64 {
	for i := uint64(0); i < n; i += 4 { x = (((x*6364136223846793005+(i ^ 3))*6364136223846793005+i)*6364136223846793005+i)*6364136223846793005 + i } // HOT three
	return x
}

//go:noinline
func two(x, n uint64) uint64 {
	for i := uint64(0); i < n; i += 4 { x = (((x*6364136223846793005+(i ^ 5))*6364136223846793005+i)*6364136223846793005+i)*6364136223846793005 + i } // HOT two
	return x
}

func main() {
	rounds, x := 10, uint64(1)
	if len(os.Args) > 1 {
		rounds, _ = strconv.Atoi(os.Args[1])
	}
	for i := 0; i < rounds; i++ {
		x = five(x, 50000000)
		x = three(x, 30000000)
		x = two(x, 20000000)
	}
	if x == 42 {
		os.Exit(1)
	}
}
