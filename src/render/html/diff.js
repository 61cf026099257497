// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page of lineburn diff --format html. All figures are those of diff --json; the page
 * only sorts and selects them (render/diff_page.c).
 */
"use strict";
(() => {
const { $, el, baseName, distinct, heatOf, hashWith, go, drawBy, action, listenTheme, listenKeys, listenSkip, Flame } = common;

/* ---- the comparison ---- */

const facts = JSON.parse(document.getElementById("facts-data").textContent);
const stacks = JSON.parse(document.getElementById("stacks-data").textContent);
const MAX_ROWS = 60; /* of a table, until more are asked for */
const MAX_LINES = 40; /* of a function */
const MATCHES = ["", "the same line", "a line that moved", "an edited line", "a new line", "a line that is gone"];
const { unit } = facts;

/* Takes the 9 numbers of a change. */
function changeOf([before, after, samplesBefore, samplesAfter, difference, low, high, p, flags]) {
	return {
		before, after, samplesBefore, samplesAfter, difference, low, high, p,
		isSignificant: Boolean(flags & 1),
		isCompared: Boolean(flags & 2),
	};
}

function* chunks(array, size) {
	for (let i = 0; i < array.length; i += size)
		yield array.slice(i, i + size);
}

const pathNames = distinct(facts.paths);

const lines = [...chunks(facts.lines, 16)].map(([path, name, before, after, match, totalBefore, totalAfter, ...change]) => ({
	path, before, after, match, totalBefore, totalAfter,
	function: facts.texts[name],
	change: changeOf(change),
	number: after || before,
}));
distinct(lines.map((l) => `${pathNames[l.path]}:${l.after ? "" : "-"}${l.number}`)).forEach((key, i) => { lines[i].key = key; });

const functions = [...chunks(facts.functions, 16)].map(([name, object, path, before, after, totalBefore, totalAfter, ...change]) => ({
	path, before, after, totalBefore, totalAfter,
	known: facts.texts[name],
	name: facts.texts[name] || `[no name] ${facts.texts[object]}`,
	object: facts.texts[object],
	change: changeOf(change),
}));
distinct(functions.map((f) => `${f.known}@${f.path < 0 ? f.object : pathNames[f.path]}`)).forEach((key, i) => { functions[i].key = key; });

const lineOfKey = new Map(lines.map((l) => [l.key, l]));
const functionOfKey = new Map(functions.map((f) => [f.key, f]));
const whole = changeOf(facts.whole);

/* ---- figures, as the text form has them ---- */

function value(v) {
	return (v * unit.scale).toFixed(unit.digits);
}

function difference(v) {
	const text = value(v);
	return text.startsWith("-") ? text : `+${text}`;
}

function growth(change) {
	if (!(change.before > 0))
		return change.after > 0 ? "new" : "";
	const percent = (100 * change.difference / change.before).toFixed(1);
	return `${percent.startsWith("-") ? "" : "+"}${percent} %`;
}

function changed(change) {
	const percent = growth(change);
	return `${named(difference(change.difference), unit.ofDifferences)}${percent ? ` (${percent})` : ""}`;
}

const named = (text, name) => name ? `${text} ${name}` : text;

function words(change) {
	return `${named(value(change.before), unit.name)} before, ${named(value(change.after), unit.name)} after: ` +
		`${changed(change)}, interval ${difference(change.low)} to ${named(difference(change.high), unit.ofDifferences)}`;
}

/* Short, for a cell; what is noise is said in the words of the text form. */
function verdict(change) {
	return change.isSignificant ? "differs" : change.isCompared ? "no more than chance" : "too few samples";
}

function longVerdict(change) {
	const p = change.p === null ? "" : ` (p = ${change.p.toPrecision(2)})`;
	if (change.isSignificant)
		return `It differs by more than chance explains${p}.`;
	return change.isCompared ? `Not told from noise: it differs by no more than chance explains${p}.`
		: "Not told from noise: it has too few samples to tell.";
}

/* Which differences are shaded: those that are beyond chance. */
const largest = [...lines, ...functions].reduce((most, { change }) =>
	change.isSignificant ? Math.max(most, Math.abs(change.difference)) : most, 0);

function shade(change) {
	if (!change.isSignificant)
		return "";
	return `${change.difference > 0 ? "more" : "less"}-${heatOf(Math.abs(change.difference), largest)}`;
}

/* ---- what is shown ---- */

let state;

function parseState() {
	const params = new URLSearchParams(location.hash.slice(1));
	return {
		line: lineOfKey.get(params.get("line")),
		function: functionOfKey.get(params.get("function")),
		file: facts.files.findIndex((file) => pathNames[file.path] === params.get("file")),
		tab: params.get("tab") === "functions" ? "functions" : "lines",
		sort: ["before", "after", "name"].includes(params.get("sort")) ? params.get("sort") : "difference",
		search: params.get("q") || "",
		onlyChanged: params.get("only") === "changed",
		all: params.has("all"),
		side: params.get("width") === "before" ? "before" : "after",
		zoom: params.get("zoom") || "",
	};
}

function matches(text, search) {
	return text.toLowerCase().includes(search.toLowerCase());
}

/* ---- the head ---- */

function sideRow(name, recordings, figure) {
	const samples = recordings.reduce((sum, r) => sum + r.samples, 0);
	return el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "figure" }, value(figure)),
		el("td", { class: "figure" }, String(samples)), el("td", {}, recordings.map((r) => r.file).join(", ")));
}

