// Moving about in the report. All content is in the page already: what is here shows and hides, marks and
// scrolls. The page holds text that others wrote, so nothing here makes HTML out of text.
"use strict";

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const byId = (id) => document.getElementById(id);
const target = (link) => link.getAttribute("href").slice(1);

function unmark(...names) {
  for (const name of names) all(`.${name}`).forEach((one) => one.classList.remove(name));
}

function made(name, text, onClick) {
  const element = document.createElement(name);
  element.textContent = text;
  if (onClick) element.addEventListener("click", onClick);
  return element;
}

// -- pairs and views ----------------------------------------------------------------------------------

function showPair(id) {
  for (const pair of all(".pair")) pair.classList.toggle("shown", pair.id === id);
  for (const tab of all(".pairs .tab")) tab.setAttribute("aria-current", tab.dataset.pair === id);
}

function showView(name) {
  for (const view of all("div.view")) view.classList.toggle("shown", view.dataset.view === name);
  for (const tab of all(".views .tab")) tab.setAttribute("aria-current", tab.dataset.view === name);
}

// Bring cells of the code into view: both where they fit, else the last one.
function scrollTo(cells) {
  const view = cells[0].closest(".view");
  const frame = view.getBoundingClientRect();
  const boxes = cells.map((cell) => cell.getBoundingClientRect());
  let top = Math.min(...boxes.map((box) => box.top));
  let bottom = Math.max(...boxes.map((box) => box.bottom));
  if (bottom - top > frame.height * 0.8) ({ top, bottom } = boxes[boxes.length - 1]);
  view.scrollTop += (top + bottom) / 2 - (frame.top + frame.height / 2);
}

function showLines(cells) {
  unmark("marked");
  if (!cells.length) return;
  showPair(cells[0].closest(".pair").id);
  showView("code");
  for (const cell of cells) cell.classList.add("marked");
  scrollTo(cells);
}

// A line, and the one that stands beside it where there is one.
function showLine(id) {
  const cell = byId(id);
  const beside = all("td[id]", cell.parentElement).filter((other) => other !== cell);
  showLines([...beside, cell]);
}

// -- findings -----------------------------------------------------------------------------------------

const findings = all(".finding");
const detail = byId("detail");
let current = null;

const linesOf = (item) => [item.dataset.a, item.dataset.b].filter(Boolean).map(byId);

function select(item) {
  unmark("current");
  findings.forEach((one) => one.removeAttribute("aria-current"));
  current = item;
  item.classList.add("current");
  item.setAttribute("aria-current", "true");
  item.scrollIntoView({ block: "nearest" });
  const cells = linesOf(item);
  showPair(item.dataset.pair);
  describe(item);
  showLines(cells);
  rememberPlace(item.id);
}

// Both lines of a finding in full, one below the other: what differs can be seen without scrolling.
function describe(item) {
  detail.className = `detail ${item.classList[1]}`;
  const head = made("h3", `${item.querySelector("b").textContent}  ${item.querySelector(".message").textContent}`);
  const about = (name) => all("dt", item).find((term) => term.textContent === name).nextElementSibling.textContent;
  const hint = made("p", `${about("action")} Owner: ${about("owner")}.`);
  hint.className = "action";
  const rows = linesOf(item).map((cell) => excerpt(cell, cell.id === item.dataset.a));
  detail.replaceChildren(head, hint, ...rows);
  detail.hidden = false;
}

function excerpt(cell, isReference) {
  const row = document.createElement("div");
  const line = cell.previousElementSibling.textContent;
  const side = isReference ? "reference" : "generated";
  const text = document.createElement("code");
  text.append(...[...cell.cloneNode(true).childNodes].filter((node) => node.className !== "tag"));
  all("[id]", text).forEach((one) => one.removeAttribute("id"));
  all("a", text).forEach((one) => one.removeAttribute("href"));
  text.normalize();
  if (text.firstChild.nodeType === Node.TEXT_NODE) text.firstChild.data = text.firstChild.data.trimStart();
  row.append(made("button", `${side} ${line}`, () => showLine(cell.id)), text);
  return row;
}

