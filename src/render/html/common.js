// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the scripts of all pages share. What a page shows is the address's fragment: links
 * and keys change the fragment, and then the page draws itself.
 *
 * Names and source text come from the profiled programs. They are set as text only.
 */
"use strict";
const common = (() => {

/* ---- elements ---- */

const $ = (id) => document.getElementById(id);

/* el("td", {class: "name"}, "text", child...): texts are never parsed. */
function el(tag, attributes, ...children) {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {}))
		e.setAttribute(name, value);
	e.append(...children);
	return e;
}

function baseName(path) {
	return path.slice(path.lastIndexOf("/") + 1) || path;
}

/* Two containers may have different files with one path. */
function distinct(paths) {
	const seen = new Map();
	return paths.map((path) => {
		const nr = (seen.get(path) || 0) + 1;
		seen.set(path, nr);
		return nr > 1 ? `${path} (${nr})` : path;
	});
}

/* Each step is about twice the one before, as in lineburn's listings. */
const HEAT_STEPS = [0.04, 0.12, 0.3, 0.65];

/* 0: nothing; 1 to 5 by the part of @most. */
function heatOf(value, most) {
	return value ? 1 + HEAT_STEPS.filter((step) => value >= step * most).length : 0;
}

/* ---- the fragment ---- */

let draw = () => {};

/* The fragment with some parameters changed; null takes one away. */
function hashWith(changes) {
	const params = new URLSearchParams(location.hash.slice(1));
	for (const [name, value] of Object.entries(changes))
		if (value === null || value === "")
			params.delete(name);
		else
			params.set(name, value);
	return "#" + params.toString();
}

/* @replaces: going back does not lead to what is shown now */
function go(changes, replaces) {
	const hash = hashWith(changes);
	if (hash === (location.hash || "#"))
		return;
	if (replaces)
		history.replaceState(null, "", hash);
	else
		history.pushState(null, "", hash);
	draw();
}

/* Draws by @show, now and whenever the fragment changes. */
function drawBy(show) {
	draw = show;
	addEventListener("hashchange", show);
	addEventListener("popstate", show);
	show();
}

/* A button that changes the fragment. */
function action(text, changes) {
	const button = el("button", { type: "button" }, text);
	button.addEventListener("click", () => go(changes));
	return button;
}

/* ---- what every page has ---- */

/* The system's choice, light, dark. */
function listenTheme() {
	const themes = ["system", "light", "dark"];
	let theme = 0;
	$("theme").addEventListener("click", () => {
		theme = (theme + 1) % themes.length;
		if (theme)
			document.documentElement.dataset.theme = themes[theme];
		else
			delete document.documentElement.dataset.theme;
		$("theme").textContent = `Theme: ${themes[theme]}`;
	});
}

/* Keys that work wherever nothing is typed: a function for each. */
function listenKeys(keys) {
	addEventListener("keydown", (event) => {
		const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
		if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key))
			return;
		keys[event.key]();
		event.preventDefault();
	});
}

/* A link that puts the focus on a part of the page, and leaves the fragment as it is. */
function listenSkip(id) {
	$("skip").addEventListener("click", (event) => {
		event.preventDefault();
		$(id).focus();
	});
}

/* ---- a flame graph ---- */

/*
 * The graph in an element, with a cursor for the keyboard. Its tree has nodes with key,
 * name, value and children. @is has functions of the page: colour and label of a node,
 * matches(node, text) for the search, say(text, isCursor) for what the pointer or the
 * cursor is at (undefined: nothing).
 */
class Flame {
	constructor(box, is) {
		this.box = box;
		this.is = is;
		box.addEventListener("keydown", (event) => this.keyDown(event));
	}

	draw(tree) {
		this.box.replaceChildren();
		this.cursor = null;
		this.search = "";
		this.zoom = "";
		this.chart = vendor.flamegraph()
			.width(Math.max(300, this.box.clientWidth - 4))
			.cellHeight(18)
			.inverted(true)
			.minFrameSize(1)
			.transitionDuration(0)
			.resetHeightOnZoom(true)
			.setColorMapper((d) => this.is.colour(d.data, d.highlight))
			.setLabelHandler((d) => this.is.label(d.data))
			.setDetailsHandler((text) => this.is.say(text || undefined))
			.setSearchHandler(() => {})
			.setSearchMatch((d) => Boolean(this.search && d.parent && this.is.matches(d.data, this.search)))
			.onClick((d) => go({ zoom: Flame.pathOf(d) }));
		vendor.select(this.box).datum(tree).call(this.chart);
		const svg = this.box.querySelector("svg");
		svg.setAttribute("aria-hidden", "true");
		svg.querySelector("text.title").remove();
	}

	show(zoom, search) {
		if (zoom !== this.zoom) {
			const handler = this.chart.onClick();
			this.chart.onClick(null).zoomTo(this.node(zoom));
			this.chart.onClick(handler);
		}
		this.zoom = zoom;
		if (search !== this.search) {
			this.search = search;
			this.chart.search(search);
		}
	}

	/* "f3-f17": the keys from below the root to the node */
	static pathOf(d) {
		const keys = [];
		for (let at = d; at.parent; at = at.parent)
			keys.push(at.data.key);
		return keys.reverse().join("-");
	}

	/* The node of a path, or the last that there is on the way. */
	node(path) {
		let at = vendor.select(this.box).datum();
		for (const key of path ? path.split("-") : []) {
			const child = (at.children || []).find((c) => c.data.key === key);
			if (!child)
				break;
			at = child;
		}
		return at;
	}

	/* "up" is towards the root, which is on top. */
	move(key) {
		let at = this.cursor || this.node(this.zoom);
		const siblings = at.parent ? at.parent.children : [at];
		const beside = siblings.indexOf(at);
		const to = {
			ArrowUp: at.parent,
			ArrowDown: (at.children || [])[0],
			ArrowLeft: siblings[beside - 1],
			ArrowRight: siblings[beside + 1],
		}[key];
		at = to || at;
		this.cursor = at;
		for (const g of this.box.querySelectorAll("g.cursor"))
			g.classList.remove("cursor");
		vendor.select(this.box).selectAll("g").each(function mark(d) {
			if (d === at) {
				this.classList.add("cursor");
				this.scrollIntoView({ block: "nearest", inline: "nearest" });
			}
		});
		this.is.say(this.is.label(at.data));
	}

	keyDown(event) {
		if (event.key.startsWith("Arrow"))
			this.move(event.key);
		else if (event.key === "Enter" && this.cursor)
			go({ zoom: Flame.pathOf(this.cursor) });
		else if (event.key === "Escape")
			go({ zoom: null });
		else
			return;
		event.preventDefault();
	}
}

return { $, el, baseName, distinct, heatOf, hashWith, go, drawBy, action, listenTheme, listenKeys, listenSkip, Flame };
})();