function showWhole() {
	const body = $("whole").querySelector("tbody");
	$("whole-unit").textContent = unit.name || facts.measure;
	/* Shares of all: the whole is 1 on both sides. */
	body.replaceChildren(sideRow("before", facts.before, whole.before), sideRow("after", facts.after, whole.after));
	if (facts.areShares) {
		$("whole-words").textContent = "Shares are compared, so as a whole both are 100 %.";
		return;
	}
	body.append(el("tr", {}, el("th", { scope: "row" }, "change"),
		el("td", { class: "figure" }, difference(whole.difference)), el("td"),
		el("td", {}, `${growth(whole)}, 99 % interval ${difference(whole.low)} to ${named(difference(whole.high), unit.ofDifferences)}`)));
	$("whole-words").textContent = whole.isSignificant ? longVerdict(whole)
		: `Not told from noise: as a whole no more than chance (p = ${whole.p.toPrecision(2)}).`;
}

function showFacts() {
	const [first, ...rest] = facts.head.map((line) => line.trim().replace(/^lineburn: /, ""));
	$("title").textContent = facts.title;
	$("summary").textContent = first || "";
	$("facts").replaceChildren(...rest.map((line) => el("li", {}, line)));
	$("rules").replaceChildren(...facts.rules.map((line, i) =>
		i ? el("p", line.startsWith("exceeded") ? { class: "warning" } : {}, line) : el("h2", {}, line)));
	$("rest").replaceChildren(...facts.rest.map((line) => el("p", {}, line)));
	$("where-unit").textContent = `self, ${facts.measure}${unit.name ? `, in ${unit.name}` : ""}`;
	$("legend").replaceChildren(...[
		"self: on the line itself, or in the function itself; its total is below the table",
		"change: after minus before; interval: of the change, corrected for all comparisons, so that it excludes 0 " +
			"if and only if the line or function differs",
		"differs: by more than chance explains. No more than chance, too few samples: not told from noise",
	].map((text) => el("li", {}, text)));
	$("cut").hidden = !stacks.cut.some((part) => part > 0);
	$("cut").textContent = "There are too many different stacks. The rarest, " +
		`${(100 * stacks.cut[0]).toFixed(1)} % of the side before and ${(100 * stacks.cut[1]).toFixed(1)} % of that after, ` +
		"lack their innermost functions in this graph.";
}

/* ---- the tables ---- */

function place(l) {
	return `${baseName(pathNames[l.path])}:${l.number}`;
}

/* "was 12", "new", "gone" */
function moved(l) {
	if (l.match >= 4)
		return l.match === 4 ? " new" : " gone";
	return l.before && l.after && l.before !== l.after ? ` was ${l.before}` : "";
}