// So that a link to the report can name a finding.
function rememberPlace(id) {
  try {
    history.replaceState(null, "", `#${id}`);
  } catch {
    // Some browsers refuse that for files.
  }
}

function step(by) {
  const shown = findings.filter((item) => !item.hidden);
  if (!shown.length) return;
  const at = shown.indexOf(current);
  const next = at < 0 ? (by > 0 ? 0 : shown.length - 1) : at + by;
  if (shown[next]) select(shown[next]);
}

const searched = new Map();

function searchText(item) {
  if (!searched.has(item)) {
    const lines = linesOf(item).map((cell) => cell.textContent);
    // What the rule says in general is not searched: it would find what has nothing to do with this kernel.
    const head = all(".jump, .reason, .place", item).map((part) => part.textContent);
    searched.set(item, [...head, ...lines].join("\n").toLowerCase());
  }
  return searched.get(item);
}

function filter() {
  const off = all('.filter[aria-pressed="false"]').map((button) => button.dataset.kind);
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const item of findings) {
    const kept = !off.some((kind) => item.classList.contains(kind));
    item.hidden = !(kept && words.every((word) => searchText(item).includes(word)));
  }
  byId("none").hidden = !findings.length || findings.some((item) => !item.hidden);
}

// -- values -------------------------------------------------------------------------------------------

// A value's id is pair, side ("a" reference, "b" generated), "v", number. Values with one data-n are equal.
const definitions = new Map(all(".code b[id]").map((one) => [one.id, one]));
const uses = new Map();
const equals = new Map();
const standIns = new Map();

const placeOf = (id) => id.match(/^(p\d+)-([ab])v\d+$/);
const otherSide = (side) => (side === "a" ? "b" : "a");

function add(map, key, item) {
  if (!map.has(key)) map.set(key, []);
  map.get(key).push(item);
}

function readValues() {
  for (const link of all(".code a:not(.tag)")) {
    // Thousands of stops for the Tab key are no help: the key v walks through the values of a line.
    link.tabIndex = -1;
    add(uses, target(link), link);
  }
  for (const [id, one] of definitions) {
    const [, pair, side] = placeOf(id);
    add(equals, `${pair} ${side} ${one.dataset.n}`, id);
    if (one.dataset.alt) {
      standIns.set(`${pair} a ${one.dataset.n}`, one.dataset.alt);
      standIns.set(`${pair} b ${one.dataset.alt}`, one.dataset.n);
    }
  }
}

// The values of the other kernel that correspond to one, and whether they are equal to it.
function counterparts(id) {
  const [, pair, side] = placeOf(id);
  const number = definitions.get(id).dataset.n;
  const same = equals.get(`${pair} ${otherSide(side)} ${number}`);
  if (same) return { ids: same, equal: true };
  const other = standIns.get(`${pair} ${side} ${number}`);
  return { ids: equals.get(`${pair} ${otherSide(side)} ${other}`) || [], equal: false };
}

function light(id, name) {
  definitions.get(id).classList.add(name);
  for (const use of uses.get(id) || []) use.classList.add(name);
}

function lightUp(id) {
  unmark("lit", "twin", "mate", "stand");
  const [, pair, side] = placeOf(id);
  const twins = equals.get(`${pair} ${side} ${definitions.get(id).dataset.n}`).filter((one) => one !== id);
  const found = counterparts(id);
  for (const twin of twins) light(twin, "twin");
  for (const other of found.ids) light(other, found.equal ? "mate" : "stand");
  light(id, "lit");
  sayValue(id, twins, found);
}

