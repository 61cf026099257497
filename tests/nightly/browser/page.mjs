// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens pages of lineburn html in chromium, from the disk.
 * usage: node page.mjs CHECK PAGE [ARGUMENT...]
 *   harmless PAGE               names and sources of the page run nothing and load nothing
 *   figures PAGE JSON [HASH]    each line's self and total are those of annotate --json
 *   opens PAGE                  how long it takes, in CPU time of the page, and until one sees it
 *   filters PAGE NAME...        there is a filter of each name, and each shows a part
 *   instructions PAGE JSON      those of the hottest line are those of annotate --asm FILE:LINE --json
 *   uses PAGE                   search, tables, lines, callers, filters, zoom, time, address, keys, print
 *   finds PAGE JSON SOURCE      the hottest line of tests/workloads/python/mixed.py's Numba code and its caller: one click
 *   accessible PAGE             axe-core's rules, light and dark
 *   shots PAGE FOLDER           screenshots for README.md
 * The last line is the result; the exit status tells whether all is right. The modules are in the
 * folder BROWSER_MODULES.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { OWN_ELEMENTS, accessibleWith, elements, hash, holds, open, opens, policyHolds, prints, reload, rest, rows, run, same, text, troubles } from "./lib.mjs";

/* ---- checks ---- */

async function harmless(browser) {
	const page = await open(browser);
	same("elements", await elements(page), OWN_ELEMENTS);
	for (const id of ["tab-functions", "flame-lines", "flame-leaves", "tab-lines", "flame-functions", "flame-callers"]) {
		await page.click(`#${id}`);
		for (const g of (await page.$$("#chart g.frame")).slice(0, 8))
			await g.hover({ force: true });
	}
	const lines = await page.$$eval("#hot tbody a", (all) => all.map((a) => a.getAttribute("href")));
	for (const href of lines.slice(0, 20))
		await page.evaluate((h) => { location.hash = h; }, href);
	for (const button of await page.$$eval("#selected .actions button", (all) => all.length ? ["0"] : []))
		await page.click(`#selected .actions button >> nth=${button}`);
	for (const evil of ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "javascript:alert(1)"]) {
		await page.fill("#search", evil);
		await page.waitForTimeout(200);
		for (const name of ["line", "beneath", "file", "zoom", "q", "thread"])
			await page.evaluate(([n, e]) => { location.hash = `${n}=${encodeURIComponent(e)}`; }, [name, evil]);
	}
	const showAll = () => page.evaluate(() => { location.hash = ""; });
	await showAll();
	for (const select of await page.$$("#filters select"))
		for (const option of await select.$$eval("option", (all) => all.map((o) => o.value))) {
			await select.selectOption(option);
			await showAll();
		}
	same("elements at the end", await elements(page), OWN_ELEMENTS);
	await policyHolds(page);
	return "no dialog, no request, no error";
}

function percent(share) {
	return share ? share < 0.0005 ? "<0.1" : (100 * share).toFixed(1) : "";
}

/* The interval is rounded apart. */
const figure = (cell) => cell.replace(/\s*\u00b1.*/, "");

/* Wilson's interval of 95 % of a share of @n samples. */
function wilson(share, n) {
	const z = 1.959963984540054;
	const centre = (share + z * z / (2 * n)) / (1 + z * z / n);
	const half = z / (1 + z * z / n) * Math.sqrt(share * (1 - share) / n + z * z / (4 * n * n));
	return [share > 0 ? Math.max(0, centre - half) : 0, share < 1 ? Math.min(1, centre + half) : 1];
}

/* Of how many samples is this the interval? */
function samplesOf(share, [low, high]) {
	let [few, many] = [1, 1e9];
	for (let i = 0; i < 100; i++) {
		const [from, to] = wilson(share, Math.sqrt(few * many));
		if (to - from > high - low)
			few = Math.sqrt(few * many);
		else
			many = Math.sqrt(few * many);
	}
	return Math.sqrt(few * many);
}