function lineLink(l) {
	const a = el("a", { href: hashWith({ line: l.key, function: null, file: null }), title: l.key, class: "place" },
		el("span", {}, baseName(pathNames[l.path])), `:${l.number}${moved(l)}`);
	return a;
}

function functionPlace(f) {
	if (f.path < 0)
		return f.object;
	return `${baseName(pathNames[f.path])}${f.after || f.before ? `:${f.after || f.before}` : ""}`;
}

const TABLES = {
	lines: {
		rows: lines,
		known: facts.nrLines,
		significant: facts.significantLines,
		columns: ["Line", "Function"],
		singular: "line",
		isSelected: (l) => l === selectedLine() && !state.function,
		text: (l) => `${l.key} ${l.function}`,
		cells: (l) => [
			el("td", { class: "name" }, lineLink(l)),
			el("td", { class: "name", title: l.function }, l.function)],
	},
	functions: {
		rows: functions,
		known: facts.nrFunctions,
		significant: facts.significantFunctions,
		columns: ["Function", "File or object"],
		singular: "function",
		isSelected: (f) => f === state.function,
		text: (f) => `${f.name} ${f.object} ${f.path < 0 ? "" : pathNames[f.path]}`,
		cells: (f) => [
			el("td", { class: "name" },
				el("a", { href: hashWith({ function: f.key, line: null, file: null }), title: f.name }, f.name)),
			el("td", { class: "name", title: f.path < 0 ? f.object : pathNames[f.path] }, functionPlace(f))],
	},
};

function headRow(table) {
	const columns = [["before", "Before"], ["after", "After"], ["difference", "Change"], [null, "%"], [null, "Interval"],
		[null, "Verdict"], ["name", table.columns[0]], [null, table.columns[1]]];
	return el("tr", {}, ...columns.map(([sort, text], i) => {
		const th = el("th", { scope: "col", class: i < 5 ? "figure" : "" });
		if (!sort) {
			th.append(text);
			return th;
		}
		const button = el("button", { type: "button" }, text);
		button.addEventListener("click", () => go({ sort: sort === "difference" ? null : sort }));
		th.append(button);
		if (state.sort === sort)
			th.setAttribute("aria-sort", sort === "name" ? "ascending" : "descending");
		return th;
	}));
}

function figureCells(change) {
	const cell = (text, name) => el("td", { class: `figure ${name || ""}` }, text);
	return [
		cell(value(change.before)), cell(value(change.after)),
		cell(difference(change.difference), `difference ${shade(change)}`), cell(growth(change)),
		cell(`${difference(change.low)} to ${difference(change.high)}`),
		el("td", { class: "words", title: longVerdict(change) }, verdict(change)),
	];
}

function shownRows(table) {
	let { rows } = table;
	if (state.onlyChanged)
		rows = rows.filter(({ change }) => change.isSignificant);
	if (state.search)
		rows = rows.filter((row) => matches(table.text(row), state.search));
	if (state.sort === "name")
		return rows.slice().sort((a, b) => table.text(a).localeCompare(table.text(b), "en", { numeric: true }));
	/* The order of the data: beyond chance first, then by the size of the difference. */
	return state.sort === "difference" ? rows : rows.slice().sort((a, b) => b.change[state.sort] - a.change[state.sort]);
}

function tableRow(table, row) {
	const tr = el("tr", { class: row.change.isSignificant ? "differs" : "noise" },
		...figureCells(row.change), ...table.cells(row));
	tr.dataset.key = row.key;
	if (table.isSelected(row)) {
		tr.classList.add("selected");
		tr.setAttribute("aria-current", "true");
	}
	return tr;
}

