// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens pages of lineburn diff --format=html in chromium, from the disk.
 * usage: node diff.mjs CHECK PAGE [ARGUMENT...]   (see lib.mjs)
 *   harmless PAGE       names and sources of the page run nothing and load nothing
 *   figures PAGE JSON   every figure of tables, sources and graph is that of diff --json
 *   opens PAGE          how long it takes, in CPU time of the page
 *   uses PAGE           tables, search, lines, functions, source, graph, address, keys, print
 *   accessible PAGE     axe-core's rules, light and dark
 */
import { readFileSync } from "node:fs";
import { OWN_ELEMENTS, accessibleWith, elements, hash, holds, open, opens, policyHolds, prints, reload, rest, rows, run, same, text, troubles } from "./lib.mjs";

const go = (page, fragment) => page.evaluate((f) => { location.hash = f; }, fragment);

async function harmless(browser) {
	const page = await open(browser);
	same("elements", await elements(page), OWN_ELEMENTS);
	for (const id of ["tab-functions", "flame-before", "flame-after", "tab-lines"]) {
		await page.click(`#${id}`);
		for (const href of await page.$$eval("#hot tbody a", (all) => all.map((a) => a.getAttribute("href"))))
			await go(page, href);
		for (const g of (await page.$$("#chart g.frame")).slice(0, 8))
			await g.hover({ force: true });
	}
	for (const value of await page.$$eval("#file option", (all) => all.map((o) => o.value)))
		await page.selectOption("#file", value);
	for (const evil of ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "javascript:alert(1)", "__proto__"]) {
		await page.fill("#search", evil);
		await page.waitForTimeout(200);
		for (const name of ["line", "function", "file", "zoom", "q", "tab", "sort", "only", "width"])
			await go(page, `${name}=${encodeURIComponent(evil)}`);
	}
	await go(page, "");
	same("elements at the end", await elements(page), OWN_ELEMENTS);
	await policyHolds(page);
	return "no dialog, no request, no error";
}

/* ---- figures ---- */

/* As the text form prints them; the unit is in the page. */
const formats = (unit) => {
	const value = (v) => (v * unit.scale).toFixed(unit.digits);
	const difference = (v) => value(v).startsWith("-") ? value(v) : `+${value(v)}`;
	return { value, difference };
};

function expectedRow({ value, difference }, self) {
	const growth = (100 * self.difference / self.before).toFixed(1);
	return [value(self.before), value(self.after), difference(self.difference),
		self.before > 0 ? `${growth.startsWith("-") ? "" : "+"}${growth} %` : self.after > 0 ? "new" : "",
		`${difference(self.low)} to ${difference(self.high)}`,
		self.significant ? "differs" : self.p === null ? "too few samples" : "no more than chance"];
}

async function sameTables(page, diff, format) {
	for (const [tab, items] of [["lines", diff.lines], ["functions", diff.functions]]) {
		await go(page, `tab=${tab}&all=1`);
		const shown = await rows(page);
		const expected = items.slice(0, shown.length);
		holds(`all ${tab} are there, or the page says that some are not`,
			shown.length === items.length || await page.isVisible("#left-out"));
		same(tab, shown.map((row) => row.slice(0, 6)), expected.map((item) => expectedRow(format, item.self)));
		holds("noise is quiet", (await page.$$("#hot tr.differs")).length === items.filter((item) => item.self.significant).length);
	}
}

/* The figures beside the source, of each file that has some. */
async function sameSources(page, diff, format) {
	let nr = 0;
	for (const option of (await page.$$eval("#file option", (all) => all.map((o) => o.value))).slice(0, 40)) {
		await page.selectOption("#file", option);
		const path = await page.getAttribute("#source-title", "data-file");
		const found = await page.$$eval("#code tbody tr", (all) => all.map((tr) => [...tr.cells].map((td) => td.textContent)));
		for (const line of diff.lines.filter((l) => l.file === path)) {
			const { before, after } = line.line;
			const left = found.find((row) => before && row[1] === String(before));
			const right = found.find((row) => after && row[5] === String(after));
			if (!left && !right)
				continue; /* a page has the largest differences only */
			if (left && left[0])
				same(`${path}:${before} before`, left[0], format.value(line.self.before));
			if (right && right[4])
				same(`${path}:${after} after`, right[4], format.value(line.self.after));
			if (right && right[3])
				same(`${path}:${after} change`, right[3], format.difference(line.self.difference));
			nr += Boolean(right && right[4]) || Boolean(left && left[0]);
		}
	}
	return nr;
}

