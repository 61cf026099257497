// SPDX-License-Identifier: GPL-2.0-or-later
// Work of 5:3:2 on three lines of three functions.
// usage: node hot.js TURNS
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

const turns = Number(process.argv[2] || 1000);
let x = 1;
for (let i = 0; i < turns; i++) {
	x = five(x, 500000);
	x = three(x, 300000);
	x = two(x, 200000);
}
process.exitCode = x === 42 ? 1 : 0;