function showTable() {
	const table = TABLES[state.tab];
	const rows = shownRows(table);
	const nr = state.all ? rows.length : Math.min(rows.length, MAX_ROWS);
	const body = rows.slice(0, nr).map((row) => tableRow(table, row));
	if (!body.length)
		body.push(el("tr", {}, el("td", { colspan: "8", class: "dim" },
			state.search ? "nothing matches the search" : `no ${table.singular} differs by more than chance explains`)));
	$("hot").tHead.replaceChildren(headRow(table));
	$("hot").tBodies[0].replaceChildren(...body);
	$("tab-lines").setAttribute("aria-pressed", String(state.tab === "lines"));
	$("tab-functions").setAttribute("aria-pressed", String(state.tab === "functions"));
	$("more").hidden = nr === rows.length;
	$("more").textContent = `Show all ${rows.length}`;
	$("left-out").hidden = table.known === table.rows.length;
	$("left-out").textContent = `${table.known - table.rows.length} more ${table.singular}s with smaller differences are not in ` +
		"this page: lineburn diff --json has all.";
	$("status").textContent = `${table.significant} of ${table.known} ${table.singular}s differ` +
		`${state.search || state.onlyChanged ? `; ${rows.length} shown` : ""}`;
	$("reset").hidden = !state.search && !state.onlyChanged;
}

/* ---- the selected line or function ---- */

function selectedLine() {
	if (state.line)
		return state.line;
	if (state.function)
		return linesOf(state.function)[0];
	return state.file < 0 ? lines[0] : lines.find((l) => l.path === facts.files[state.file].path);
}

function linesOf(f) {
	return f.known ? lines.filter((l) => l.path === f.path && l.function === f.known) : [];
}

function totalWords(row) {
	return `total: ${named(value(row.totalBefore), unit.name)} before, ${named(value(row.totalAfter), unit.name)} after ` +
		"(not tested: the callers of a change have it, too)";
}

function lineDetails(l) {
	const f = functions.find((other) => other.path === l.path && other.known === l.function);
	return [
		el("h3", {}, `${place(l)}${moved(l)} `, el("span", { class: "mono" }, l.function)),
		el("p", {}, `self: ${words(l.change)}. ${longVerdict(l.change)}`),
		el("p", {}, `${totalWords(l)}${l.match ? `; ${MATCHES[l.match]}` : ""}`),
		el("div", { class: "actions" }, f ? action("Its function", { function: f.key, line: null, file: null, tab: "functions" }) : ""),
	];
}

function functionDetails(f) {
	const own = linesOf(f);
	const list = el("table", {}, el("thead", { class: "visually-hidden" }, el("tr", {},
		...["before", "after", "change", "verdict", "line"].map((text) => el("th", { scope: "col" }, text)))),
	el("tbody", {}, ...own.slice(0, MAX_LINES).map(({ change, ...l }) => el("tr", { class: change.isSignificant ? "differs" : "noise" },
		el("td", { class: "figure" }, value(change.before)), el("td", { class: "figure" }, value(change.after)),
		el("td", { class: `figure difference ${shade(change)}` }, difference(change.difference)),
		el("td", { class: "words dim" }, verdict(change)), el("td", { class: "name" }, lineLink(l))))));
	return [
		el("h3", {}, el("span", { class: "mono" }, f.name), ` ${functionPlace(f)}`),
		el("p", {}, `self: ${words(f.change)}. ${longVerdict(f.change)}`),
		el("p", {}, totalWords(f)),
		el("div", { class: "actions" }, action("Search for it", { q: f.name })),
		own.length ? el("div", { class: "pair" }, el("div", { tabindex: "0", role: "group", "aria-label": "Its lines" }, list)) : "",
		own.length > MAX_LINES ? el("p", { class: "dim" }, `${own.length - MAX_LINES} more lines`) : "",
	];
}

function showSelected() {
	const l = selectedLine();
	$("selected").replaceChildren(...(state.function ? functionDetails(state.function) : l ? lineDetails(l) : []));
	$("previous").disabled = !neighbour(-1);
	$("next").disabled = !neighbour(1);
}

/* The next line that differs, or without any the next of all; undefined: none. */
function neighbour(step) {
	const list = facts.significantLines ? lines.slice(0, facts.significantLines) : lines;
	const at = list.indexOf(selectedLine());
	return at < 0 ? list[0] : list[at + step];
}