/* What was recorded, what was lost and what it cost. */
async function sameNotes(page, profile) {
	const about = await text(page, "#facts");
	const notes = await text(page, "#misses");
	const { lost } = profile.samples;
	for (const word of profile.command)
		holds(`"${about}" has ${word}`, about.includes(word));
	holds("the first row has the samples", (await text(page, "#summary")).startsWith(`${profile.samples.count} samples at `));
	holds(`"${notes}" has ${lost} lost samples`, new RegExp(`(^|\\D)${lost} samples? lost`).test(notes));
	if (profile.losses.missed)
		holds(`"${notes}" has ${profile.losses.missed} ticks`, new RegExp(`(^|\\D)${profile.losses.missed} ticks? of`).test(notes));
	const cost = `Profiling itself cost ${(profile.cost.bpf_ns_per_sample / 1000).toFixed(2)} us a sample in the kernel (${profile.cost.bpf_cpu_percent.toFixed(2)} % of one CPU)`;
	holds(`"${notes}" has "${cost}"`, notes.includes(cost));
}

async function instructions(browser) {
	const profile = JSON.parse(readFileSync(rest[0], "utf8"));
	const page = await open(browser);
	const key = await page.getAttribute("#hot tbody tr:first-child a", "title");
	const expected = new Map(profile.asm.flatMap((piece) => piece.instructions)
		.filter((at) => `${at.file}:${at.line}` === key && (at.samples_cpu_ns || at.below_cpu_ns))
		.map((at) => [at.address.toString(16), [percent(at.samples_cpu_ns / profile.samples.cpu_ns), percent(at.below_cpu_ns / profile.samples.cpu_ns), at.text]]));
	holds(`${key} has instructions with samples`, expected.size > 0);
	const found = await page.$$eval("#selected .instructions tbody tr", (all) => all.map((tr) => [...tr.cells].map((td) => td.textContent)));
	const rowsOf = found.filter((row) => row.length === 4);
	const withSamples = rowsOf.filter(([self, below]) => self || below);
	holds("the code has a name", found[0].length === 1 && found[0][0].length > 0);
	holds("others are beside them", rowsOf.length > withSamples.length);
	same("addresses", withSamples.map((row) => row[2]).sort(), [...expected.keys()].sort());
	for (const [self, below, address, words] of withSamples)
		same(address, [self, below, words], expected.get(address));
	return `${withSamples.length} instructions of ${key}`;
}

async function figures(browser) {
	const profile = JSON.parse(readFileSync(rest[0], "utf8"));
	const page = await open(browser, {}, `#all=1&${rest[1] || ""}`);
	const all = profile.samples.cpu_ns || profile.samples.count;
	const of = (l, name) => profile.samples.cpu_ns ? l[`${name}_cpu_ns`] : l[name];
	const expected = new Map();
	const found = new Map();
	same("samples", await shownCount(page), profile.samples.count);
	for (const f of profile.files)
		for (const l of f.lines)
			if (!l.no_code)
				expected.set(`${f.path}:${l.line}`, [percent(of(l, "self") / all), percent(of(l, "total") / all), l.function]);
	const table = await page.$$eval("#hot tbody tr", (trs) => trs.map((tr) => [
		tr.querySelector("a").title, tr.cells[0].textContent, tr.cells[1].textContent, tr.cells[4].textContent,
		tr.cells[0].title, tr.cells[1].title]));
	for (const [key, self, total, name] of table)
		found.set(key, [figure(self), figure(total), name]);
	same("lines", [...found.keys()].sort(), [...expected.keys()].sort());
	let nr = 0;
	for (const [key, value] of expected) {
		same(key, found.get(key).slice(0, 2), value.slice(0, 2));
		nr += found.get(key)[2] === value[2];
	}
	holds("nearly all lines have annotate's function", nr >= 0.98 * expected.size);
	/* Wilson's interval of the hottest line; those of totals are of as many samples. */
	const endsOf = (title) => (title.match(/[\d.]+(?= %)/g) || []).slice(1).map(Number);
	const hottest = profile.files.flatMap((f) => f.lines).sort((a, b) => of(b, "self") - of(a, "self"))[0];
	same("interval", endsOf(table[0][4]), hottest.self_ci95.map((end) => Number((100 * end).toFixed(1))));
	const nrEqual = samplesOf(of(hottest, "self") / all, hottest.self_ci95);
	const totals = new Map(profile.files.flatMap((f) => f.lines.map((l) => [`${f.path}:${l.line}`, of(l, "total") / all])));
	for (const [key, , total, , , title] of table.filter((row) => row[2])) {
		const expectedEnds = wilson(totals.get(key), nrEqual).map((end) => 100 * end);
		/* Of figures with a digit; the page weighs samples of one stack together. */
		const error = 0.051 + 0.01 * (expectedEnds[1] - expectedEnds[0]);
		holds(`${key}: total ${total} has the interval ${title}, not ${expectedEnds}`,
			endsOf(title).every((end, i) => Math.abs(end - expectedEnds[i]) < error) && endsOf(title).length === 2);
	}
	if (!rest[1])
		await sameNotes(page, profile);
	return `${expected.size} lines`;
}

