// SPDX-License-Identifier: GPL-2.0-or-later
// Loads a profile into the Firefox Profiler (its command line), and prints what it shows at the lines of
// each source file, with the text of lines where it has one; or of each function.
// usage: firefox.js FILE [functions]   (in the folder of package.json; FILE has one thread)
// Output: {file: {line: [self in ns, total in ns, text]}}, or {function: [self, total]}
"use strict";
const fs = require("fs");
const path = require("path");
const zlib = require("zlib");
const { execFileSync, spawn } = require("child_process");

const cli = require.resolve("@firefox-devtools/profiler-cli/dist/profiler-cli.js");
const file = path.resolve(process.argv[2]);
const session = ["--session", "lineburn"];
const folder = fs.mkdtempSync(path.join(process.cwd(), "session-"));
const env = { ...process.env, PROFILER_CLI_SESSION_DIR: folder };
const run = (...args) =>
	execFileSync(process.execPath, [cli, ...args, ...session],
		{ encoding: "utf8", env, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });

function main() {
	// "load" gives its daemon half a second to start, which a busy machine exceeds.
	const daemon = spawn(process.execPath, [cli, "--daemon", file, ...session], { env, stdio: "ignore" });
	try {
		for (let tries = 0; ; tries++)
			try {
				// A client that finds only one of these takes the daemon for dead, and deletes it.
				for (const name of ["lineburn.json", "lineburn.sock"])
					fs.accessSync(path.join(folder, name));
				run("profile", "info");
				break;
			} catch (e) {
				if (tries === 60) throw e;
				Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
			}
		if (process.argv[3] === "functions") return shown_functions();
		return shown_lines(JSON.parse(zlib.gunzipSync(fs.readFileSync(file))).shared);
	} finally {
		daemon.kill();
	}
}

function shown_functions() {
	const { functions } = JSON.parse(run("thread", "functions", "--limit", "0", "--json"));
	return Object.fromEntries(functions.map((f) => [f.name, [f.selfSamples, f.totalSamples]]));
}

function shown_lines(shared) {
	const lines = {};
	// One function of a file is enough: all lines of the file are shown with it.
	const done = new Set([null]);
	shared.funcTable.source.forEach((source, number) => {
		if (done.has(source)) return;
		done.add(source);
		const { srcAnnotation } = JSON.parse(
			run("function", "annotate", `f-${number}`, "--mode", "src", "--context", "0", "--json"));
		const of_file = (lines[srcAnnotation.filename] ||= {});
		for (const { lineNumber, selfSamples, totalSamples, sourceText } of srcAnnotation.lines)
			of_file[lineNumber] = [Math.round(selfSamples * 1e6), Math.round(totalSamples * 1e6), sourceText];
	});
	return lines;
}

try {
	console.log(JSON.stringify(main()));
} catch (e) {
	console.error(e.message);
	process.exit(1);
}
