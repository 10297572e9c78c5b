// What is shown is kept in the address, after the #: with=NAME,OTHER&at=dropout1, and
// view=files, all=1, only=dropout1,optimiser, and machine, model, lane and by where they are not the
// defaults. `at` is the id of anything on the page: a part, a step, a concept, a line such as NAME-79, a figure.
// Each network has a page of its own; results.js is for the first one.
// Without this script a page shows its first two frameworks, and all tables.
"use strict";

const $ = (id) => document.getElementById(id);
const all = (selector, from = document) => [...from.querySelectorAll(selector)];
const data = (name) => JSON.parse($("data-" + name)?.textContent || "null");
const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

const modules = data("modules"); // [{key, title}]
const concepts = new Map(data("concepts")); // further words that find a concept, or a part
const titles = new Map(modules.map(({ key, title }) => [key, title]));
const MOST = 4; // columns that can be read
// What results are shown; none on the pages of further networks.
const filters = Object.fromEntries(["machine", "model", "lane", "by"].map((name) => [name, $("by-" + name)]).filter(([, select]) => select));
for (const select of Object.values(filters)) select.dataset.first = select.value;
const DEFAULT = data("first"); // two keys
const state = { with: [...DEFAULT], at: null, files: false, all: false, only: [] };

// A reader's own choices, kept by the browser if it keeps anything.
const kept = {
  get(name) { try { return localStorage.getItem(name); } catch { return null; } },
  set(name, value) { try { localStorage.setItem(name, value); } catch { /* not kept */ } },
};

// The address.

function address() {
  const parts = ["with=" + state.with.join(",")];
  for (const name of ["machine", "model", "lane", "by"]) {
    if (filters[name] && filters[name].value !== filters[name].dataset.first) {
      parts.push(name + "=" + encodeURIComponent(filters[name].value));
    }
  }
  if (state.files) parts.push("view=files");
  if (state.all) parts.push("all=1");
  if (state.only.length) parts.push("only=" + state.only.join(","));
  if (state.at) parts.push("at=" + state.at);
  return parts.join("&");
}