function sayValue(id, twins, found) {
  const count = (uses.get(id) || []).length;
  const words = (text) => made("span", text);
  const parts = [made("code", nameOf(id)), words("defined in"), lineButton(id)];
  parts.push(words(`${count} use${count === 1 ? "" : "s"}`));
  if (twins.length) parts.push(words(`computed ${twins.length} more time${twins.length === 1 ? "" : "s"} here`));
  if (!found.ids.length) parts.push(words("nothing corresponds in the other kernel"));
  else parts.push(words(found.equal ? "equal in the other kernel:" : "in its place in the other kernel:"));
  for (const other of found.ids.slice(0, 3)) parts.push(made("code", nameOf(other)), lineButton(other));
  byId("said").replaceChildren(...parts);
}

function nameOf(id) {
  const use = (uses.get(id) || [])[0];
  return (use || definitions.get(id)).textContent;
}

function lineButton(id) {
  const cell = definitions.get(id).closest("td");
  const line = cell.previousElementSibling.textContent;
  return made("button", line ? `line ${line}` : "its line", () => showLine(cell.id));
}

function nextValue() {
  const values = all(".marked b[id], .marked a:not(.tag)");
  if (!values.length) return;
  const at = values.findIndex((one) => one.classList.contains("chosen"));
  unmark("chosen");
  const next = values[(at + 1) % values.length];
  next.classList.add("chosen");
  lightUp(next.id || target(next));
}

// -- theme, clearing, help ----------------------------------------------------------------------------

const root = document.documentElement;

function toggleTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("tileir-theme", root.dataset.theme);
  } catch {
    // Files may have no storage: the choice holds for this visit.
  }
}

function restoreTheme() {
  try {
    const stored = localStorage.getItem("tileir-theme");
    if (stored === "light" || stored === "dark") root.dataset.theme = stored;
  } catch {
    // As above.
  }
}

function clear() {
  unmark("lit", "twin", "mate", "stand", "chosen", "marked", "current");
  byId("said").replaceChildren();
  detail.hidden = true;
  current = null;
  byId("search").value = "";
  byId("search").blur();
  filter();
}

// -- events -------------------------------------------------------------------------------------------

const keys = {
  j: () => step(1),
  n: () => step(1),
  k: () => step(-1),
  p: () => step(-1),
  v: nextValue,
  1: () => showView("code"),
  2: () => showView("flow"),
  3: () => showView("hints"),
  t: toggleTheme,
  "/": () => byId("search").focus(),
  "?": () => byId("help").showModal(),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  if (event.key === "Escape") return clear();
  if (event.target.matches("input, textarea")) {
    if (event.key === "Enter") step(1);
    return;
  }
  const action = keys[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

// Every link leads to something in the page: a finding, a pair, a view, a value, a line.
function follow(link) {
  const id = target(link);
  const element = byId(id);
  if (link.dataset.view) return showView(link.dataset.view);
  if (link.classList.contains("jump")) return select(link.closest(".finding"));
  if (definitions.has(id)) return lightUp(id);
  if (!element) return undefined;
  if (element.matches(".finding")) return select(element);
  if (element.matches(".pair")) return showPair(id);
  return showLine(id);
}

function onClick(event) {
  const link = event.target.closest("a[href]");
  if (link) {
    event.preventDefault();
    return follow(link);
  }
  const definition = event.target.closest(".code b[id]");
  return definition && lightUp(definition.id);
}

function start() {
  root.classList.add("scripted");
  restoreTheme();
  readValues();
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", onClick);
  byId("search").addEventListener("input", filter);
  byId("theme").addEventListener("click", toggleTheme);
  byId("keys").addEventListener("click", keys["?"]);
  byId("close").addEventListener("click", () => byId("help").close());
  for (const button of all(".filter")) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
      filter();
    });
  }
  const first = all(".pair")[0];
  if (first) showPair(first.id);
  showView("code");
  const named = byId(location.hash.slice(1));
  if (named && named.matches(".finding")) select(named);
  else if (named && named.matches("td")) showLine(named.id);
  else if (findings.length) select(findings[0]);
}

start();