async function usesTables(page) {
	const first = await rows(page);
	holds("the hottest line is first", parseFloat(first[0][0]) >= parseFloat(first[1][0]));
	holds("it is selected", (await page.$$("#hot tbody tr:first-child.selected")).length === 1);
	holds("its source is shown", (await page.$$("#code tr.selected .heat-5")).length === 1);
	holds("its callers are shown", (await page.$$("#selected table tbody tr")).length > 1);
	await page.click("#hot th button >> text=Total");
	const byTotal = await rows(page);
	holds("sorted by total", byTotal.every((r, i) => !i || parseFloat(r[1]) <= parseFloat(byTotal[i - 1][1]) || r[1].startsWith("<")));
	same("aria-sort", await page.getAttribute("#hot th:nth-child(2)", "aria-sort"), "descending");
	await page.click("#hot th button >> text=Line");
	holds("sorted by name", (await hash(page)).includes("sort=name"));
	await page.click("#hot th button >> text=Self");
	await page.click("#next");
	holds("the next hottest line is selected", (await page.$$("#hot tbody tr:nth-child(2).selected")).length === 1);
	await page.keyboard.press("n");
	holds("n selects the third", (await page.$$("#hot tbody tr:nth-child(3).selected")).length === 1);
	await page.keyboard.press("p");
	await page.keyboard.press("p");
	holds("p goes back", (await page.$$("#hot tbody tr:nth-child(1).selected")).length === 1);
}

async function usesSearch(page) {
	const [, , , line] = (await rows(page))[0];
	await page.keyboard.press("/");
	await page.keyboard.type(line);
	await page.waitForFunction((l) => [...document.querySelectorAll("#hot td.name:nth-child(4)")].every((td) => td.textContent.includes(l)), line);
	holds("the search is in the address", (await hash(page)).includes("q="));
	holds("the share is said", /is on [\d.]+ % of their stacks/.test(await text(page, "#status")));
	await page.fill("#search", "");
	await page.waitForFunction(() => !location.hash.includes("q="));
}

async function usesCallers(page) {
	const all = await text(page, "#status");
	await page.click("#tab-functions");
	const name = (await rows(page))[0][3];
	await page.click("#hot tbody tr:first-child a");
	const functions = await rows(page);
	holds("everything is beneath the function", functions.some((r) => r[3] === name && figure(r[1]) === "100.0"));
	holds("fewer samples", (await text(page, "#status")) !== all);
	holds("the graph begins with it", (await text(page, "#chart g.frame:nth-of-type(2) .d3-flame-graph-label")).startsWith(name.slice(0, 3)));
	const shown = await text(page, "#status");
	const before = await rows(page);
	await page.reload();
	await page.waitForSelector("html[data-ready]");
	same("the view after a reload", await text(page, "#status"), shown);
	same("its table", await rows(page), before);
	await page.click("#reset");
	same("everything again", await text(page, "#status"), all);
	await page.click("#tab-lines");
	await page.goBack();
	await page.goForward();
}

async function usesFilters(page) {
	const names = await page.$$eval("#filters #labels label", (all) => all.map((label) => label.firstChild.textContent));
	holds("there are filters", names.length > 0);
	for (const i of names.keys()) {
		const select = `#filters select >> nth=${i}`;
		const all = await text(page, "#status");
		const [, value] = await page.$$eval(`${select} >> option`, (options) => options.map((o) => o.value));
		await page.selectOption(select, value);
		const part = await text(page, "#status");
		holds(`a part is shown: ${part}`, /^\d+ of \d+ samples/.test(part));
		await reload(page);
		same(`the filter ${names[i]} after a reload`, [await page.$eval(select, (s) => s.value), await text(page, "#status")], [value, part]);
		await page.click("#reset");
		same(`without ${names[i]}`, await text(page, "#status"), all);
	}
	return names;
}

async function filters(browser) {
	const names = await usesFilters(await open(browser));
	for (const name of rest)
		holds(`${name} is one of ${names}`, names.includes(name));
	same("troubles", troubles, []);
	return names.join(", ");
}

