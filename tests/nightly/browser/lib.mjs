// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens pages in chromium, from the disk, for the scripts beside this one.
 * usage: node SCRIPT CHECK PAGE [ARGUMENT...]; the modules are in the folder BROWSER_MODULES
 */
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const modules = createRequire(resolve(process.env.BROWSER_MODULES, "package.json"));
const { chromium } = modules("playwright-core");
const [check, ...given] = process.argv.slice(2);
export const [file, ...rest] = given;
const address = pathToFileURL(resolve(file)).href;
export const troubles = [];

export function same(what, found, expected) {
	if (JSON.stringify(found) !== JSON.stringify(expected))
		throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
}

export function holds(what, truth) {
	if (!truth)
		throw new Error(`it does not hold: ${what}`);
}

/* A page that notes everything it must not do. */
export async function open(browser, options = {}, hash = "") {
	const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, ...options });
	const page = await context.newPage();
	page.on("console", (m) => troubles.push(`console: ${m.text()}`));
	page.on("pageerror", (e) => troubles.push(`error: ${e.message}`));
	page.on("dialog", (d) => { troubles.push(`dialog: ${d.message()}`); d.dismiss(); });
	page.on("request", (r) => { if (r.url().split("#")[0] !== address) troubles.push(`request: ${r.url()}`); });
	page.on("popup", () => troubles.push("popup"));
	await page.goto(address + hash);
	await page.waitForSelector("html[data-ready]", { timeout: 60000 });
	return page;
}

export const rows = (page) => page.$$eval("#hot tbody tr", (all) => all.map((tr) => [...tr.cells].map((td) => td.textContent)));
export const text = (page, selector) => page.textContent(selector);
export const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));

export async function reload(page) {
	await page.reload();
	await page.waitForSelector("html[data-ready]");
}

/* What could run or load: it must be the same whatever is clicked. */
export const elements = (page) => page.evaluate(() => ({
	scripts: document.scripts.length,
	loaders: document.querySelectorAll("img,iframe,object,embed,link,base,audio,video,form[action]").length,
	handlers: [...document.querySelectorAll("*")].filter((e) => [...e.attributes].some((a) => a.name.startsWith("on"))).length,
	links: [...document.links].filter((a) => !a.getAttribute("href").startsWith("#")).length,
}));
export const OWN_ELEMENTS = { scripts: 5, loaders: 0, handlers: 0, links: 0 };

/* The policy itself: a name that became an element could still do nothing. */
export async function policyHolds(page) {
	holds("no name ran", !(await page.evaluate(() => window.ran)));
	same("what the page tried", troubles.splice(0), []);
	const tried = await page.evaluate(() => {
		const attempts = [
			() => { document.body.append(Object.assign(document.createElement("script"), { textContent: "window.ran = 1" })); },
			() => { document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.ran = 1'>"); },
			() => { document.body.append(Object.assign(document.createElement("img"), { src: "data:image/gif;base64,R0lGODlhAQABAAAAACw=", onload: () => { window.ran = 2; } })); },
			() => { setTimeout("window.ran = 3"); },
		];
		let refused = 0;
		for (const attempt of attempts)
			try {
				attempt();
			} catch {
				refused++;
			}
		return new Promise((done) => setTimeout(() => done([refused, window.ran || 0]), 300));
	});
	same("refused at once, and what ran", tried, [3, 0]);
	troubles.splice(0);
}

/* On paper: no controls, all of the selected line's source and of the tables, nothing cut. */
export async function prints(page) {
	await page.emulateMedia({ media: "print" });
	const shown = await page.evaluate(() => {
		const box = (selector) => document.querySelector(selector)?.getBoundingClientRect();
		const isShown = (selector) => Boolean(box(selector)?.height);
		const cut = (e) => /auto|scroll|hidden/.test(getComputedStyle(e).overflowY) && e.scrollHeight > e.clientHeight + 1;
		const code = box("#code");
		const row = box("#code tr.selected");
		return {
			controls: [...document.querySelectorAll("form, select, button")].filter((e) => e.getBoundingClientRect().height && !e.closest("th")).length,
			table: isShown("#hot tbody tr"),
			selected: isShown("#selected"),
			row: Boolean(row?.height) && row.top >= code.top && row.bottom <= code.bottom + 1,
			cut: [...document.querySelectorAll("#code, #hot, #selected, #selected :not(.visually-hidden)")].concat(document.querySelector("#hot").parentNode)
				.filter(cut).map((e) => e.id || e.className),
		};
	});
	same("printed", shown, { controls: 0, table: true, selected: true, row: true, cut: [] });
	holds("there is a PDF", (await page.pdf()).length > 10000);
	await page.emulateMedia({ media: null });
}

/* How long it takes to open, in CPU time of the page, and until one sees the first rows. */
export async function opens(browser) {
	const page = await open(browser);
	const client = await page.context().newCDPSession(page);
	await client.send("Performance.enable", { timeDomain: "threadTicks" });
	await reload(page);
	const { metrics } = await client.send("Performance.getMetrics");
	const ms = Math.round(1000 * metrics.find((m) => m.name === "TaskDuration").value);
	const seen = await page.evaluate(() => Math.round(performance.getEntriesByName("first-contentful-paint")[0].startTime));
	const bytes = readFileSync(file).length;
	holds(`${bytes} bytes are fewer than 1.5 MB`, bytes < 1500000);
	holds(`${ms} ms of CPU are less than a second`, ms < 1000);
	return `${bytes} bytes, ${ms} ms of CPU until it is drawn, seen after ${seen} ms`;
}

/* axe-core's rules, light and dark, with each fragment; and @words in the page without scripts. */
export async function accessibleWith(browser, fragments, words) {
	const found = [];
	const source = readFileSync(modules.resolve("axe-core/axe.min.js"), "utf8");
	for (const colorScheme of ["light", "dark"])
		for (const fragment of fragments) {
			const page = await open(browser, { colorScheme, bypassCSP: true }, fragment);
			await page.evaluate(source);
			const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
			for (const v of result.violations)
				found.push(`${colorScheme}: ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + (n.any[0]?.message || "")).join("; ")}`);
			await page.context().close();
		}
	const context = await browser.newContext({ javaScriptEnabled: false });
	const page = await context.newPage();
	await page.goto(address);
	holds(`without scripts there is ${words}`, (await page.textContent("noscript, body")).includes(words));
	await context.close();
	same("violations", found, []);
	return "no violation";
}

/* Runs the check that was asked for. The last line is its result. */
export async function run(checks) {
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
		args: ["--no-sandbox", "--disable-gpu"], // root has no sandbox
	});
	try {
		const said = await checks[check](browser);
		await browser.close();
		console.log(said);
	} catch (e) {
		await browser.close();
		console.log(`${e.message.split("\n")[0]}${troubles.length ? "; " + troubles.slice(0, 5).join("; ") : ""}`);
		process.exit(1);
	}
}
