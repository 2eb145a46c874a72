// The page: one state, one node, and keys. The server responds to an action with the next state.

import * as api from "./api.js";
import { KEYS } from "./colors.js";
import { NodeMap } from "./map.js";
import { $, say, showCard, showFound, showState, toast } from "./view.js";

const POLL = 2000;
let state = null, card = null, busy = false, selection = [];
const tabs = new BroadcastChannel(`gssl-label-${location.port}`);

const handlers = { open, label, newClass };
const map = new NodeMap($("map"), { open, select, hover });

function render(next, { announce = "" } = {}) {
  state = next;
  card = next.card;
  showState(state, handlers);
  showCard(card, state, handlers);
  map.setState(state);
  map.setCurrent(card);
  if (card && map.n) map.show(card.index);
  document.body.dataset.version = state.version;
  if (announce) say(`${announce}. ${state.labelled} labels. ${describe()}`);
}

function describe() {
  if (!card) return "All nodes are labelled or skipped.";
  const best = card.thinks[0];
  return `Node ${card.id}${best ? `, probably ${best.name}, ${Math.round(100 * best.share)} percent` : ""}.`;
}

async function painted() {
  // resolves after the next frame is painted
  await new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  }));
}

async function act(action, told) {
  if (busy || !state) return false;
  busy = true;
  const start = performance.now();
  document.body.classList.add("busy");
  try {
    const next = await api.act({ version: state.version, ...action });
    const answered = performance.now();
    if (next.stale) {
      render(next);
      toast("The labels have changed in another tab: look again.", true);
      say("The labels have changed in another tab: look again.");
      return false;
    }
    render(next, { announce: told });
    if (told) toast(told);
    tabs.postMessage(next.version);
    const rendered = performance.now();
    await painted();
    performance.measure("answer", { start, end: performance.now(), detail: { server: answered - start, script: rendered - answered } });
    return true;
  } catch (error) {
    trouble(error);
    return false;
  } finally {
    busy = false;
    document.body.classList.remove("busy");
  }
}

function trouble(error) {
  if (error instanceof api.Refused && error.status !== 403) {
    toast(error.message, true);
    say(error.message);
    return;
  }
  $("banner").hidden = false;
  $("banner").textContent = error instanceof api.Refused
    ? error.message
    : "The server does not answer. All labels so far are in its journal: start gssl label again and open the address that it prints.";
}

async function label(name, event) {
  if (event && event.detail) document.activeElement.blur();
  if (selection.length) {
    const open = selection.filter((node) => state.confidences[node] !== 255);
    if (!open.length) return toast("All selected nodes have labels already.", true);
    const told = `${open.length.toLocaleString("en")} nodes labelled ${name}`;
    if (await act({ do: "label", nodes: open, label: name }, told)) select([]);
    return;
  }
  if (!card) return;
  flash(name);
  await act({ do: "label", nodes: [card.index], label: name }, `${card.id} labelled ${name}`);
}

function flash(name) {
  const code = state.classes.findIndex((each) => each.name === name);
  document.querySelector(`.answer[data-code="${code}"]`)?.classList.add("chosen");
}

const undo = () => state?.undo ? act({ do: "undo" }, `Undone: ${state.undo}`) : toast("Nothing to undo.");
const skip = () => card && act({ do: "skip", nodes: [card.index] }, `${card.id} skipped`);
const next = () => card && act({ do: "next", node: card.index }, "");
const unlabel = () => card?.label != null && act({ do: "label", nodes: [card.index], label: null, stay: card.index }, `Label of ${card.id} removed`);

async function open(node) {
  closeDialogs();
  try {
    card = await api.getNode(node);
    showCard(card, state, handlers);
    map.setCurrent(card);
    map.show(node);
    say(describe());
    if (matchMedia("(max-width: 60rem)").matches) $("card").scrollIntoView({ block: "start" });
  } catch (error) {
    trouble(error);
  }
}

function select(nodes) {
  selection = nodes;
  map.setSelected(nodes);
  setLasso(false);
  $("selection").hidden = !nodes.length;
  const labelled = nodes.filter((node) => state.confidences[node] === 255).length;
  $("selection").textContent = nodes.length
    ? `${nodes.length.toLocaleString("en")} nodes selected${labelled ? `, ${labelled} of which keep their label` : ""}: a class key labels them, Esc drops the selection.`
    : "";
}

function setLasso(on) {
  map.lassoing = on;
  $("lasso").setAttribute("aria-pressed", String(on));
  $("map-hint").textContent = on ? "draw around nodes" : "";
}

let hovering;
function hover(node, event) {
  clearTimeout(hovering);
  const tip = $("map-tip");
  if (node == null) {
    tip.hidden = true;
    return;
  }
  const box = $("map-frame").getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  hovering = setTimeout(async () => {
    try {
      const found = await api.getNode(node);
      const guess = found.label ?? (found.thinks[0] ? `${found.thinks[0].name}? ${Math.round(100 * found.thinks[0].share)} %` : "");
      tip.textContent = guess ? `${found.id} · ${guess}` : found.id;
      tip.style.setProperty("left", `${Math.min(x + 12, box.width - 160)}px`);
      tip.style.setProperty("top", `${y + 14}px`);
      tip.hidden = false;
    } catch { /* only a tip */ }
  }, 120);
}