async function usesFlame(page) {
	const frames = () => page.$$eval("#chart g.frame:not(.fade) title", (all) => all.map((t) => t.textContent));
	const before = await frames();
	holds("there are frames", before.length > 3);
	await page.evaluate(() => [...document.querySelectorAll("#chart g.frame")][3].dispatchEvent(new MouseEvent("click", { bubbles: true })));
	holds("the zoom is in the address", (await hash(page)).includes("zoom="));
	holds("it is zoomed", (await page.$$("#chart g.fade")).length > 0);
	await page.reload();
	await page.waitForSelector("html[data-ready]");
	holds("it is zoomed after a reload", (await page.$$("#chart g.fade")).length > 0);
	await page.focus("#chart");
	await page.keyboard.press("Escape");
	same("zoomed out", await frames(), before);
	for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp"])
		await page.keyboard.press(key);
	holds("a frame has the cursor", (await page.$$("#chart g.cursor")).length === 1);
	holds("it is read out", (await text(page, "#frame")).includes("%"));
	await page.click("#flame-leaves");
	holds("innermost functions on top", (await frames()).join() !== before.join());
	await page.click("#flame-callers");
	await page.click("#flame-lines");
	holds("frames of lines", (await frames()).some((t) => /:\d+ /.test(t)));
	await page.click("#flame-functions");
	/* The search marks its frames, and no others. */
	const marked = () => page.$$eval("#chart g.frame", (all) => all.filter((g) => g.querySelector("rect").getAttribute("fill") === "var(--hit)")
		.map((g) => g.querySelector("title").textContent.split("  ")[0]));
	same("marked without a search", await marked(), []);
	const name = (await page.$$eval("#chart g.frame title", (all) => all.map((t) => t.textContent.split("  ")[0])))[2];
	await page.fill("#search", name);
	await page.waitForFunction(() => location.hash.includes("q="));
	const hits = await marked();
	holds(`frames of ${name} are marked`, hits.length > 0 && hits.every((hit) => hit.toLowerCase().includes(name.toLowerCase())));
	await page.fill("#search", "");
	await page.waitForFunction(() => !location.hash.includes("q="));
	same("marked after the search", await marked(), []);
}

/* Drags over a part of the strip, 0 to 1. */
async function drag(page, from, to) {
	const box = await (await page.$("#time")).boundingBox();
	const y = box.y + box.height / 2;
	await page.mouse.move(box.x + from * box.width, y);
	await page.mouse.down();
	await page.mouse.move(box.x + (from + to) / 2 * box.width, y);
	await page.mouse.move(box.x + to * box.width, y);
	await page.mouse.up();
}

const timeOf = async (page) => (/time=([\d.]+-[\d.]+)/.exec(await hash(page)) || [])[1];
const shownCount = async (page) => Number(/\d+/.exec(await text(page, "#status"))[0]);

async function usesTime(page) {
	const all = await text(page, "#status");
	const table = await rows(page);
	const end = Number(await page.inputValue("#time-to"));
	const step = Number(await page.getAttribute("#time-to", "step"));
	const near = (a, b) => Math.abs(a - b) <= 1.01 * step;
	same("the strip shows every kind", await page.$$eval("#time path", (all) => all.length), 5);
	await page.$eval("#strip", (e) => e.scrollIntoView());
	await drag(page, 0.75, 0.25);
	const [from, to] = (await timeOf(page)).split("-").map(Number);
	holds(`${from} to ${to} s of ${end} s are the middle`, near(from, end / 4) && near(to, end * 3 / 4));
	holds("the sentence", (await text(page, "#time-said")).startsWith(`Only ${from} to ${to} s of ${end} s, as --time ${from}-${to}: `));
	const middle = await rows(page);
	const count = await shownCount(page);
	holds("fewer samples, another table", (await text(page, "#status")) !== all && middle.join() !== table.join());
	await page.reload();
	await page.waitForSelector("html[data-ready]");
	same("the time after a reload", await rows(page), middle);
	holds("it is marked", await page.isVisible("#time-range"));
	/* The two halves and the rest have all samples. */
	let sum = count;
	await page.fill("#time-from", String(to));
	await page.press("#time-from", "Tab");
	await page.fill("#time-to", String(end));
	await page.press("#time-to", "Enter");
	same("the time that was typed", await timeOf(page), `${to}-${end}`);
	sum += await shownCount(page);
	await page.evaluate((h) => { location.hash = h; }, `time=-${from}`);
	sum += await shownCount(page);
	same("samples of all parts", `all ${sum} samples`, all);
	await page.evaluate((h) => { location.hash = h; }, `time=${from + 0.26 * step}-${to}`);
	await page.waitForFunction(() => document.querySelector("#time-said").textContent.includes("Times are known to"));
	same("the nearest time", await shownCount(page), count);
	await page.focus("#time");
	await page.keyboard.press("Escape");
	same("everything by Escape", [await timeOf(page), await text(page, "#status")], [undefined, all]);
	holds("nothing is marked", !(await page.isVisible("#time-range")));
	await page.keyboard.press("ArrowRight");
	const first = (await timeOf(page)).split("-").map(Number);
	await page.keyboard.press("ArrowRight");
	const moved = (await timeOf(page)).split("-").map(Number);
	holds("an arrow moves both ends", moved[0] > first[0] && near(moved[1] - first[1], moved[0] - first[0]));
	await page.keyboard.press("Shift+ArrowRight");
	const wider = (await timeOf(page)).split("-").map(Number);
	holds("Shift moves the end", wider[0] === moved[0] && wider[1] > moved[1]);
	await page.keyboard.press("Shift+ArrowLeft");
	same("and back", (await timeOf(page)).split("-").map(Number), moved);
	await page.click("#time-clear");
	same("everything by the button", await text(page, "#status"), all);
	same("the table of all", await rows(page), table);
}