function keep(step = false) {
  const hash = "#" + address();
  if (hash !== location.hash) history[step ? "pushState" : "replaceState"](null, "", hash);
  for (const link of all('a[href^="files/"]')) {
    const [path, line = ""] = link.getAttribute("href").split(/[#&]/);
    link.setAttribute("href", `${path}#${line}&with=${state.with.join(",")}`);
  }
}

// Take what is known from the address; the rest is left as it is.
function read() {
  let hash = location.hash.slice(1);
  try { hash = decodeURIComponent(hash); } catch { /* as it stands */ }
  if ($(hash)) { state.at = hash; follow(hash); return; }
  const asked = new URLSearchParams(hash);
  const known = (asked.get("with") || "").split(",").filter((key, at, keys) => titles.has(key) && keys.indexOf(key) === at);
  if (known.length) state.with = known.slice(0, MOST);
  for (const [name, select] of Object.entries(filters)) {
    const value = asked.get(name);
    if (value && [...select.options].some((option) => option.value === value)) select.value = value;
    else if (asked.has("with")) select.value = select.dataset.first;
  }
  state.files = asked.get("view") === "files";
  state.all = asked.get("all") === "1";
  state.only = (asked.get("only") || "").split(",").filter((key) => $(key)?.matches(".row"));
  const at = asked.get("at");
  state.at = at && $(at) ? at : null;
  if (state.at) follow(state.at);
}

// A line belongs to a framework, which is then shown: the first one stays.
function follow(id) {
  const cell = $(id).closest(".cell[data-module]");
  if (cell) showModule(cell.dataset.module);
}

function showModule(key) {
  if (state.with.includes(key)) return;
  if (state.with.length < 2) state.with.push(key);
  else state.with[state.with.length - 1] = key;
}

// What is shown.

const rows = all(".rows .row");
const cells = new Map(rows.map((row) => [row, new Map(all(":scope > .cell", row).map((cell) => [cell.dataset.module, cell]))]));
const front = new Map(); // step: the framework that a phone shows in it

function arrange() {
  const chosen = new Set(state.with);
  document.body.classList.toggle("reading-files", state.files);
  $("code").style.setProperty("--columns", state.with.length);
  for (const [row, own] of cells) {
    const everyone = state.all && row.id === state.at;
    row.classList.toggle("everyone", everyone);
    for (const [key, cell] of own) cell.hidden = !everyone && !chosen.has(key);
    const ordered = state.with.map((key) => own.get(key));
    const moved = ordered.some((cell, at) => at && !(ordered[at - 1].compareDocumentPosition(cell) & Node.DOCUMENT_POSITION_FOLLOWING));
    if (moved) row.append(...ordered);
    const nothing = row.id !== state.at && state.with.every((key) => own.get(key).matches(".none"));
    row.hidden = state.only.length ? !state.only.includes(row.id) : nothing;
  }
  for (const cell of all(".phrases [data-module], .causes [data-module]")) {
    cell.hidden = !chosen.has(cell.dataset.module) && !($("all-phrases")?.checked && cell.closest(".phrases"));
  }
  for (const row of all(".phrases tr")) { // in the order in which they were chosen
    const own = new Map(all("[data-module]", row).map((cell) => [cell.dataset.module, cell]));
    row.firstElementChild.after(...state.with.map((key) => own.get(key)).filter(Boolean));
  }
  $("column-heads").replaceChildren(element("span"), ...state.with.map((key) => element("span", { className: "head", textContent: titles.get(key) })));
  $("only").hidden = !state.only.length;
  $("count").textContent = `${state.only.length} of ${rows.length} rows.`;
  for (const step of all(".step")) {
    step.hidden = !step.querySelector(".rows > .row:not([hidden])");
    tabs(step);
    files(step);
  }
  mend();
  chips();
  differences();
}

function tabs(step) {
  if (!state.with.includes(front.get(step))) front.set(step, state.with[0]);
  const buttons = state.with.map((key) => {
    const button = element("button", { type: "button", textContent: titles.get(key) });
    button.dataset.tab = key;
    button.setAttribute("aria-pressed", key === front.get(step));
    return button;
  });
  step.querySelector(".tabs").replaceChildren(...buttons);
  for (const cell of all(".front", step)) cell.classList.remove("front");
  for (const cell of all(`.cell[data-module="${front.get(step)}"]`, step)) cell.classList.add("front");
}

// Whole files are made when they are asked for.
function files(step) {
  step.classList.toggle("files", state.files);
  step.querySelector(".columns")?.remove();
  if (!state.files) return;
  const source = step.querySelector("template").content;
  const chosen = state.with.map((key) => source.querySelector(`[data-module="${key}"]`)).filter(Boolean);
  step.append(element("div", { className: "columns" }, ...chosen.map((cell) => document.importNode(cell, true))));
  for (const cell of all(".columns .cell", step)) cell.classList.toggle("front", cell.dataset.module === front.get(step));
}

function options(chosen) {
  return modules.map(({ key, title }) => {
    const option = element("option", { value: key, textContent: title, selected: key === chosen });
    option.disabled = key !== chosen && state.with.includes(key);
    return option;
  });
}

function chips() {
  const selects = all("#chips select");
  if (selects.length === state.with.length) { // as they are: a reader may be typing in one
    state.with.forEach((key, place) => {
      selects[place].value = key;
      for (const option of selects[place].options) option.disabled = option.value !== key && state.with.includes(option.value);
      const button = selects[place].nextElementSibling;
      if (button) { button.dataset.remove = key; button.setAttribute("aria-label", "Remove " + titles.get(key)); }
    });
    return;
  }
  const made = state.with.map((key, place) => {
    const select = element("select", { value: key }, ...options(key));
    select.dataset.place = place;
    select.setAttribute("aria-label", `Framework ${place + 1}`);
    const chip = element("span", { className: "chip" }, select);
    if (state.with.length > 1) {
      const button = element("button", { type: "button", textContent: "×" });
      button.dataset.remove = key;
      button.setAttribute("aria-label", "Remove " + titles.get(key));
      chip.append(button);
    }
    return chip;
  });
  if (made.length > 1) {
    const swap = element("button", { type: "button", id: "swap", textContent: "⇄" });
    swap.setAttribute("aria-label", "Swap the frameworks");
    made.splice(1, 0, swap);
  }
  if (state.with.length < MOST) {
    const add = element("button", { type: "button", id: "add", textContent: "+" });
    add.setAttribute("aria-label", "Add a framework");
    made.push(add);
  }
  const focused = document.activeElement?.closest("#chips") && document.activeElement;
  $("chips").replaceChildren(...made);
  if (focused) ($(focused.id) || all("#chips select")[focused.dataset.place] || all("#chips select").pop()).focus();
}

// Words that one of two frameworks lacks, within a row: the longest sequence that both have is left
// unmarked. What counts is what is called, the names of arguments, and values; not what things are
// assigned to or where they are imported from, nor comments, nor what the row is not about.
const TOKEN = /[A-Za-z_]\w*|\d[\w.]*|"[^"]*"|\S/g;
const CONSTANT = /^(["\d]|(True|False|None)$)/;

function words(cell) {
  const tokens = [];
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.closest(".l") || node.parentElement.closest(".n, .c, .d, .helper")) continue;
    const own = !node.parentElement.closest(".o");
    for (const match of node.data.matchAll(TOKEN)) {
      tokens.push({ text: match[0], node, own, start: match.index, end: match.index + match[0].length });
    }
  }
  let depth = 0;
  return tokens.filter((token, at) => {
    if ("([{".includes(token.text)) depth++;
    else if (")]}".includes(token.text)) depth--;
    const next = tokens[at + 1]?.text;
    const told = CONSTANT.test(token.text) || (/^\w/.test(token.text) && (next === "(" || (next === "=" && depth > 0)));
    token.text = token.text.toLowerCase();
    return told && token.own;
  });
}

function common(one, other) {
  const longest = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      longest[i][j] = one[i].text === other[j].text ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const found = [new Set(), new Set()];
  for (let i = 0, j = 0; i < one.length && j < other.length;) {
    if (one[i].text === other[j].text) { found[0].add(i++); found[1].add(j++); }
    else if (longest[i + 1][j] >= longest[i][j + 1]) i++;
    else j++;
  }
  return found;
}

function differences() {
  if (!globalThis.Highlight) return; // a browser that is older than this marks nothing
  CSS.highlights.delete("differs");
  if (!$("differences").checked || state.with.length !== 2 || state.files || state.all) return;
  const ranges = [];
  let counted = 0;
  for (const own of cells.values()) {
    const pair = state.with.map((key) => own.get(key));
    if (pair.some((cell) => cell.matches(".none") || cell.querySelector(".prose"))) continue;
    const told = pair.map(words);
    counted += told[0].length + told[1].length;
    common(...told).forEach((same, side) => told[side].forEach((word, at) => {
      if (!same.has(at)) ranges.push(new StaticRange({ startContainer: word.node, startOffset: word.start, endContainer: word.node, endOffset: word.end }));
    }));
  }
  CSS.highlights.set("differs", new Highlight(...ranges));
}

// Where the reader is.

function pin() {
  all(".here").forEach((one) => one.classList.remove("here"));
  const target = state.at && $(state.at);
  if (target?.matches(".row, .l, .prose, .symptom, tr")) target.classList.add("here");
}

function scroll() {
  const target = state.at && $(state.at);
  if (!target) return;
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  if (state.files && target.closest(".rows")) {
    const step = target.closest(".step");
    const concept = target.closest(".row").id;
    light(concept);
    (step.querySelector(`.columns [data-c~="${concept}"]`) || step).scrollIntoView({ block: "center" });
    return;
  }
  const reach = () => target.scrollIntoView({ block: target.matches(".l") ? "center" : "start" });
  reach();
  // What comes near is laid out only now, and may be taller than was thought.
  requestAnimationFrame(() => requestAnimationFrame(reach));
}

// To the page of another network, with the same frameworks.
function leave(href) {
  const [page, id] = href.split("#");
  location.href = `${page}#with=${state.with.join(",")}${id ? "&at=" + id : ""}`;
}

function go(id, step = true) {
  state.at = id;
  if (state.only.length && !state.only.includes($(id).closest(".row")?.id)) state.only = [];
  follow(id);
  arrange();
  pin();
  keep(step);
  scroll();
  const target = $(id);
  const focus = target.matches("a, button, summary") ? target : target.querySelector("a, summary, h2, h3");
  if (focus?.matches("h2, h3")) focus.tabIndex = -1; // a heading takes focus only if it is told to
  focus?.focus({ preventScroll: true });
}

function light(concept) {
  for (const line of all(".columns .l[data-c]")) line.classList.toggle("lit", line.dataset.c.split(" ").includes(concept));
}

const places = [...all("main > section"), ...rows];
function track() {
  const top = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) + 8;
  let now = places[0];
  for (const one of places) {
    if (!one.offsetParent && one.offsetHeight === 0) continue;
    if (one.getBoundingClientRect().top <= top) now = one;
  }
  const section = now.closest("main > section");
  const later = [...section.parentElement.children].indexOf(section);
  for (const one of all("main > section").slice(later + 1)) if (one.getBoundingClientRect().top <= top) now = one;
  $("contents").value = now.id;
  const reading = now.closest("main > section");
  if (!reading.matches(".reading")) {
    for (const one of all("main > section")) one.classList.toggle("reading", one === reading);
  }
}

