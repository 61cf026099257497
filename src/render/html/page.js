// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page of lineburn html. The profile is a tree of frames with weighted samples
 * (render/page_stacks.h); every figure is summed up here, so that filters can change it.
 * What is shown is the state, and the state is the address's fragment: links and keys
 * change the fragment, and then show() draws.
 *
 * Names and source text come from the profiled programs. They are set as text only.
 */
"use strict";
(() => {
const { $, el, baseName, distinct, heatOf, hashWith, go, drawBy, action, listenTheme, listenKeys, listenSkip, Flame } = common;

/* ---- the profile ---- */

const facts = JSON.parse(document.getElementById("facts-data").textContent);
const stacks = JSON.parse(document.getElementById("stacks-data").textContent);
const KINDS = ["yours", "library", "Python", "JIT", "kernel"];
const COLUMNS = { function: 5, frame: 2, node: 2, weight: facts.hasCpu ? 2 : 1, instruction: 6 };
const MAX_ROWS = 60; /* of a table, until more are asked for */
const MAX_OPTIONS = 500; /* of a filter */
const MAX_CALLS = 40; /* rows of a table of callers */
const MAX_WAY = 6; /* calls before a line that are named */
const MAX_INSTRUCTIONS = 200; /* of a line */

const fileNames = distinct(stacks.paths);

const functions = [];
for (let i = 0; i < stacks.functions.length; i += COLUMNS.function) {
	const [name, object, file, start, flags] = stacks.functions.slice(i, i + COLUMNS.function);
	const known = stacks.texts[name];
	functions.push({
		name: known || `[no name] ${stacks.texts[object]}`,
		object: stacks.texts[object],
		file, start,
		kind: flags & 7,
		isLibrary: Boolean(flags & 8),
		isPassive: Boolean(flags & 16),
		isStart: Boolean(flags & 32),
		key: `${known}@${stacks.texts[object]}@${file < 0 ? "" : fileNames[file]}`,
	});
}

const nrFrames = stacks.frames.length / COLUMNS.frame;
const frameFunction = new Int32Array(nrFrames);
const frameInlined = new Uint8Array(nrFrames);
const frameLine = new Int32Array(nrFrames).fill(-1); /* index of lines */
const lines = []; /* different pairs of file and number */
{
	const numbers = new Map();
	for (let i = 0; i < nrFrames; i++) {
		const at = stacks.frames[i * COLUMNS.frame];
		const number = stacks.frames[i * COLUMNS.frame + 1];
		frameFunction[i] = at >> 1;
		frameInlined[i] = at & 1;
		if (!number)
			continue;
		const file = functions[at >> 1].file;
		const key = `${file}:${number}`;
		if (!numbers.has(key)) {
			numbers.set(key, lines.length);
			lines.push({ file, number, key: `${fileNames[file]}:${number}` });
		}
		frameLine[i] = numbers.get(key);
	}
}
const lineOfKey = new Map(lines.map((line, i) => [line.key, i]));
const functionOfKey = new Map(functions.map((f, i) => [f.key, i]));

const nrNodes = stacks.nodes.length / COLUMNS.node;
const nodeParent = new Int32Array(nrNodes);
const nodeFrame = new Int32Array(nrNodes);
for (let i = 0; i < nrNodes; i++) {
	const distance = stacks.nodes[i * COLUMNS.node];
	nodeParent[i] = distance ? i - distance : -1;
	nodeFrame[i] = stacks.nodes[i * COLUMNS.node + 1];
}

/* A sample's parts are bucket of time (-1: not known), count, value, and so on. */
const samples = [];
let nrBuckets = 0;
for (let i = 0, node = 0; i < stacks.samples.length;) {
	const [distance, up, set, nr] = stacks.samples.slice(i, i += 4);
	const parts = [];
	let charged = -1;
	let bucket = -1;
	node += distance;
	if (up >= 0) {
		charged = node;
		for (let k = 0; k < up; k++)
			charged = nodeParent[charged];
	}
	for (const end = i + 2 * nr; i < end; i += 2) {
		const at = stacks.samples[i + 1] * COLUMNS.weight;
		bucket += stacks.samples[i];
		parts.push(bucket, stacks.weights[at], stacks.weights[at + COLUMNS.weight - 1]);
	}
	nrBuckets = Math.max(nrBuckets, bucket + 1);
	samples.push({ node, charged, set, parts, count: 0, value: 0 });
}

/* Instructions by the key of their line; their figures are those of the whole profile. */
const instructions = new Map();
for (const piece of facts.code)
	piece.texts.forEach((text, i) => {
		const [address, file, number, count, value, below] =
			piece.at.slice(i * COLUMNS.instruction, (i + 1) * COLUMNS.instruction);
		const key = file < 0 ? "" : `${fileNames[file]}:${number}`;
		if (!instructions.has(key))
			instructions.set(key, []);
		instructions.get(key).push({ piece, address, text, count, value, below });
	});
const labels = stacks.labels.filter((label) => label.values.length > 1);
for (const label of labels)
	label.param = label.name.toLowerCase();

/* ---- figures ---- */

/* "34.9"; "<0.1" if it would round to 0.0; "" for 0: as lineburn's listings have it. */
function percent(share) {
	if (!share)
		return "";
	return share < 0.0005 ? "<0.1" : (100 * share).toFixed(1);
}

/* Wilson's score interval of 95 % of a share of n samples, as in lineburn's JSON. */
function wilson(share, n) {
	const z = 1.959963984540054;
	if (!n)
		return [0, 1];
	share = Math.min(share, 1);
	const scale = 1 + z * z / n;
	const centre = (share + z * z / (2 * n)) / scale;
	const half = z / scale * Math.sqrt(share * (1 - share) / n + z * z / (4 * n * n));
	return [share > 0 ? Math.max(0, centre - half) : 0, share < 1 ? Math.min(1, centre + half) : 1];
}

/* ---- what is shown ---- */

let state;

function parseState() {
	const params = new URLSearchParams(location.hash.slice(1));
	const filters = new Map();
	for (const label of labels)
		if (params.has(label.param))
			filters.set(label, label.values.indexOf(params.get(label.param)));
	return {
		params, filters,
		line: lineOfKey.get(params.get("line")),
		file: fileNames.indexOf(params.get("file")),
		tab: params.get("tab") === "functions" ? "functions" : "lines",
		sort: ["total", "name"].includes(params.get("sort")) ? params.get("sort") : "self",
		all: params.has("all"),
		search: params.get("q") || "",
		beneath: params.get("beneath") || "",
		leaves: params.get("flame") === "leaves",
		byLine: params.get("frames") === "lines",
		zoom: params.get("zoom") || "",
		time: parseTime(params.get("time") || ""),
	};
}

const bucketSeconds = stacks.bucketNs / 1e9;
const secondsOf = (bucket) => Number((bucket * bucketSeconds).toFixed(3));
const timeText = (first, end) => `${secondsOf(first)}-${secondsOf(end)}`;

/* The buckets whose middle is in "2-5", "2-" or "-5", as of --time; null: all of them. */
function parseTime(text) {
	const found = /^([\d.]*)-([\d.]*)$/.exec(text);
	if (!found || text === "-")
		return null;
	const from = Number(found[1]);
	const to = found[2] ? Number(found[2]) : secondsOf(nrBuckets);
	const first = Math.ceil(from / bucketSeconds - 0.5);
	const end = Math.min(nrBuckets, Math.max(first + 1, Math.ceil(to / bucketSeconds - 0.5)));
	if (!(first < end))
		return null;
	return { first, end, isExact: secondsOf(first) === from && secondsOf(end) === Math.min(to, secondsOf(nrBuckets)) };
}

/* ---- a view: the sums over the samples that are shown ---- */

/* Which frames are the function or line of the caller selector? NULL: none is given. */
function focusFrames(beneath) {
	if (!beneath)
		return null;
	const line = lineOfKey.get(beneath);
	const wanted = new Uint8Array(nrFrames);
	const name = beneath.toLowerCase();
	for (let i = 0; i < nrFrames; i++) {
		const f = functions[frameFunction[i]];
		wanted[i] = line !== undefined ? frameLine[i] === line
			: f.key === beneath || f.name.toLowerCase() === name;
	}
	return wanted;
}

/* The outermost node of a stack that is in focus; -1: it is whole; undefined: none is. */
function topOf(node, focus) {
	let top;
	if (!focus)
		return -1;
	for (let at = node; at >= 0; at = nodeParent[at])
		if (focus[nodeFrame[at]])
			top = at;
	return top;
}

class Sums {
	constructor(nr) {
		this.self = new Float64Array(nr);
		this.total = new Float64Array(nr);
		this.seen = new Int32Array(nr).fill(-1);
	}
	addSelf(i, sample) {
		this.self[i] += sample.value;
	}
	addTotal(i, sample, number) {
		if (this.seen[i] === number)
			return;
		this.seen[i] = number;
		this.total[i] += sample.value;
	}
}

function passes(sample, filters, except) {
	for (const [label, value] of filters)
		if (label !== except && label.ofSet[sample.set] !== value)
			return false;
	return true;
}

/* The function with a sample's self: innermost, but for the kernel and interpreters. */
function selfFunction(node, top) {
	for (let at = node; at >= 0; at = nodeParent[at]) {
		const f = functions[frameFunction[nodeFrame[at]]];
		if (!f.isPassive && !(f.isStart && at !== node))
			return frameFunction[nodeFrame[at]];
		if (at === top)
			break;
	}
	return frameFunction[nodeFrame[node]];
}

function addSample(view, sample, number) {
	const { lineSums, functionSums, frameSums } = view;
	const { top } = sample;
	for (let at = sample.node; at >= 0; at = nodeParent[at]) {
		const frame = nodeFrame[at];
		functionSums.addTotal(frameFunction[frame], sample, number);
		frameSums.addTotal(frame, sample, number);
		if (frameLine[frame] >= 0)
			lineSums.addTotal(frameLine[frame], sample, number);
		if (at === sample.charged) {
			lineSums.addSelf(frameLine[frame], sample);
			frameSums.addSelf(frame, sample);
			view.withLine += sample.value;
		}
		if (at === top)
			break;
	}
	functionSums.addSelf(selfFunction(sample.node, top), sample);
	view.count += sample.count;
	view.value += sample.value;
	view.squares += sample.value * sample.value / (sample.count || 1);
}

/* Names each line after the function with most of its self, else most of its total. */
function nameLines(view) {
	const { frameSums } = view;
	view.lineFunction = new Int32Array(lines.length).fill(-1);
	const best = new Int32Array(lines.length).fill(-1);
	for (let i = 0; i < nrFrames; i++) {
		const line = frameLine[i];
		if (line < 0 || !frameSums.total[i])
			continue;
		const other = best[line];
		if (other >= 0 && (frameSums.self[other] > frameSums.self[i] ||
			(frameSums.self[other] === frameSums.self[i] &&
				frameSums.total[other] >= frameSums.total[i])))
			continue;
		best[line] = i;
		view.lineFunction[line] = frameFunction[i];
	}
}

function ranked(sums, nr) {
	const rows = [];
	for (let i = 0; i < nr; i++)
		if (sums.total[i])
			rows.push(i);
	return rows.sort((a, b) => sums.self[b] - sums.self[a] || sums.total[b] - sums.total[a]);
}

/* Gives each sample what it has in a range of time; null: all that it has. */
function weighSamples(time) {
	for (const sample of samples) {
		sample.count = sample.value = 0;
		for (let i = 0; i < sample.parts.length; i += 3) {
			const bucket = sample.parts[i];
			if (time && (bucket < time.first || bucket >= time.end))
				continue;
			sample.count += sample.parts[i + 1];
			sample.value += sample.parts[i + 2];
		}
	}
}

function makeView(filters, beneath, time) {
	weighSamples(time);
	const focus = focusFrames(beneath);
	const view = {
		samples: [], count: 0, value: 0, squares: 0, withLine: 0,
		lineSums: new Sums(lines.length),
		functionSums: new Sums(functions.length),
		frameSums: new Sums(nrFrames),
	};
	for (const sample of samples) {
		if (!(sample.count || sample.value) || !passes(sample, filters))
			continue;
		const top = topOf(sample.node, focus);
		if (top === undefined)
			continue;
		sample.top = top;
		addSample(view, sample, view.samples.length);
		view.samples.push(sample);
	}
	nameLines(view);
	view.lines = ranked(view.lineSums, lines.length);
	view.functions = ranked(view.functionSums, functions.length);
	view.rank = new Map(view.lines.map((line, i) => [line, i]));
	view.hottest = view.lines.length ? view.lineSums.self[view.lines[0]] : 0;
	return view;
}

let view;
let viewKey;

function updateView() {
	const key = JSON.stringify([[...state.filters].map(([label, v]) => [label.name, v]), state.beneath,
		state.time && timeText(state.time.first, state.time.end)]);
	if (key === viewKey)
		return false;
	viewKey = key;
	view = makeView(state.filters, state.beneath, state.time);
	return true;
}

const share = (value) => view.value ? value / view.value : 0;

/* ---- elements ---- */

/* "known.py:12" */
function lineText(line) {
	return `${baseName(fileNames[lines[line].file])}:${lines[line].number}`;
}

function lineLink(line, text) {
	return el("a", { href: hashWith({ line: lines[line].key, file: null }), title: lines[line].key },
		text || lineText(line));
}

/* The same for a narrow cell, which may cut the name of the file, but not the number. */
function narrowLineLink(line) {
	const a = lineLink(line);
	const { file, number } = lines[line];
	a.className = "place";
	a.replaceChildren(el("span", {}, baseName(fileNames[file])), `:${number}`);
	return a;
}

/* Of as many samples of equal CPU time as would tell shares as exactly (Kish). */
function interval(value) {
	return wilson(share(value), view.squares ? view.value * view.value / view.squares : view.count);
}

/* A cell with a share, and half the width of its interval. */
function figureCell(value) {
	const td = el("td", { class: "figure" }, percent(share(value)));
	if (facts.countsSamples && value) {
		const [low, high] = interval(value);
		td.append(el("small", {}, ` \u00b1${(50 * (high - low)).toFixed(1)}`));
		td.title = `95 % interval: ${(100 * low).toFixed(1)} % to ${(100 * high).toFixed(1)} %`;
	}
	return td;
}

/* @widest: the value that fills the cell */
function barCell(self, total, widest) {
	const track = el("div", { class: "track" }, el("i"), el("i"));
	track.children[0].style.width = `${100 * total / widest}%`;
	track.children[1].style.width = `${100 * self / widest}%`;
	return el("td", { class: "bar", "aria-hidden": "true" }, track);
}

/* ---- the head and the notes ---- */

function showFacts() {
	const [first, ...rest] = facts.head.map((line) => line.trim().replace(/^lineburn: /, ""));
	$("title").textContent = facts.title || "lineburn";
	$("when").textContent = [facts.startMs ? new Date(facts.startMs).toLocaleString() : "", facts.host || ""]
		.filter(Boolean).join(", ");
	$("summary").textContent = first || "";
	$("facts").replaceChildren(...rest.map((line) => el("li", {}, line)));
	$("cut").textContent = stacks.cut;
	$("cut").hidden = !stacks.cut;
	$("where-title").textContent = `Where the ${facts.unit} goes`;
	$("legend").replaceChildren(
		...facts.legend.map((line) => el("li", {}, line)),
		el("li", {}, "\u00b1: half the 95 % interval of the share (Wilson), of the samples that are shown"),
		el("li", {}, "functions: self is CPU in the function itself, and in the kernel on its behalf"));
	let list;
	for (const line of facts.misses) {
		if (/^\s/.test(line)) {
			list = list || $("misses").appendChild(el("ul"));
			list.append(el("li", {}, line.trim()));
			continue;
		}
		list = null;
		$("misses").append(el(line.endsWith(":") ? "h3" : "p", {}, line));
	}
}

/* ---- filters ---- */

function showFilters() {
	for (const label of labels) {
		const values = new Float64Array(label.values.length);
		const others = new Map(state.filters);
		const select = label.select;
		others.delete(label);
		for (const sample of samples)
			if (passes(sample, others) && topOf(sample.node, view.focus) !== undefined)
				values[label.ofSet[sample.set]] += sample.value;
		const order = [...values.keys()].filter((i) => values[i]).sort((a, b) => values[b] - values[a]);
		const chosen = state.filters.get(label);
		const all = values.reduce((a, b) => a + b, 0);
		select.replaceChildren(el("option", { value: "" }, "all"));
		for (const i of order.slice(0, MAX_OPTIONS))
			select.append(el("option", { value: "=" + label.values[i] },
				`${label.values[i] || "none"}  ${percent(values[i] / all)} %`));
		if (chosen !== undefined && !order.slice(0, MAX_OPTIONS).includes(chosen))
			select.append(el("option", { value: "=" + (label.values[chosen] || "") },
				label.values[chosen] || "none"));
		if (order.length > MAX_OPTIONS)
			select.append(el("option", { disabled: "" }, `${order.length - MAX_OPTIONS} more`));
		select.value = chosen === undefined ? "" : "=" + (label.values[chosen] || "");
	}
}

function showStatus() {
	const [count, value] = facts.hasCpu ? facts.all : [facts.all[0], facts.all[0]];
	const part = value ? 100 * view.value / value : 0;
	const what = facts.countsSamples ? "samples" : facts.unit;
	const isAll = !state.filters.size && !state.beneath && !state.time;
	const amount = (n) => facts.countsTime ? `${(n / 1e9).toFixed(2)} s` : n;
	let text = isAll ? `all ${amount(count)} ${what}`
		: `${amount(view.count)} of ${amount(count)} ${what}, ${part.toFixed(1)} %`;
	if (state.search)
		text += `; "${state.search}" is on ${percent(share(searchedValue())) || "0.0"} % of their stacks`;
	$("status").textContent = text;
	$("reset").hidden = isAll && !state.search;
}

/* ---- search ---- */

function matches(text) {
	return text.toLowerCase().includes(state.search.toLowerCase());
}

function frameMatches(frame) {
	return matches(functions[frameFunction[frame]].name) ||
		(frameLine[frame] >= 0 && matches(lines[frameLine[frame]].key));
}

/* The value of the samples that have a match on their stacks. */
function searchedValue() {
	const found = new Uint8Array(nrFrames);
	let value = 0;
	for (let i = 0; i < nrFrames; i++)
		found[i] = frameMatches(i);
	for (const sample of view.samples)
		for (let at = sample.node; at >= 0; at = nodeParent[at]) {
			if (found[nodeFrame[at]]) {
				value += sample.value;
				break;
			}
			if (at === sample.top)
				break;
		}
	return value;
}

/* ---- the tables ---- */

const TABLES = {
	lines: {
		columns: [["self", "Self %"], ["total", "Total %"], [null, ""], ["name", "Line"], [null, "Function"]],
		rows: () => view.lines,
		sums: () => view.lineSums,
		name: (i) => lines[i].key,
		text: (i) => `${lines[i].key} ${functionName(view.lineFunction[i])}`,
		cells: (i) => [
			el("td", { class: "name" }, narrowLineLink(i)),
			el("td", { class: `name ${jitClass(view.lineFunction[i])}`, title: functionName(view.lineFunction[i]) },
				functionName(view.lineFunction[i]))],
	},
	functions: {
		columns: [["self", "Self %"], ["total", "Total %"], [null, ""], ["name", "Function"], [null, "File or object"]],
		rows: () => view.functions,
		sums: () => view.functionSums,
		name: (i) => functions[i].name,
		text: (i) => `${functions[i].name} ${functions[i].object} ${functions[i].file < 0 ? "" : fileNames[functions[i].file]}`,
		cells: (i) => {
			const f = functions[i];
			const hottest = hottestOf(i);
			const place = f.file < 0 ? f.object : `${baseName(fileNames[f.file])}${f.start ? ":" + f.start : ""}`;
			return [
				el("td", { class: "name" }, el("a", { href: hashWith({ beneath: f.key, zoom: null }),
					title: `${f.name}: show only what is beneath it` }, f.name)),
				el("td", { class: "name", title: f.file < 0 ? f.object : fileNames[f.file] },
					hottest < 0 ? place : lineLink(hottest, place), f.kind === 3 && f.file >= 0 ? " [jit]" : "")];
		},
	},
};

function functionName(i) {
	return i < 0 ? "" : functions[i].name;
}

function jitClass(i) {
	return i >= 0 && functions[i].kind === 3 ? "jit" : "";
}

function headRow(table) {
	const tr = el("tr");
	for (const [sort, text] of table.columns) {
		const isFigure = sort === "self" || sort === "total";
		const th = el("th", { scope: "col", class: isFigure ? "figure" : text ? "" : "bar" });
		if (sort) {
			const button = el("button", { type: "button" }, text);
			button.addEventListener("click", () => go({ sort: sort === "self" ? null : sort }));
			th.append(button);
			if (state.sort === sort)
				th.setAttribute("aria-sort", sort === "name" ? "ascending" : "descending");
		} else if (text) {
			th.append(text);
		} else {
			th.append(el("span", { class: "dim" }, "self, total"));
		}
		tr.append(th);
	}
	return tr;
}

function sortedRows(table) {
	const sums = table.sums();
	let rows = table.rows();
	if (state.search)
		rows = rows.filter((i) => matches(table.text(i)));
	if (state.sort === "total")
		return rows.slice().sort((a, b) => sums.total[b] - sums.total[a] || sums.self[b] - sums.self[a]);
	if (state.sort === "name")
		return rows.slice().sort((a, b) => table.name(a).localeCompare(table.name(b), "en", { numeric: true }));
	return rows;
}

function showTable() {
	const table = TABLES[state.tab];
	const sums = table.sums();
	const rows = sortedRows(table);
	const nr = state.all ? rows.length : Math.min(rows.length, MAX_ROWS);
	const widest = rows.slice(0, nr).reduce((most, i) => Math.max(most, sums.total[i]), 0);
	const body = [];
	for (const i of rows.slice(0, nr)) {
		const tr = el("tr", {},
			figureCell(sums.self[i]),
			figureCell(sums.total[i]),
			barCell(sums.self[i], sums.total[i], widest),
			...table.cells(i));
		if (state.tab === "lines" && i === selectedLine()) {
			tr.className = "selected";
			tr.setAttribute("aria-current", "true");
		}
		body.push(tr);
	}
	if (!body.length)
		body.push(el("tr", {}, el("td", { colspan: "5", class: "dim" },
			state.search ? "nothing matches the search" : "no sample has a source line: see Functions")));
	$("hot").tHead.replaceChildren(headRow(table));
	$("hot").tBodies[0].replaceChildren(...body);
	$("tab-lines").setAttribute("aria-pressed", String(state.tab === "lines"));
	$("tab-functions").setAttribute("aria-pressed", String(state.tab === "functions"));
	$("more").hidden = nr === rows.length;
	$("more").textContent = `Show all ${rows.length}`;
}

/* ---- the source ---- */

function selectedLine() {
	return state.line !== undefined ? state.line
		: state.file >= 0 ? view.lines.find((i) => lines[i].file === state.file)
		: view.lines[0];
}

function shownFile() {
	const line = selectedLine();
	return state.file >= 0 && state.line === undefined ? state.file : line === undefined ? -1 : lines[line].file;
}

/* Sums of each file's lines. A line's total cannot be added to another's. */
function fileShares() {
	const self = new Map();
	for (const i of view.lines)
		self.set(lines[i].file, (self.get(lines[i].file) || 0) + view.lineSums.self[i]);
	return [...self].sort((a, b) => b[1] - a[1]);
}

function showFiles() {
	const select = $("file");
	const shown = shownFile();
	const options = fileShares().map(([file, self]) =>
		el("option", { value: String(file) }, `${baseName(fileNames[file])}  ${percent(share(self)) || "0.0"} %  ${fileNames[file]}`));
	if (shown >= 0 && !options.some((option) => option.value === String(shown)))
		options.push(el("option", { value: String(shown) }, fileNames[shown]));
	select.replaceChildren(...options);
	select.value = String(shown);
	select.hidden = !options.length;
	$("source-title").dataset.file = shown >= 0 ? fileNames[shown] : "";
}

function heat(value) {
	return heatOf(value, view.hottest);
}

function sourceRow(file, number, text, lineNumbers, bare) {
	const line = lineNumbers.get(number);
	const self = line === undefined ? 0 : view.lineSums.self[line];
	const total = line === undefined ? 0 : view.lineSums.total[line];
	const isBare = !total && bare.has(number);
	const cells = [
		line === undefined || !self ? el("td", { class: "figure" }, isBare ? "\u00b7" : "")
			: figureCell(self),
		line === undefined || !total ? el("td", { class: "figure" }) : figureCell(total),
		el("td", { class: "figure" }, total ? lineLink(line, String(number)) : String(number)),
		el("td", { class: "text" }, text),
	];
	if (isBare)
		cells[0].title = "no machine code of its own; that is not 0 %";
	if (self) {
		cells[0].classList.add(`heat-${heat(self)}`);
		/* Each interval is in the table beside; here it is in the way. */
		cells[0].querySelector("small")?.remove();
	}
	cells[1].querySelector("small")?.remove();
	const tr = el("tr", { class: total ? "hot" : "cold" }, ...cells);
	if (line !== undefined) {
		tr.dataset.line = line;
		tr.addEventListener("click", () => {
			if (!String(getSelection()))
				go({ line: lines[line].key, file: null });
		});
	}
	return tr;
}

function gapRow() {
	return el("tr", { class: "gap" }, el("td", { colspan: "3" }, "\u22ee"), el("td"));
}

let sourceKey;

function showSource() {
	const file = shownFile();
	const key = `${viewKey} ${file}`;
	const info = file >= 0 ? facts.files[file] : undefined;
	if (key !== sourceKey) {
		sourceKey = key;
		const rows = [];
		const lineNumbers = new Map();
		const bare = new Set();
		for (let i = 0; i < lines.length; i++)
			if (lines[i].file === file)
				lineNumbers.set(lines[i].number, i);
		let last = 0;
		for (const distance of info ? info.bare : [])
			bare.add(last += distance);
		const texts = new Map();
		for (const [first, ...run] of info ? info.runs : [])
			run.forEach((text, i) => texts.set(first + i, text));
		/* Lines with samples are listed without their text, too. */
		for (const [number, i] of lineNumbers)
			if (!texts.has(number) && view.lineSums.total[i])
				texts.set(number, functionName(view.lineFunction[i]));
		last = 0;
		for (const number of [...texts.keys()].sort((a, b) => a - b)) {
			if (number !== last + 1)
				rows.push(gapRow());
			rows.push(sourceRow(file, number, texts.get(number), lineNumbers, bare));
			last = number;
		}
		$("code").querySelector("tbody").replaceChildren(...rows);
		showNote(info);
	}
	markSelected();
}

function showNote(info) {
	let note = "";
	if (info && info.leftOut)
		note = "The text of this file is not in the page, which holds the hottest files only: see lineburn annotate.";
	else if (info)
		note = info.note || (info.runs.length ? "" : "The source of this file is not at hand.");
	$("note").textContent = note;
	$("note").hidden = !note;
}

function markSelected() {
	const line = selectedLine();
	for (const tr of $("code").querySelectorAll("tr.selected")) {
		tr.classList.remove("selected");
		tr.removeAttribute("aria-current");
	}
	const tr = line === undefined ? null : $("code").querySelector(`tr[data-line="${line}"]`);
	if (!tr)
		return;
	tr.classList.add("selected");
	tr.setAttribute("aria-current", "true");
	const box = $("code");
	box.scrollTop = tr.offsetTop - box.clientHeight / 3;
}

/* ---- the selected line: who calls it, and what it calls ---- */

/* Adds a sample once to each of its rows. */
class Calls {
	constructor() {
		this.rows = new Map();
	}
	add(key, sample, number, make) {
		let row = this.rows.get(key);
		if (!row) {
			row = make();
			row.value = 0;
			this.rows.set(key, row);
		}
		if (row.seen !== number) {
			row.seen = number;
			row.value += sample.value;
		}
	}
	sorted() {
		return [...this.rows.values()].sort((a, b) => b.value - a.value);
	}
}

const hasLine = (node) => frameLine[nodeFrame[node]] >= 0;
const isOwn = (node) => hasLine(node) && !functions[frameFunction[nodeFrame[node]]].isLibrary;

/* The first node from @node outwards that passes; -1: none. */
function outwards(node, test) {
	while (node >= 0 && !test(node))
		node = nodeParent[node];
	return node;
}

/* The caller; where that is a library's code, the line of the user's that led there. */
function addCaller(callers, sample, number, node) {
	const direct = nodeParent[node];
	if (direct < 0) {
		callers.add("", sample, number, () => ({ text: "nothing: it is the outermost frame, or its callers are not known" }));
		return;
	}
	let at = outwards(direct, isOwn);
	if (at < 0)
		at = outwards(direct, hasLine);
	if (at < 0)
		at = direct;
	const via = at === direct ? -1 : nodeFrame[direct];
	callers.add(`${nodeFrame[at]} ${via}`, sample, number, () => ({ frame: nodeFrame[at], via }));
}

function addCallee(callees, sample, number, node, path) {
	const below = path[path.length - 1];
	if (node === sample.charged) {
		if (node === sample.node) {
			callees.add("self", sample, number, () => ({ text: "the line itself" }));
			return;
		}
		const leaf = frameFunction[nodeFrame[sample.node]];
		callees.add(`f${leaf}`, sample, number, () => ({ function: leaf, isSelf: true }));
	} else if (below !== undefined) {
		callees.add(nodeFrame[below], sample, number, () => ({ frame: nodeFrame[below] }));
	}
}

/* Callers and callees of a line, over the samples of the view. */
function callsOf(line) {
	const callers = new Calls();
	const callees = new Calls();
	view.samples.forEach((sample, number) => {
		const path = []; /* from the innermost frame to the one below @at */
		let isInner = true;
		for (let at = sample.node; at >= 0; at = nodeParent[at]) {
			if (frameLine[nodeFrame[at]] === line) {
				addCaller(callers, sample, number, at);
				if (isInner)
					addCallee(callees, sample, number, at, path);
				isInner = false;
			}
			path.push(at);
		}
	});
	return { callers: callers.sorted(), callees: callees.sorted() };
}

/* The way of calls by which most of the line's total came, the outermost first. */
function usualWay(line, total) {
	const ways = new Map();
	for (const sample of view.samples) {
		let isOnIt = false;
		const way = [];
		for (let at = sample.node; at >= 0; at = at === sample.top ? -1 : nodeParent[at]) {
			if (isOnIt && hasLine(at))
				way.unshift(nodeFrame[at]);
			isOnIt ||= frameLine[nodeFrame[at]] === line;
		}
		if (!isOnIt)
			continue;
		const known = ways.get(way.join()) || { way, value: 0 };
		known.value += sample.value;
		ways.set(way.join(), known);
	}
	const { way, value } = [...ways.values()].sort((a, b) => b.value - a.value)[0];
	return way.length ? el("p", {}, `${percent(value / total)} % of its total by `, way.length > MAX_WAY ? "\u2026 \u203a " : "",
		...way.slice(-MAX_WAY).flatMap((frame, i) =>
			[i ? " \u203a " : "", `${functionName(frameFunction[frame])} `, lineLink(frameLine[frame])])) : "";
}

function callRow(row, whole) {
	const td = el("td", { class: "name" });
	if (row.frame !== undefined) {
		const f = functions[frameFunction[row.frame]];
		const line = frameLine[row.frame];
		td.append(f.name, " ");
		if (line >= 0)
			td.append(lineLink(line));
		else
			td.append(el("span", { class: "dim" }, f.object));
		if (frameInlined[row.frame])
			td.append(el("span", { class: "dim" }, " inlined"));
		if (row.via >= 0)
			td.append(el("span", { class: "dim" }, ` through ${functions[frameFunction[row.via]].name}`));
		td.title = `${f.name} ${line >= 0 ? lines[line].key : f.object}`;
	} else if (row.function !== undefined) {
		const f = functions[row.function];
		td.append(f.name, " ", el("span", { class: "dim" }, `${f.object}, in its self`));
		td.title = f.name;
	} else {
		td.append(el("span", { class: "dim" }, row.text));
	}
	return el("tr", {}, el("td", { class: "figure" }, percent(row.value / whole)), td);
}

function callTable(title, rows, whole) {
	const body = el("tbody", {}, ...rows.slice(0, MAX_CALLS).map((row) => callRow(row, whole)));
	if (rows.length > MAX_CALLS)
		body.append(el("tr", {}, el("td"), el("td", { class: "dim" }, `${rows.length - MAX_CALLS} more`)));
	return el("div", { tabindex: "0", role: "group", "aria-label": title }, el("h3", {}, title), el("table", {},
		el("thead", { class: "visually-hidden" }, el("tr", {},
			el("th", { scope: "col", class: "figure" }, "% of it"), el("th", { scope: "col" }, "function and line"))),
		body));
}

/* The instructions of a line, under the function that has them. */
function instructionTable(line) {
	const found = instructions.get(lines[line].key);
	if (!found)
		return "";
	const whole = facts.all[facts.hasCpu ? 1 : 0];
	const widest = Math.max(...found.map((at) => at.value));
	const body = el("tbody");
	let last = null;
	for (const at of found.slice(0, MAX_INSTRUCTIONS)) {
		if (!last || last.piece !== at.piece)
			body.append(el("tr", {}, el("td", { colspan: "4", class: "dim" }, `${at.piece.function}  ${at.piece.object}  ${at.piece.note}`)));
		const cell = el("td", { class: "figure" }, percent(at.value / whole));
		if (at.value)
			cell.classList.add(`heat-${heatOf(at.value, widest)}`);
		body.append(el("tr", {}, cell, el("td", { class: "figure dim" }, percent(at.below / whole)),
			el("td", { class: "figure dim" }, at.address.toString(16)), el("td", { class: "text" }, at.text)));
		last = at;
	}
	if (found.length > MAX_INSTRUCTIONS)
		body.append(el("tr", {}, el("td", { colspan: "4", class: "dim" }, `${found.length - MAX_INSTRUCTIONS} more`)));
	return el("div", { class: "instructions", tabindex: "0", role: "group", "aria-label": "Instructions" },
		el("h3", {}, "Instructions ", el("span", { class: "dim" }, "of the whole profile; with samples, and those beside them")),
		el("table", {},
			el("thead", {}, el("tr", {}, ...["self %", "below %", "address"].map((text) => el("th", { scope: "col", class: "figure" }, text)),
				el("th", { scope: "col" }, "instruction"))), body));
}

function showSelected() {
	const line = selectedLine();
	const box = $("selected");
	$("previous").disabled = !nextLine(-1);
	$("next").disabled = !nextLine(1);
	if (line === undefined) {
		box.replaceChildren();
		return;
	}
	const sums = view.lineSums;
	const total = sums.total[line];
	const name = functionName(view.lineFunction[line]);
	const rank = view.rank.get(line);
	const figure = value => {
		const [low, high] = interval(value);
		const range = facts.countsSamples ? ` (${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)})` : "";
		return `${percent(share(value)) || "0.0"} %${range}`;
	};
	const { callers, callees } = callsOf(line);
	box.replaceChildren(
		el("h3", {}, `${lineText(line)} `, el("span", { class: `mono ${jitClass(view.lineFunction[line])}` }, name)),
		el("p", {}, total
			? `self ${figure(sums.self[line])}, total ${figure(total)}` +
				`; line ${rank + 1} of ${view.lines.length} by self`
			: "No sample of this view has this line."),
		el("div", { class: "actions" },
			action("Only beneath this line", { beneath: lines[line].key, zoom: null }),
			view.lineFunction[line] >= 0
				? action("Only beneath this function", { beneath: functions[view.lineFunction[line]].key, zoom: null }) : "",
			state.beneath ? action("With all callers again", { beneath: null, zoom: null }) : ""),
		...(total ? [usualWay(line, total), el("div", { class: "pair" },
			callTable("Called from", callers, total), callTable("What it spends its total on", callees, total))] : []),
		instructionTable(line));
}

/* The next hot line in this direction; undefined: there is none. */
function nextLine(step) {
	const line = selectedLine();
	const rank = view.rank.has(line) ? view.rank.get(line) + step : 0;
	const next = view.lines[rank];
	return next !== undefined && view.lineSums.self[next] ? lines[next] : undefined;
}

function goToLine(step) {
	const next = nextLine(step);
	if (next)
		go({ line: next.key, file: null });
}

/* ---- the flame graph ---- */

const chartBox = $("chart");
const MIN_SHARE = 1 / 5000; /* narrower frames are not in the graph */
let chartKey;

/* Start code and the C code of an interpreter say nothing about who calls whom. */
function isScaffold(f) {
	return f.isStart || (f.isPassive && f.kind !== 4);
}

/* The nodes of a sample's stack, the outermost first. */
function stackOf(sample) {
	const stack = [];
	for (let at = sample.node; at >= 0; at = nodeParent[at]) {
		if (at === sample.node || !isScaffold(functions[frameFunction[nodeFrame[at]]]))
			stack.push(at);
		if (at === sample.top)
			break;
	}
	return stack.reverse();
}

function frameKey(frame) {
	return state.byLine && frameLine[frame] >= 0 ? `l${frameLine[frame]}.${frameFunction[frame]}` : `f${frameFunction[frame]}`;
}

function prune(node, min) {
	node.children = [...node.byKey.values()].filter((child) => child.value >= min);
	node.byKey = null;
	node.children.forEach((child) => prune(child, min));
	node.children.sort((a, b) => b.value - a.value);
}

function flameTree() {
	const root = { name: "all", key: "", value: 0, byKey: new Map() };
	for (const sample of view.samples) {
		const stack = stackOf(sample);
		if (state.leaves)
			stack.reverse();
		let at = root;
		at.value += sample.value;
		for (const node of stack) {
			const frame = nodeFrame[node];
			const key = frameKey(frame);
			let child = at.byKey.get(key);
			if (!child) {
				child = { key, frame, name: frameName(frame), value: 0, byKey: new Map() };
				at.byKey.set(key, child);
			}
			child.value += sample.value;
			at = child;
		}
	}
	prune(root, root.value * MIN_SHARE);
	return root;
}

function frameName(frame) {
	const f = functions[frameFunction[frame]];
	return state.byLine && frameLine[frame] >= 0 ? `${f.name}  ${lineText(frameLine[frame])}` : f.name;
}

function colourOf(f) {
	return f.isLibrary && f.kind !== 4 && f.kind !== 3 ? 1 : f.kind;
}

function flameColour(data, isFound) {
	if (isFound)
		return "var(--hit)";
	if (data.frame === undefined)
		return "var(--edge)";
	const f = functions[frameFunction[data.frame]];
	return `var(--kind-${colourOf(f)})`;
}

function kindText(f) {
	return f.isLibrary && f.kind !== 1 && f.kind !== 4 ? `${KINDS[f.kind]}, library` : KINDS[f.kind];
}

function flameLabel(data) {
	const part = `${percent(share(data.value))} %`;
	if (data.frame === undefined)
		return `everything that is shown: ${part}`;
	const f = functions[frameFunction[data.frame]];
	const place = state.byLine && frameLine[data.frame] >= 0 ? lines[frameLine[data.frame]].key
		: f.file >= 0 ? fileNames[f.file] : f.object;
	return `${f.name}  ${part}  ${place} (${kindText(f)})`;
}

/* Without lines, a frame stands for all lines of its function. */
function flameMatches(data) {
	return state.byLine ? frameMatches(data.frame) : matches(functions[frameFunction[data.frame]].name);
}

const flame = new Flame(chartBox, {
	colour: flameColour,
	label: flameLabel,
	matches: flameMatches,
	say: (text) => { if (text) showFrame(text); else showZoomed(); },
});

function showFrame(text, ...actions) {
	$("frame").replaceChildren(text, ...actions);
}

function showZoomed() {
	const d = flame.node(state.zoom);
	const { frame } = d.data;
	$("zoom-out").hidden = !d.parent;
	if (frame === undefined) {
		showFrame("");
		return;
	}
	const f = functions[frameFunction[frame]];
	showFrame(flameLabel(d.data),
		action("Only beneath it", { beneath: state.byLine && frameLine[frame] >= 0 ? lines[frameLine[frame]].key : f.key, zoom: null }),
		frameLine[frame] >= 0 ? action("Source", { line: lines[state.byLine ? frameLine[frame] : hottestOf(frameFunction[frame])].key, file: null }) : "");
}

/* The line of a function with most self, else most total. */
function hottestOf(f) {
	let best = -1;
	for (let i = 0; i < nrFrames; i++) {
		if (frameFunction[i] !== f || frameLine[i] < 0)
			continue;
		if (best < 0 || view.frameSums.self[i] > view.frameSums.self[best] ||
			(view.frameSums.self[i] === view.frameSums.self[best] &&
				view.frameSums.total[i] > view.frameSums.total[best]))
			best = i;
	}
	return best < 0 ? -1 : frameLine[best];
}

function showFlame() {
	const key = JSON.stringify([viewKey, state.leaves, state.byLine, chartBox.clientWidth]);
	if (key !== chartKey) {
		chartKey = key;
		flame.draw(flameTree());
	}
	flame.show(state.zoom, state.search);
	for (const [id, isOn] of [["flame-callers", !state.leaves], ["flame-leaves", state.leaves],
		["flame-functions", !state.byLine], ["flame-lines", state.byLine]])
		$(id).setAttribute("aria-pressed", String(isOn));
	showZoomed();
}

/* ---- the strip: CPU by time ---- */

const MAX_TICKS = 8;
const TICK_STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400];

/* The value of each bucket by kind: the kernel's own, else that of the function with the self. */
function barsOfKinds() {
	const bars = KINDS.map(() => new Float64Array(nrBuckets));
	for (const sample of samples) {
		const top = passes(sample, state.filters) ? topOf(sample.node, view.focus) : undefined;
		if (top === undefined)
			continue;
		const isKernel = functions[frameFunction[nodeFrame[sample.node]]].kind === 4;
		const bar = bars[isKernel ? 4 : colourOf(functions[selfFunction(sample.node, top)])];
		for (let i = 0; i < sample.parts.length; i += 3)
			if (sample.parts[i] >= 0)
				bar[sample.parts[i]] += sample.parts[i + 2];
	}
	return bars;
}

let bars; /* of all kinds together */

/* One above the other, in a picture of 1000 units that the browser stretches. */
function drawBars() {
	const kinds = barsOfKinds();
	const low = new Float64Array(nrBuckets);
	bars = low.map((_, i) => kinds.reduce((sum, bar) => sum + bar[i], 0));
	const most = bars.reduce((a, b) => Math.max(a, b), 0) || 1;
	const svg = $("time").querySelector("svg");
	svg.setAttribute("viewBox", `0 0 ${nrBuckets} 1000`);
	svg.replaceChildren(...kinds.map((bar, kind) => {
		const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
		let d = "";
		bar.forEach((value, i) => {
			const height = 1000 * value / most;
			if (value)
				d += `M${i} ${(1000 - low[i]).toFixed(1)}v-${height.toFixed(1)}h1v${height.toFixed(1)}z`;
			low[i] += height;
		});
		path.setAttribute("d", d);
		path.setAttribute("fill", `var(--kind-${kind})`);
		return path;
	}));
	$("time-scale").firstElementChild.textContent = rateText(most, 1);
}

/* "1.3 CPUs": the value of some buckets, as a mean over their time. */
function rateText(value, nr) {
	const rate = value / (nr * bucketSeconds);
	if (!facts.hasCpu)
		return `${rate.toFixed(1)} ${facts.unit} per second`;
	return `${(rate / 1e9).toFixed(rate < 1e8 ? 2 : 1)} CPUs`;
}

function drawAxis() {
	const end = nrBuckets * bucketSeconds;
	const step = TICK_STEPS.find((s) => end / s <= MAX_TICKS) || end;
	const ticks = [];
	for (let i = 0; i * step < end * 0.97; i++) {
		const tick = el("span", {}, `${Number((i * step).toFixed(1))}${i ? "" : " s"}`);
		tick.style.left = `${100 * i * step / end}%`;
		ticks.push(tick);
	}
	$("time-axis").replaceChildren(...ticks);
}

function showRange(time) {
	const { first, end } = time || { first: 0, end: nrBuckets };
	const box = $("time-range");
	box.hidden = $("time-clear").hidden = !time;
	box.style.left = `${100 * first / nrBuckets}%`;
	box.style.width = `${100 * (end - first) / nrBuckets}%`;
	$("time-from").value = secondsOf(first);
	$("time-to").value = secondsOf(end);
	const rate = rateText(bars.slice(first, end).reduce((a, b) => a + b, 0), end - first);
	$("time-said").textContent = time
		? `Only ${secondsOf(first)} to ${secondsOf(end)} s of ${secondsOf(nrBuckets)} s, as --time ${timeText(first, end)}: ${rate} on average.` +
			(time.isExact === false ? ` Times are known to ${secondsOf(1)} s here.` : "")
		: `All ${secondsOf(nrBuckets)} s: ${rate} on average.`;
}

let stripKey;

function showStrip() {
	if (nrBuckets < 2)
		return;
	const key = JSON.stringify([[...state.filters].map(([label, v]) => [label.name, v]), state.beneath]);
	if (key !== stripKey) {
		stripKey = key;
		drawBars();
	}
	showRange(state.time);
}

/* From one bucket to another, in either order; all of them: no choice. */
function goToTime(first, end, replaces) {
	first = Math.max(0, Math.min(first, nrBuckets - 1));
	end = Math.max(first + 1, Math.min(end, nrBuckets));
	const isAll = first === 0 && end === nrBuckets;
	go({ time: isAll ? null : timeText(first, end), zoom: null }, replaces);
	showRange(state.time);
}

function stripKeyDown(event) {
	const step = Math.max(1, Math.round(nrBuckets / 60));
	const by = { ArrowLeft: -step, ArrowRight: step }[event.key];
	if (event.key === "Escape")
		go({ time: null, zoom: null });
	else if (!by || event.target !== $("time"))
		return;
	else if (!state.time)
		goToTime(0, Math.ceil(nrBuckets / 10));
	else if (event.shiftKey)
		goToTime(state.time.first, state.time.end + by, true);
	else {
		const { first, end } = state.time;
		const fits = Math.max(-first, Math.min(by, nrBuckets - end));
		goToTime(first + fits, end + fits, true);
	}
	event.preventDefault();
}

function listenStrip() {
	const strip = $("time");
	let drag; /* where it began, and the buckets so far */
	const bucketAt = (event) => {
		const box = strip.getBoundingClientRect();
		const at = Math.floor(nrBuckets * (event.clientX - box.left) / box.width);
		return Math.max(0, Math.min(at, nrBuckets - 1));
	};
	strip.addEventListener("pointerdown", (event) => {
		if (event.button)
			return;
		strip.setPointerCapture(event.pointerId);
		drag = { x: event.clientX, from: bucketAt(event) };
	});
	strip.addEventListener("pointermove", (event) => {
		if (!drag || (!drag.end && Math.abs(event.clientX - drag.x) < 4))
			return;
		const to = bucketAt(event);
		drag.first = Math.min(drag.from, to);
		drag.end = Math.max(drag.from, to) + 1;
		showRange(drag);
	});
	strip.addEventListener("pointerup", () => {
		if (drag && drag.end)
			goToTime(drag.first, drag.end);
		drag = null;
	});
	strip.addEventListener("pointercancel", () => {
		drag = null;
		showRange(state.time);
	});
	const typed = (id) => Math.round(Number($(id).value) / bucketSeconds);
	$("time-from").addEventListener("change", () => goToTime(typed("time-from"), typed("time-to")));
	$("time-to").addEventListener("change", () => goToTime(Math.min(typed("time-from"), typed("time-to") - 1), typed("time-to")));
	$("time-clear").addEventListener("click", () => {
		go({ time: null, zoom: null });
		strip.focus();
	});
	$("strip").addEventListener("keydown", stripKeyDown);
}

function makeStrip() {
	if (nrBuckets < 2)
		return;
	$("strip").hidden = false;
	$("strip-title").textContent = `${facts.hasCpu ? "CPU" : facts.unit} by time`;
	for (const id of ["time-from", "time-to"]) {
		$(id).step = secondsOf(1);
		$(id).max = secondsOf(nrBuckets);
	}
	drawAxis();
	listenStrip();
}

/* ---- all of it ---- */

function show() {
	state = parseState();
	const isNew = updateView();
	view.focus = focusFrames(state.beneath);
	if (isNew)
		showFilters();
	$("search").value = state.search;
	const f = functionOfKey.get(state.beneath);
	$("beneath").value = f === undefined ? state.beneath : functions[f].name;
	showTable();
	showFiles();
	showSource();
	showSelected();
	showStatus();
	showStrip();
	showFlame();
}

/* Takes what was typed: a function's name, or the end of a file's path with a line. */
function beneathOf(text) {
	if (!text)
		return null;
	const line = lines.find((l) => l.key === text || l.key.endsWith("/" + text));
	return line ? line.key : text;
}

function makeFilters() {
	for (const label of labels) {
		label.select = el("select");
		label.select.addEventListener("change", () => {
			const { value } = label.select;
			const params = new URLSearchParams(state.params);
			params.delete("zoom");
			params.delete(label.param);
			if (value)
				params.set(label.param, value.slice(1));
			history.pushState(null, "", "#" + params.toString());
			show();
		});
		$("labels").append(el("label", {}, label.name, label.select));
	}
	const names = new Set(functions.map((f) => f.name));
	$("beneath-list").replaceChildren(...[...names].slice(0, 2000).map((name) => el("option", { value: name })));
}

function listen() {
	const on = (id, changes) => $(id).addEventListener("click", () => go(changes()));
	let timer;
	$("search").addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(() => go({ q: $("search").value }, true), 150);
	});
	$("beneath").addEventListener("change", () => go({ beneath: beneathOf($("beneath").value), zoom: null }));
	$("filters").addEventListener("submit", (event) => event.preventDefault());
	$("file").addEventListener("change", () => go({ file: fileNames[Number($("file").value)], line: null }));
	on("tab-lines", () => ({ tab: null, all: null }));
	on("tab-functions", () => ({ tab: "functions", all: null }));
	on("more", () => ({ all: "1" }));
	on("flame-callers", () => ({ flame: null, zoom: null }));
	on("flame-leaves", () => ({ flame: "leaves", zoom: null }));
	on("flame-functions", () => ({ frames: null, zoom: null }));
	on("flame-lines", () => ({ frames: "lines", zoom: null }));
	on("zoom-out", () => ({ zoom: null }));
	$("reset").addEventListener("click", () => {
		const none = { q: null, beneath: null, time: null, zoom: null };
		for (const label of labels)
			none[label.param] = null;
		go(none);
	});
	/* In a narrow window the source is below the table. */
	$("hot").addEventListener("click", (event) => {
		if (event.target.closest("a.place") && $("source").getBoundingClientRect().top > innerHeight - 150)
			$("source").scrollIntoView();
	});
	$("previous").addEventListener("click", () => goToLine(-1));
	$("next").addEventListener("click", () => goToLine(1));
	addEventListener("resize", () => {
		clearTimeout(timer);
		timer = setTimeout(showFlame, 200);
	});
}

function showKinds() {
	const used = new Set(functions.map((f) => f.kind));
	for (const list of document.querySelectorAll(".kinds"))
		list.replaceChildren(...KINDS.map((name, kind) => el("li", { class: `kind-${kind}` }, name))
			.filter((_, kind) => used.has(kind) || kind === 1));
}

$("page").hidden = false;
showFacts();
showKinds();
makeFilters();
makeStrip();
listen();
listenTheme();
listenSkip("where");
listenKeys({ n: () => goToLine(1), p: () => goToLine(-1), "/": () => $("search").focus() });
drawBy(show);
document.documentElement.dataset.ready = "";
})();