async function uses(browser) {
	const page = await open(browser);
	for (const part of [usesTables, usesSearch, usesCallers, usesFilters, usesFlame, usesTime])
		await part(page);
	const light = await page.evaluate(() => getComputedStyle(document.body.parentNode).backgroundColor);
	await page.click("#theme");
	await page.click("#theme");
	holds("dark", light !== await page.evaluate(() => getComputedStyle(document.body.parentNode).backgroundColor));
	await prints(page);
	const narrow = await open(browser, { viewport: { width: 360, height: 700 } });
	same("no sideways scrolling at 360 pixels", await narrow.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
	const dark = await open(browser, { colorScheme: "dark" });
	holds("dark by the system", light !== await dark.evaluate(() => getComputedStyle(document.body.parentNode).backgroundColor));
	same("troubles", troubles, []);
	return "all parts work";
}

/* What a person sees without scrolling. */
const seen = (page, selector) => page.$eval(selector, (e) => {
	const box = e.getBoundingClientRect();
	return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
});

async function finds(browser) {
	const profile = JSON.parse(readFileSync(rest[0], "utf8"));
	const caller = readFileSync(rest[1], "utf8").split("\n").findIndex((l) => l.includes("# HOT numba")) + 1;
	const hottest = profile.files.flatMap((f) => f.lines).filter((l) => l.function.includes("collatz"))
		.sort((a, b) => b.self_cpu_ns - a.self_cpu_ns)[0].line;
	const page = await open(browser, { viewport: { width: 1280, height: 800 } });
	const row = "#hot tbody tr:has(td.jit)";
	holds("the hottest line of Numba code is in sight", await seen(page, row));
	await page.click(`${row} a`);
	holds("the line is named", (await text(page, "#selected h3")).includes(`mixed.py:${hottest} `));
	const way = "#selected p:has-text('of its total by')";
	holds("its callers are named", new RegExp(`main mixed\\.py:${caller} `).test(await text(page, way)));
	holds("line and callers are in sight", await seen(page, "#selected h3") && await seen(page, way));
	return "one click";
}

const accessible = (browser) => accessibleWith(browser, ["", "#tab=functions&flame=leaves&time=-1"], "hottest lines");

async function shots(browser) {
	mkdirSync(rest[0], { recursive: true });
	const light = await open(browser, { viewport: { width: 1200, height: 730 } });
	await light.screenshot({ path: resolve(rest[0], "page.png") });
	const dark = await open(browser, { viewport: { width: 1200, height: 900 }, colorScheme: "dark" });
	await dark.$eval("#flame", (e) => e.scrollIntoView());
	await dark.evaluate(() => scrollBy(0, -60));
	await dark.screenshot({ path: resolve(rest[0], "flame-graph.png"), clip: { x: 0, y: 0, width: 1200, height: 480 } });
	return `page.png and flame-graph.png in ${rest[0]}`;
}

await run({ harmless, figures, filters, instructions, opens, uses, finds, accessible, shots });