// Find.

const commands = [
  ["Print what is shown", () => print()],
  ["Copy a link to what is shown", () => share()],
  ["Swap the frameworks", () => $("swap")?.click()],
  ["Whole files, or rows", () => $("files").click()],
  ["Hide comments, or show them", () => $("comments").click()],
  ["Theme: system, light, dark", () => $("theme").click()],
];
// A page that came over plain http has no clipboard.
const copy = (text) => navigator.clipboard?.writeText(text) ?? Promise.reject();
function share() {
  const told = (text) => { $("link").textContent = text; };
  copy(location.href).then(() => told("Copied"), () => told("Not allowed: it is in the address bar"));
}

let index = null;
function build() {
  index = [];
  for (const option of $("contents").options) {
    const row = $(option.value);
    const part = option.parentElement.label;
    index.push({ id: option.value, kind: part || "part", title: option.textContent, words: [option.textContent, row.querySelector(".name span")?.textContent, concepts.get(option.value)].join(" ").toLowerCase(), concept: Boolean(part), weight: 3 });
  }
  for (const one of all("summary[data-find], tr[data-find]")) {
    const title = one.querySelector("strong, th");
    const words = title.textContent + " " + (title.nextElementSibling?.matches("[data-module]") ? "" : title.nextElementSibling?.textContent);
    index.push({ id: one.id || one.parentElement.id, kind: one.dataset.find, title: title.textContent.trim(), words: words.toLowerCase(), weight: 1 });
  }
  for (const { id, dataset } of all("figure[id]")) {
    index.push({ id, kind: "figure", title: dataset.title, words: dataset.title.toLowerCase(), weight: 1 });
  }
  for (const [href, title, words, kind] of data("elsewhere")) {
    index.push({ href, kind: kind === "network" || kind === "part" ? kind : "in " + kind, title, words: (title + " " + words).toLowerCase(), weight: 3 });
  }
  for (const [title, run] of commands) index.push({ run, kind: "command", title, words: title.toLowerCase(), weight: 1 });
  for (const { key, title } of modules) index.push({ module: key, kind: "framework", title, words: (key + " " + title).toLowerCase(), weight: 3 });
  for (const line of all(".rows .l[id], .rows .prose")) {
    const cell = line.closest(".cell");
    const text = [...line.childNodes].slice(line.matches(".prose") ? 0 : 1).map((node) => node.textContent).join("").trim();
    index.push({ id: line.id, module: cell.dataset.module, line: true, kind: titles.get(cell.dataset.module), title: text, words: text.toLowerCase(), weight: 0 });
  }
}