function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog[open]")) {
    dialog.close();
    // a field would keep the focus until the next frame and receive the next key
    if (dialog.contains(document.activeElement)) document.activeElement.blur();
  }
}

function newClass() {
  $("new-class-name").value = "";
  $("new-class-hint").textContent = selection.length
    ? `Labels the ${selection.length} selected nodes.` : card ? `Labels node ${card.id}.` : "";
  $("new-class").showModal();
}

function openSearch() {
  $("search-text").value = "";
  $("found").replaceChildren();
  $("search").showModal();
}

let typing;
$("search-text").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(async () => {
    const words = $("search-text").value;
    if (!words.trim()) return $("found").replaceChildren();
    try {
      const nodes = await api.search(words);
      if (words === $("search-text").value) showFound(nodes, state, handlers);
    } catch (error) {
      trouble(error);
    }
  }, 80);
});
$("search").addEventListener("keydown", (event) => {
  const buttons = [...$("found").querySelectorAll("button")];
  const at = buttons.indexOf(document.activeElement);
  // by default, Escape would only clear the search field
  if (event.key === "Escape") closeDialogs();
  else if (event.key === "Enter" && at < 0 && buttons.length) buttons[0].click();
  else if (event.key === "ArrowDown") (buttons[at + 1] ?? buttons[0])?.focus();
  else if (event.key === "ArrowUp") (at > 0 ? buttons[at - 1] : $("search-text")).focus();
  else return;
  event.preventDefault();
});
$("new-class").querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = $("new-class-name").value.trim();
  if (!name) return;
  closeDialogs();
  if (card || selection.length) label(name);
  else act({ do: "class", label: name }, `Class ${name} added`);
});
$("new-class-cancel").addEventListener("click", closeDialogs);
$("search-open").addEventListener("click", openSearch);
$("help-open").addEventListener("click", () => $("help").showModal());
$("undo").addEventListener("click", undo);
$("skip").addEventListener("click", (event) => { if (event.detail) event.currentTarget.blur(); skip(); });
$("next").addEventListener("click", (event) => { if (event.detail) event.currentTarget.blur(); next(); });
$("lasso").addEventListener("click", () => setLasso(!map.lassoing));
$("zoom-in").addEventListener("click", () => map.zoomBy(1.5));
$("zoom-out").addEventListener("click", () => map.zoomBy(1 / 1.5));
$("zoom-all").addEventListener("click", () => map.showAll());
$("import").addEventListener("click", () => $("import-file").click());
$("import-file").addEventListener("change", async () => {
  const [file] = $("import-file").files;
  $("import-file").value = "";
  $("menu").open = false;
  if (!file) return;
  try {
    const found = await api.importFile(file, state.version);
    render(found);
    toast(found.said, found.stale);
    say(found.said);
    tabs.postMessage(found.version);
  } catch (error) {
    trouble(error);
  }
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open]")) return;
  const target = event.target;
  if (target.matches("input, textarea, select")) return;
  const presses = target.matches("button, a, summary") && (event.key === " " || event.key === "Enter");
  if (presses) return;
  const keys = { " ": skip, n: next, z: undo, "/": openSearch, "?": () => $("help").showModal(), "+": newClass, Delete: unlabel, Backspace: unlabel };
  const code = KEYS.indexOf(event.key);
  if (event.key === "Escape") {
    select([]);
    $("menu").open = false;
    return;
  }
  if (keys[event.key]) {
    event.preventDefault();
    if (!event.repeat) keys[event.key]();
  } else if (code >= 0 && state && code < state.classes.length) {
    event.preventDefault();
    if (!event.repeat) label(state.classes[code].name);
  }
});

async function refresh() {
  if (busy || !state) return;
  // keep showing the same node, unless another tab has labelled it
  const node = card?.index, open = card?.label == null;
  let found = await api.getState(node);
  // the user has moved on in the meantime
  if (busy || found.version < state.version || card?.index !== node) return;
  if (open && found.card && found.card.label != null) found = await api.getState();
  else if (found.card && card) found.card.speaks_for = card.speaks_for;
  render(found);
}

tabs.onmessage = (message) => {
  if (state && message.data > state.version) refresh().catch(trouble);
};
setInterval(async () => {
  if (document.hidden || busy || !state) return;
  try {
    const now = await api.getVersion();
    $("banner").hidden = true;
    if (now.version > state.version || now.refits > state.refits) await refresh();
  } catch (error) {
    trouble(error);
  }
}, POLL);

try {
  const [places, first] = await Promise.all([api.getMap(), api.getState()]);
  map.setPlaces(places);
  render(first);
  document.body.dataset.ready = "yes";
} catch (error) {
  trouble(error);
}
