// SPDX-License-Identifier: GPL-2.0-or-later
// Opens a .cpuprofile in the extension of VS Code that shows such files, with as much of VS Code's
// interface as the extension calls, and prints the figures that it shows at lines.
// usage: vscode.js EXTENSION_JS CPUPROFILE
// Output: {file: {line: [self in ns, total in ns]}}; the extension rounds to 10 us.
"use strict";
const fs = require("fs");
const Module = require("module");
const path = require("path");

const providers = {};
const disposable = { dispose() {} };
class Position {
	constructor(line, character) {
		Object.assign(this, { line, character });
	}
}
class Range {
	constructor(start, end) {
		Object.assign(this, { start, end });
	}
}
class CodeLens {
	constructor(range, command) {
		Object.assign(this, { range, command });
	}
}
class EventEmitter {
	event = () => disposable;
	fire() {}
}
// What the extension calls besides does nothing.
const quiet = (members) =>
	new Proxy(members, { get: (target, name) => (name in target ? target[name] : () => disposable) });
const vscode = quiet({
	Position, Range, CodeLens, EventEmitter,
	ViewColumn: {},
	Uri: quiet({ file: (fsPath) => ({ scheme: "file", fsPath, path: fsPath }) }),
	commands: quiet({}),
	languages: quiet({ registerCodeLensProvider: (_, provider) => { providers.lens = provider; return disposable; } }),
	window: quiet({
		registerCustomEditorProvider: (type, provider) => { providers[type] = provider; return disposable; },
	}),
	workspace: quiet({ fs: { readFile: async (uri) => fs.readFileSync(uri.fsPath) }, workspaceFolders: [] }),
});
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));

const numbers = (title) => [...title.matchAll(/([\d,.]+)ms/g)].map((m) => Math.round(m[1].replace(/,/g, "") * 1e6));

async function main([extension, profile]) {
	require(path.resolve(extension)).activate(quiet({ subscriptions: [], extensionUri: vscode.Uri.file(path.dirname(extension)) }));
	const document = await providers["jsProfileVisualizer.cpuprofile.table"].openCustomDocument(vscode.Uri.file(profile));
	const files = new Set(document.userData.locations.map((l) => l.src.source.path).filter((p) => p.startsWith("/")));
	const shown = {};
	for (const file of files) {
		const lines = (shown[file] = {});
		for (const lens of providers.lens.provideCodeLenses({ uri: vscode.Uri.file(file) }))
			if (/Self Time/.test(lens.command.title))
				lines[lens.range.start.line + 1] = numbers(lens.command.title);
	}
	console.log(JSON.stringify(shown));
}
main(process.argv.slice(2)).catch((e) => {
	console.error(e.message);
	process.exit(1);
});