function goToLine(step) {
	const l = neighbour(step);
	if (l)
		go({ line: l.key, function: null, file: null });
}

/* ---- the source ---- */

const SAME = 0, CHANGED = 1, MOVED = 2, ALONE = 3;
const fileOfPath = new Map(facts.files.map((file, i) => [file.path, i]));

function shownFile() {
	const l = selectedLine();
	if (state.file >= 0 && !state.line && !state.function)
		return state.file;
	const path = state.function && state.function.path >= 0 ? state.function.path : l ? l.path : -1;
	return fileOfPath.has(path) ? fileOfPath.get(path) : -1;
}

function showFiles() {
	const select = $("file");
	const shown = shownFile();
	if (select.options.length !== facts.files.length)
		select.replaceChildren(...facts.files.map((file, i) => el("option", { value: String(i) },
			`${baseName(pathNames[file.path])}  ${difference(file.self[1] - file.self[0])}` +
				`${file.significant ? `, ${file.significant} differ` : ""}  ${pathNames[file.path]}`)));
	select.value = String(shown);
	select.hidden = !facts.files.length;
	$("source-title").dataset.file = shown >= 0 ? pathNames[facts.files[shown].path] : "";
}

/* The rows of a file without text: its lines, with the function instead of the text. */
function rowsOfLines(file) {
	return lines.filter((l) => l.path === file.path).sort((a, b) => a.number - b.number)
		.map((l) => l.before && l.after ? [l.before, l.after, CHANGED, l.function, l.function]
			: [l.before, l.after, l.match >= 4 ? ALONE : 4, l.function]);
}

/* What a row says of one side: its sign, a word for it, and a class. */
function sideOf([before, after, kind, , extra], isAfter) {
	const number = isAfter ? after : before;
	if (!number)
		return ["", "", "none"];
	if (kind === SAME)
		return ["", "", ""];
	if (kind === CHANGED)
		return ["~", "edited", "changed"];
	if (kind === MOVED)
		return [extra < number ? "\u2191" : "\u2193", isAfter ? `was line ${extra}` : `is now line ${extra}`, "moved"];
	if (kind === ALONE)
		return isAfter ? ["+", "new", "new"] : ["\u2212", "gone", "gone"];
	/* If a whole side has no text, the note says it. */
	return isOneSided ? ["", "", ""] : ["?", "of the other side the text is not known here", ""];
}

function textCell(row, isAfter) {
	const [sign, title, name] = sideOf(row, isAfter);
	const text = row[2] === CHANGED && isAfter ? row[4] : row[3];
	const td = el("td", { class: `text ${name}` });
	if (name === "none")
		return td;
	td.append(text);
	if (sign) {
		td.classList.add("sign");
		td.dataset.sign = sign;
		td.title = title;
		td.prepend(el("span", { class: "visually-hidden" }, `${title}: `));
	}
	return td;
}

/* The lines with figures that have a row's numbers; one each, or the same. */
function sourceRow(row, before, after, isBeforeShown) {
	const [b, a] = row;
	const left = before.get(b);
	const right = after.get(a);
	/* A pair whose other half has no row of its own has both figures here. */
	const ofBefore = left || (right && right.before && !isBeforeShown(right.before) ? right : undefined);
	const judged = right || (left && !left.after ? left : undefined);
	const figure = (text) => el("td", { class: "figure" }, text);
	const number = (n, l) => el("td", { class: "figure" }, l && n
		? el("a", { href: hashWith({ line: l.key, function: null, file: null }), title: l.key }, String(n)) : n ? String(n) : "");
	const change = judged
		? el("td", { class: `figure difference ${shade(judged.change)}`, title: `${words(judged.change)}. ${longVerdict(judged.change)}` },
			difference(judged.change.difference))
		: el("td", { class: "figure difference" });
	const tr = el("tr", {},
		figure(ofBefore ? value(ofBefore.change.before) : ""), number(b, left), textCell(row, false),
		change, figure(right ? value(right.change.after) : ""), number(a, right), textCell(row, true));
	const l = judged || left;
	if (l) {
		tr.className = l.change.isSignificant ? "differs" : "noise";
		tr.dataset.key = l.key;
		tr.addEventListener("click", () => {
			if (!String(getSelection()))
				go({ line: l.key, function: null, file: null });
		});
	} else {
		tr.className = "cold";
	}
	return tr;
}

