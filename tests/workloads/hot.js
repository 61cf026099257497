// SPDX-License-Identifier: GPL-2.0-or-later
// Work of 5:3:2 on three lines of three functions.
// usage: node hot.js ROUNDS [FILE]   (of 100 million loop turns, about 0.15 s each)
// FILE: the CPU that each took as it measured itself, in percent: V8 does not compile
// the three equally well each time.
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
const used = { five: 0, three: 0, two: 0 };
let x = 1;

function timed(f, n) {
	const begin = process.cpuUsage();
	x = f(x, n);
	const spent = process.cpuUsage(begin);
	used[f.name] += spent.user + spent.system;
}

for (let i = 0; i < rounds; i++) {
	timed(five, 50000000);
	timed(three, 30000000);
	timed(two, 20000000);
}
if (process.argv[3]) {
	const all = used.five + used.three + used.two;
	for (const name of Object.keys(used)) used[name] *= 100 / all;
	require('fs').writeFileSync(process.argv[3], JSON.stringify(used));
}
process.exitCode = x === 42 ? 1 : 0;