// The framework that a query names, if it says more than that; and the rest of the query.
function asked(query) {
  const tokens = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (tokens.length < 2) return { tokens, module: null };
  for (const token of tokens) {
    const named = token.length > 2 && (modules.find(({ key }) => key === token) || modules.find(({ key, title }) => (key + " " + title).toLowerCase().split(/\W+/).some((word) => word.startsWith(token))));
    if (named) return { tokens: tokens.filter((one) => one !== token), module: named.key };
  }
  return { tokens, module: null };
}

function search(query) {
  if (!index) build();
  const { tokens, module } = asked(query);
  if (!tokens.length) return [];
  const found = [];
  for (const one of index) {
    if (module && one.line && one.module !== module) continue;
    if (!tokens.every((token) => one.words.includes(token))) continue;
    const begins = one.title.toLowerCase().startsWith(tokens[0]) ? 4 : (concepts.get(one.id) || "").split(" ").includes(tokens[0]) ? 3 : (" " + one.words).includes(" " + tokens[0]) ? 2 : 0;
    const seen = one.line && state.with.includes(one.module) ? 1 : 0;
    found.push([2 * one.weight + begins + seen, one]);
  }
  found.sort((a, b) => b[0] - a[0]);
  // Several concepts at once are rows to be read alone.
  const each = tokens.map((token) => index.filter((one) => one.concept).filter((one) => one.title.toLowerCase().includes(token)));
  if (tokens.length > 1 && each.every((some) => some.length)) {
    const only = rows.map((row) => row.id).filter((id) => each.some((some) => some.some((one) => one.id === id)));
    if (found.every(([, one]) => one.line)) found.unshift([0, { only, id: only[0], kind: "rows", title: `${tokens.join(", ")}: ${only.length} rows alone`, words: "" }]);
  }
  return found.slice(0, 60).map(([, one]) => ({ ...one, show: module || (one.line || (!one.id && !one.run && !one.href) ? one.module : null) }));
}