/* What the graph leaves out: an interpreter's C code and start code, but where there is nothing else. */
const isHidden = (f) => /^(lib)?python[\d.t]*(\.so.*)?$/.test(f.object) ||
	/^(_start|__libc_start_|start_thread$|clone|__clone)/.test(f.name);

/* The root of the graph is the whole; a function's nodes, but those that are too narrow, its total. */
async function sameGraph(page, diff) {
	const { facts, stacks } = await page.evaluate(() => ({
		facts: JSON.parse(document.getElementById("facts-data").textContent),
		stacks: JSON.parse(document.getElementById("stacks-data").textContent),
	}));
	const sums = new Map();
	const above = [];
	for (let i = 0; i * 4 < stacks.nodes.length; i++) {
		const [distance, f, before, after] = stacks.nodes.slice(4 * i, 4 * i + 4);
		const outer = distance ? above[i - distance] : new Set();
		above.push(new Set(outer).add(f));
		if (outer.has(f))
			continue; /* it called itself */
		const sum = sums.get(f) || [0, 0];
		sums.set(f, [sum[0] + before, sum[1] + after]);
	}
	let nr = 0;
	for (const [f, sum] of sums) {
		const row = stacks.functions[4 * f];
		if (row < 0)
			continue;
		const { total } = diff.functions[row];
		for (const [i, side] of ["before", "after"].entries()) {
			const all = facts.whole[i];
			holds(`${diff.functions[row].name}: ${sum[i]} of ${total[side]}`, sum[i] <= total[side] * 1.00001 + 1e-9);
			if (!isHidden(diff.functions[row]) && total[side] > 0.05 * all && stacks.cut[i] === 0)
				holds(`${diff.functions[row].name}: ${sum[i]}, not ${total[side]}`, sum[i] >= 0.97 * total[side]);
		}
		nr++;
	}
	return nr;
}

async function figures(browser) {
	const diff = JSON.parse(readFileSync(rest[0], "utf8"));
	const page = await open(browser);
	const { unit, whole } = await page.evaluate(() => JSON.parse(document.getElementById("facts-data").textContent));
	const format = formats(unit);
	if (diff.whole) {
		same("the whole", whole.slice(0, 8), ["before", "after", "before_samples", "after_samples", "difference", "low", "high", "p"].map((key) => diff.whole[key]));
		same("the whole as shown", await page.$$eval("#whole tbody td:nth-child(2)", (all) => all.map((td) => td.textContent)),
			[format.value(diff.whole.before), format.value(diff.whole.after), format.difference(diff.whole.difference)]);
	}
	const nrFunctions = await sameGraph(page, diff);
	const nrLines = await sameSources(page, diff, format);
	await sameTables(page, diff, format);
	holds("there were lines and functions", nrFunctions > 0 && nrLines > 0);
	same("troubles", troubles, []);
	return `${diff.lines.length} lines, ${diff.functions.length} functions; ${nrLines} lines beside sources, ${nrFunctions} functions of the graph`;
}

/* ---- what one can do ---- */

const numbers = (table, column) => table.map((row) => parseFloat(row[column]));
const descends = (list) => list.every((v, i) => !i || v <= list[i - 1]);

async function usesTables(page) {
	holds("the largest difference is selected", (await page.$$("#hot tbody tr:first-child.selected")).length === 1);
	holds("its source is shown", (await page.$$("#code tr.selected")).length >= 1);
	await page.click("#hot th button >> text=Before");
	holds("sorted by before", descends(numbers(await rows(page), 0)));
	same("aria-sort", await page.getAttribute("#hot th:nth-child(1)", "aria-sort"), "descending");
	await page.click("#hot th button >> text=After");
	holds("sorted by after", descends(numbers(await rows(page), 1)));
	await page.click("#hot th button >> text=Line");
	holds("sorted by name", (await hash(page)).includes("sort=name"));
	await page.click("#hot th button >> text=Change");
	const all = await rows(page);
	holds("there is noise, and it is said", all.some((row) => row[5] !== "differs"));
	await page.selectOption("#only", "changed");
	holds("only what differs", (await rows(page)).every((row) => row[5] === "differs"));
	await reload(page);
	holds("only what differs, after a reload", (await rows(page)).every((row) => row[5] === "differs"));
	await page.click("#reset");
	same("everything again", await rows(page), all);
}