function gapRow() {
	const gap = () => el("td", { class: "dim" }, "\u22ee");
	return el("tr", { class: "gap" }, el("td"), el("td"), gap(), el("td"), el("td"), el("td"), gap());
}

/* Do rows follow each other in the texts? */
function follows(last, row) {
	return (!row[0] || row[0] === last[0] + 1) && (!row[1] || row[1] === last[1] + 1);
}

let sourceOf;
let isOneSided; /* only one of the sides has the text of the file */

function showSource() {
	const shown = shownFile();
	if (shown !== sourceOf) {
		sourceOf = shown;
		const file = facts.files[shown];
		const rows = file ? file.rows.length ? file.rows : rowsOfLines(file) : [];
		isOneSided = Boolean(file) && file.rows.length > 0 && [0, 1].some((side) => file.rows.every((row) => !row[side]));
		const own = file ? lines.filter((l) => l.path === file.path) : [];
		const before = new Map(own.filter((l) => l.before).map((l) => [l.before, l]));
		const after = new Map(own.filter((l) => l.after).map((l) => [l.after, l]));
		const shownBefore = new Set(rows.map((row) => row[0]));
		const body = [];
		const last = [0, 0];
		for (const row of rows) {
			if (!follows(last, row))
				body.push(gapRow());
			body.push(sourceRow(row, before, after, (number) => shownBefore.has(number)));
			last[0] = row[0] || last[0];
			last[1] = row[1] || last[1];
		}
		$("code").querySelector("tbody").replaceChildren(...body);
		showNote(file);
	}
	markSelected();
}

function showNote(file) {
	let note = isOneSided ? `Only the recordings ${file.rows[0][0] ? "before" : "after"} have the text of this file.` : "";
	if (file && file.leftOut)
		note = "The text of this file is not in the page, which holds those that changed most only; its lines have their function instead.";
	else if (file && file.isMixed)
		note = "A side has several versions of this file: its lines are compared by their numbers.";
	else if (file && !file.rows.length)
		note = "The recordings do not have the text of this file; its lines have their function instead.";
	$("note").textContent = note;
	$("note").hidden = !note;
}

function markSelected() {
	const l = selectedLine();
	const box = $("code");
	let first;
	for (const tr of box.querySelectorAll("tbody tr")) {
		const isSelected = Boolean(l) && tr.dataset.key === l.key;
		tr.classList.toggle("selected", isSelected);
		if (isSelected)
			tr.setAttribute("aria-current", "true");
		else
			tr.removeAttribute("aria-current");
		first = first || (isSelected ? tr : undefined);
	}
	if (first)
		box.scrollTop = first.offsetTop - box.clientHeight / 3;
}

/* ---- the flame graph ---- */

const chartBox = $("chart");
const stackFunctions = [...chunks(stacks.functions, 4)].map(([row, name, object, file]) => {
	const f = functions[row];
	return f ? { name: f.name, place: f.path < 0 ? f.object : pathNames[f.path], row: f } : {
		name: stacks.texts[name] || `[no name] ${stacks.texts[object]}`,
		place: stacks.texts[file] || stacks.texts[object],
	};
});
const nodes = [...chunks(stacks.nodes, 4)].map(([distance, f, before, after], i) => ({
	parent: distance ? i - distance : -1, function: stackFunctions[f], key: `f${f}`, before, after,
}));
const mostChanged = nodes.reduce((most, n) => Math.max(most, Math.abs(n.after - n.before)), 0);

/* 0: about the same, to 4 */
function level(node) {
	return Math.max(0, heatOf(Math.abs(node.after - node.before), mostChanged) - 1);
}

/* "+ name": the colour is not the only sign of a change. */
function signed(node) {
	return `${level(node) ? node.after > node.before ? "+ " : "\u2212 " : ""}${node.function.name}`;
}

