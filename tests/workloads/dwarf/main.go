// SPDX-License-Identifier: GPL-2.0-or-later
package main

import (
	"fmt"
	"os"
	"sort"
)

func step(x int) int { return x*3 + 1 }

func sum(x int) int { return step(x) + step(x+1) }

func main() {
	s := []int{}
	for i := 0; i < len(os.Args); i++ {
		s = append(s, sum(i))
	}
	sort.Ints(s)
	fmt.Println(s)
}