async function usesLines(page) {
	await page.click("#next");
	holds("the next change is selected", (await page.$$("#hot tbody tr:nth-child(2).selected")).length === 1);
	await page.keyboard.press("p");
	holds("p goes back", (await page.$$("#hot tbody tr:nth-child(1).selected")).length === 1);
	await page.keyboard.press("n");
	await page.click("#hot tbody tr:nth-child(3) a");
	holds("the line is in the address", (await hash(page)).includes("line="));
	const said = await text(page, "#selected");
	holds("its figures are said", /before, .* after: .*interval/.test(said));
	holds("and what they are worth", /It differs by more than chance|Not told from noise/.test(said));
	await reload(page);
	same("the line after a reload", await text(page, "#selected"), said);
	await page.goBack();
	holds("back", (await text(page, "#selected")) !== said);
	await go(page, "");
}

async function usesFunctions(page) {
	await page.click("#tab-functions");
	const [name] = (await rows(page))[0].slice(6);
	await page.click("#hot tbody tr:first-child a");
	holds("the function is in the address", (await hash(page)).includes("function="));
	const said = await text(page, "#selected");
	holds("it is shown", said.startsWith(name));
	await reload(page);
	same("the function after a reload", await text(page, "#selected"), said);
	await page.click("#selected .actions button");
	await page.waitForFunction(() => location.hash.includes("q="));
	holds("its frames are marked", (await page.$$eval("#chart g.frame rect", (all) => all.some((r) => r.getAttribute("fill") === "var(--hit)"))));
	await go(page, "");
}

async function usesSearch(page) {
	const line = (await rows(page))[0][6].split(" ")[0];
	await page.keyboard.press("/");
	await page.keyboard.type(line);
	await page.waitForFunction((l) => location.hash.includes("q=") &&
		[...document.querySelectorAll("#hot td.name:nth-child(7)")].every((td) => td.textContent.includes(l)), line);
	const found = await rows(page);
	await reload(page);
	same("what was found, after a reload", await rows(page), found);
	await page.fill("#search", "no such thing");
	await page.waitForFunction(() => document.querySelector("#hot tbody").textContent.includes("nothing matches"));
	await page.click("#reset");
}

async function usesSource(page) {
	const value = await page.$$eval("#file option", (all) => all[all.length - 1].value);
	await page.selectOption("#file", value);
	const path = await page.getAttribute("#source-title", "data-file");
	holds("the file is in the address", (await hash(page)).includes(`file=${path}`.replaceAll(" ", "+")));
	await reload(page);
	same("the file after a reload", await page.getAttribute("#source-title", "data-file"), path);
	await go(page, "");
	await page.click("#code tbody tr.differs");
	holds("a line of the source is selected by a click", (await hash(page)).includes("line="));
	await go(page, "");
}

async function usesFlame(page) {
	const widths = () => page.$$eval("#chart g.frame", (all) => all.map((g) => `${g.getAttribute("name")} ${g.getAttribute("width")}`));
	const after = await widths();
	holds("there are frames", after.length > 2);
	holds("a change has a sign", after.some((name) => /^[+\u2212] /.test(name)));
	await page.click("#flame-before");
	holds("the width is another", (await widths()).join() !== after.join());
	await reload(page);
	same("the side after a reload", await page.getAttribute("#flame-before", "aria-pressed"), "true");
	await page.click("#flame-after");
	same("the first width again", await widths(), after);
	await page.evaluate(() => [...document.querySelectorAll("#chart g.frame")][2].dispatchEvent(new MouseEvent("click", { bubbles: true })));
	holds("the zoom is in the address", (await hash(page)).includes("zoom="));
	await reload(page);
	holds("it is zoomed after a reload", (await page.$$("#chart g.fade")).length > 0);
	await page.focus("#chart");
	await page.keyboard.press("Escape");
	for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp"])
		await page.keyboard.press(key);
	holds("a frame has the cursor", (await page.$$("#chart g.cursor")).length === 1);
	holds("it is read out", /before, .* after/.test(await text(page, "#frame")));
}

async function uses(browser) {
	const page = await open(browser);
	for (const part of [usesTables, usesLines, usesFunctions, usesSearch, usesSource, usesFlame])
		await part(page);
	const background = (p) => p.evaluate(() => getComputedStyle(document.body.parentNode).backgroundColor);
	const light = await background(page);
	await page.click("#theme");
	await page.click("#theme");
	holds("dark", light !== await background(page));
	await prints(page);
	const narrow = await open(browser, { viewport: { width: 360, height: 700 } });
	same("no sideways scrolling at 360 pixels", await narrow.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
	const dark = await open(browser, { colorScheme: "dark" });
	holds("dark by the system", light !== await background(dark));
	same("troubles", troubles, []);
	return "all parts work";
}

const accessible = (browser) => accessibleWith(browser, ["", "#tab=functions&width=before"], "lines that differ");

await run({ harmless, figures, opens, uses, accessible });