const box = $("find");
const list = $("found");
let results = [];
let current = 0;

function offer() {
  results = search(box.value);
  current = 0;
  list.replaceChildren(...results.map((one, place) => {
    const where = one.show && !one.line && one.id ? `${one.kind}, in ${titles.get(one.show)}` : one.kind;
    const option = element("div", { id: "found-" + place }, element("span", { textContent: where }), element(one.line ? "code" : "strong", { textContent: one.title }));
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", place === 0);
    return option;
  }));
  if (box.value.trim() && !results.length) {
    const none = element("div", { id: "found-0" }, element("span", { textContent: "nothing" }), element("strong", { textContent: "Nothing here has all of these words." }));
    none.setAttribute("role", "option");
    none.setAttribute("aria-disabled", "true");
    list.append(none);
  }
  const shown = box.value.trim() !== "";
  list.hidden = !shown;
  box.setAttribute("aria-expanded", shown);
  if (results.length) box.setAttribute("aria-activedescendant", "found-0");
  else box.removeAttribute("aria-activedescendant");
}

function move(by) {
  if (!results.length) return;
  list.children[current].setAttribute("aria-selected", "false");
  current = (current + by + results.length) % results.length;
  list.children[current].setAttribute("aria-selected", "true");
  list.children[current].scrollIntoView({ block: "nearest" });
  box.setAttribute("aria-activedescendant", "found-" + current);
}

function close() {
  list.hidden = true;
  box.setAttribute("aria-expanded", "false");
  box.removeAttribute("aria-activedescendant");
}

function take(place) {
  const one = results[place];
  if (!one) return;
  close();
  box.value = "";
  if (one.run) { box.blur(); one.run(); return; }
  if (one.href) { leave(one.href); return; }
  state.all = false;
  state.only = one.only || [];
  if (one.show) showModule(one.show);
  go(one.id || "code");
}

// My port is off: the right lines of the chosen frameworks, out of the phrase book.
function mend() {
  const book = new Map(all(".phrases tr[data-phrase]").map((row) => [row.dataset.phrase, row]));
  for (const cell of all("td[data-mend]")) {
    const lines = [];
    for (const key of book.has(cell.dataset.mend) ? state.with : []) {
      const said = book.get(cell.dataset.mend).querySelector(`[data-module="${key}"] > a`);
      if (said) lines.push(element("div", {}, element("span", { className: "small", textContent: titles.get(key) }), said.cloneNode(true)));
    }
    cell.replaceChildren(...lines);
  }
}

// Tables are sorted by the numbers in them, or by their words.
function sortable(table) {
  const heads = all("thead th", table);
  heads.forEach((head, place) => {
    const button = element("button", { type: "button" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === (head.matches(".number") ? "descending" : "ascending");
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      const falling = head.matches(".number") ? !up : up;
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const value = (row) => { const text = row.cells[place].dataset.value ?? row.cells[place].textContent.trim(); const parsed = parseFloat(text.replace(/^< /, "").replaceAll(",", "")); return Number.isNaN(parsed) ? text : parsed; };
      const body = table.tBodies[0];
      const sorted = [...body.rows].sort((a, b) => {
        const [one, other] = [value(a), value(b)];
        if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
        const order = typeof one === "number" ? one - other : one.localeCompare(other);
        return falling ? -order : order;
      });
      body.append(...sorted);
    });
  });
}

// What the reader does.

function theme() {
  const now = document.documentElement.dataset.theme || "";
  const names = { "": "as the system", light: "light", dark: "dark" };
  $("theme").setAttribute("aria-label", "Theme: " + names[now]);
  $("theme").textContent = { "": "◐", light: "☀", dark: "☾" }[now];
}

$("theme").addEventListener("click", () => {
  const order = ["", "light", "dark"];
  const next = order[(order.indexOf(document.documentElement.dataset.theme || "") + 1) % 3];
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  kept.set("theme", next);
  theme();
});

