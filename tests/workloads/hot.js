// SPDX-License-Identifier: GPL-2.0-or-later
// Work of 5:3:2 on three lines of three functions.
// usage: node hot.js ROUNDS   (of 100 million loop turns, about 0.15 s each)
'use strict';

function five(x, n) {
	for (let i = 0; i < n; i++) x = (Math.imul(x, 1103515245) + i) | 0; // HOT five
	return x;
}

function three(x, n) {
	for (let i = 0; i < n; i++) x = (Math.imul(x, 1103515245) + (i ^ 3)) | 0; // HOT three
	return x;
}

function two(x, n) {
	for (let i = 0; i < n; i++) x = (Math.imul(x, 1103515245) + (i ^ 5)) | 0; // HOT two
	return x;
}

const rounds = Number(process.argv[2] || 10);
let x = 1;
for (let i = 0; i < rounds; i++) {
	x = five(x, 50000000);
	x = three(x, 30000000);
	x = two(x, 20000000);
}
process.exitCode = x === 42 ? 1 : 0;