function flameTree() {
	const root = { key: "", name: "all", before: whole.before, after: whole.after, value: whole[state.side], children: [] };
	const made = [];
	nodes.forEach((node, i) => {
		const data = { key: node.key, name: signed(node), node, before: node.before, after: node.after, value: node[state.side], children: [] };
		made[i] = data;
		if (data.value > 0)
			(node.parent < 0 ? root : made[node.parent]).children.push(data);
	});
	for (const data of [root, ...made])
		data.children.sort((a, b) => b.value - a.value);
	return root;
}

function flameColour(data, isFound) {
	if (isFound)
		return "var(--hit)";
	if (!data.node)
		return "var(--edge)";
	const step = level(data.node);
	return step ? `var(--${data.after > data.before ? "more" : "less"}-${step})` : "var(--kind-1)";
}

function flameLabel(data) {
	const change = { before: data.before, after: data.after, difference: data.after - data.before };
	const figures = `${named(value(data.before), unit.name)} before, ${named(value(data.after), unit.name)} after: ${changed(change)}`;
	return data.node ? `${data.node.function.name}  ${figures}  ${data.node.function.place}` : `everything: ${figures}`;
}

function showFrame(text, ...actions) {
	$("frame").replaceChildren(text, ...actions);
}

function showZoomed() {
	const { data, parent } = flame.node(state.zoom);
	$("zoom-out").hidden = !parent;
	if (!data.node) {
		showFrame("");
		return;
	}
	const { row } = data.node.function;
	showFrame(flameLabel(data), row ? action("In the table", { function: row.key, line: null, file: null, tab: "functions" }) : "");
}

const flame = new Flame(chartBox, {
	colour: flameColour,
	label: flameLabel,
	matches: (data, search) => matches(data.node.function.name, search),
	say: (text) => { if (text) showFrame(text); else showZoomed(); },
});
let flameKey;

function showFlame() {
	const key = `${state.side} ${chartBox.clientWidth}`;
	if (key !== flameKey) {
		flameKey = key;
		flame.draw(flameTree());
	}
	flame.show(state.zoom, state.search);
	$("flame-after").setAttribute("aria-pressed", String(state.side === "after"));
	$("flame-before").setAttribute("aria-pressed", String(state.side === "before"));
	showZoomed();
}

/* ---- all of it ---- */

function show() {
	state = parseState();
	$("search").value = state.search;
	$("only").value = state.onlyChanged ? "changed" : "";
	showTable();
	showSelected();
	showFiles();
	showSource();
	if (nodes.length)
		showFlame();
}

function listen() {
	const on = (id, changes) => $(id).addEventListener("click", () => go(changes));
	let timer;
	$("search").addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(() => go({ q: $("search").value }, true), 150);
	});
	$("filters").addEventListener("submit", (event) => event.preventDefault());
	$("only").addEventListener("change", () => go({ only: $("only").value }));
	$("file").addEventListener("change", () =>
		go({ file: pathNames[facts.files[Number($("file").value)].path], line: null, function: null }));
	on("tab-lines", { tab: null, all: null });
	on("tab-functions", { tab: "functions", all: null });
	on("more", { all: "1" });
	on("reset", { q: null, only: null });
	on("flame-after", { width: null, zoom: null });
	on("flame-before", { width: "before", zoom: null });
	on("zoom-out", { zoom: null });
	$("previous").addEventListener("click", () => goToLine(-1));
	$("next").addEventListener("click", () => goToLine(1));
	addEventListener("resize", () => {
		clearTimeout(timer);
		timer = setTimeout(() => { if (nodes.length) showFlame(); }, 200);
	});
}

$("page").hidden = false;
$("flame").hidden = !nodes.length;
showFacts();
showWhole();
listen();
listenTheme();
listenSkip("where");
listenKeys({ n: () => goToLine(1), p: () => goToLine(-1), "/": () => $("search").focus() });
drawBy(show);
document.documentElement.dataset.ready = "";
})();