for (const [id, name, when] of [["wrap", "wrap", true], ["comments", "no-comments", false]]) {
  const update = () => document.documentElement.classList.toggle(name, $(id).checked === when);
  if (kept.get(id)) $(id).checked = kept.get(id) === "1";
  $(id).addEventListener("change", () => { kept.set(id, $(id).checked ? "1" : "0"); update(); });
  update();
}
if (kept.get("differences")) $("differences").checked = kept.get("differences") === "1";
$("differences").addEventListener("change", () => { kept.set("differences", $("differences").checked ? "1" : "0"); differences(); });
$("files").addEventListener("change", () => { state.files = $("files").checked; arrange(); keep(); });
$("all-phrases")?.addEventListener("change", arrange);
$("raw")?.addEventListener("change", () => $("proof").classList.toggle("show-raw", $("raw").checked));
$("network").addEventListener("change", () => leave($("network").value));
$("print").addEventListener("click", () => { $("view").open = false; print(); });
$("link").addEventListener("click", share);
$("everything").addEventListener("click", () => { state.only = []; arrange(); keep(); scroll(); });
$("contents").addEventListener("change", () => { state.all = false; go($("contents").value); });

$("chips").addEventListener("change", (event) => {
  state.with[event.target.dataset.place] = event.target.value;
  for (const step of front.keys()) front.set(step, event.target.value);
  arrange();
  keep();
});
$("chips").addEventListener("click", (event) => {
  const target = event.target;
  if (target.id === "swap") state.with.push(state.with.shift());
  else if (target.id === "add") state.with.push(modules.find(({ key }) => !state.with.includes(key)).key);
  else if (target.dataset.remove) state.with = state.with.filter((key) => key !== target.dataset.remove);
  else return;
  arrange();
  keep();
});

box.addEventListener("input", offer);
box.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") { event.preventDefault(); move(1); }
  else if (event.key === "ArrowUp") { event.preventDefault(); move(-1); }
  else if (event.key === "Enter") { event.preventDefault(); take(current); }
  else if (event.key === "Escape") { close(); box.value = ""; box.blur(); }
});
box.addEventListener("blur", () => setTimeout(() => { if (document.activeElement !== box) close(); }, 150));
list.addEventListener("mousedown", (event) => {
  const option = event.target.closest('[role="option"]');
  if (option) { event.preventDefault(); take([...list.children].indexOf(option)); }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") $("view").open = false;
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=checkbox]), textarea")) return;
  event.preventDefault();
  box.focus();
  box.select();
});

document.addEventListener("click", (event) => {
  const target = event.target;
  if (!target.closest("#view")) $("view").open = false;
  const link = target.closest('a[href^="#"]');
  if (link && !event.ctrlKey && !event.metaKey) {
    const id = link.hash.slice(1);
    if ($(id)) {
      event.preventDefault();
      state.all = false;
      go(id);
    }
  } else if (/^\w+\.html/.test(target.closest("a")?.getAttribute("href")) && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    leave(target.closest("a").getAttribute("href"));
  } else if (target.matches("button.all")) {
    const id = target.closest(".row").id;
    state.all = !(state.all && state.at === id);
    go(id);
  } else if (target.matches("[data-tab]")) {
    const step = target.closest(".step");
    front.set(step, target.dataset.tab);
    tabs(step);
    step.querySelector(`[data-tab="${target.dataset.tab}"]`).focus();
  } else if (target.matches("button.copy")) {
    const text = all(".l", target.closest(".cell")).map((line) => line.textContent).join("");
    copy(text).then(() => { target.textContent = "Copied"; }, () => { target.textContent = "Not allowed"; });
    setTimeout(() => { target.textContent = "Copy"; }, 2000);
  } else {
    const line = target.closest(".columns .l[data-c]");
    if (line && getSelection().isCollapsed) { state.at = line.dataset.c.split(" ")[0]; pin(); light(state.at); keep(); }
  }
});
document.addEventListener("mouseover", (event) => {
  const line = event.target.closest?.(".columns .l[data-c]");
  if (line) light(line.dataset.c.split(" ")[0]);
});

for (const row of rows) {
  const button = element("button", { type: "button", className: "all", textContent: `all ${modules.length}` });
  button.setAttribute("aria-label", `${row.getAttribute("aria-label")} in all ${modules.length} frameworks`);
  row.querySelector(".name").append(button);
}
all("table.sortable").forEach(sortable);

let waiting = false;
addEventListener("scroll", () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; track(); });
}, { passive: true });

function start() {
  read();
  $("files").checked = state.files;
  arrange();
  pin();
  document.dispatchEvent(new Event("arranged"));
  keep();
  scroll();
  track();
}
addEventListener("hashchange", start);
addEventListener("popstate", start);
theme();
document.addEventListener("DOMContentLoaded", start);
