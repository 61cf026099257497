// SPDX-License-Identifier: GPL-2.0-or-later
// Validates a file by speedscope's own schema, and prints the sums of its lines.
// usage: speedscope.js FILE   (in the folder of package.json)
// Output: {file: {line: [self in ns, total in ns]}}
"use strict";
const fs = require("fs");
const Ajv = require("ajv");

process.on("uncaughtException", (e) => {
	console.error(e.message);
	process.exit(1);
});
const profile = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const ajv = new Ajv({ strict: false });
const validate = ajv.compile(require("speedscope/dist/release/file-format-schema.json"));
if (!validate(profile)) throw new Error(ajv.errorsText(validate.errors));

const lines = {};
function add(frame, which, weight) {
	if (!frame.line) return;
	const line = ((lines[frame.file] ||= {})[frame.line] ||= [0, 0]);
	line[which] += weight;
}
for (const { samples, weights, unit, endValue } of profile.profiles) {
	if (unit !== "nanoseconds" || samples.length !== weights.length || weights.reduce((a, b) => a + b, 0) !== endValue)
		throw new Error("the samples do not fit the weights");
	samples.forEach((sample, i) => {
		const frames = sample.map((number) => profile.shared.frames[number]);
		add(frames.at(-1), 0, weights[i]);
		const seen = new Map(frames.map((f) => [`${f.line}:${f.file}`, f]));
		for (const frame of seen.values()) add(frame, 1, weights[i]);
	});
}
console.log(JSON.stringify(lines));
