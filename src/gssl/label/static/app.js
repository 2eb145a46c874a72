// The page: one state, one node, and keys. The server responds to an action with the next state.

import * as api from "./api.js";
import { classOfKey, firstNarrowed, isKey, isLetter, showAnswers } from "./answers.js";
import { $ } from "./elements.js";
import { NodeMap } from "./map.js";
import { kindOf, say, showCard, showFound, showState, toast } from "./view.js";

const POLL = 2000;
let state = null, card = null, selection = { nodes: [], labelled: false };
const tabs = new BroadcastChannel(`gssl-label-${location.port}`);

// steps that wait for the running one; each applies to what the page shows when its turn comes
const waiting = [];
let busy = false;

async function inTurn(step) {
  if (!state) return;
  waiting.push(step);
  if (busy) return showWaiting();
  busy = true;
  document.body.classList.add("busy");
  while (waiting.length) {
    const next = waiting.shift();
    showWaiting();
    try {
      // after a failure, the page is not what the keys were typed for
      if ((await next()) === false) dropWaiting();
    } catch (error) {
      trouble(error);
      dropWaiting();
    }
  }
  busy = false;
  document.body.classList.remove("busy");
}

function showWaiting() {
  $("waiting").hidden = !waiting.length;
  $("waiting").textContent = `${waiting.length} waiting`;
}

function dropWaiting() {
  const dropped = waiting.splice(0).length;
  showWaiting();
  if (!dropped) return false;
  const told = `${dropped} waiting ${dropped === 1 ? "key was" : "keys were"} dropped.`;
  // behind the reason, if one is shown
  toast($("toast").className === "shown trouble" ? `${$("toast").textContent} ${told}` : told, true);
  say($("toast").textContent);
  return true;
}

const handlers = { open, label: labelByName, newClass };
const map = new NodeMap($("map"), { open, select, hover });

function render(next, { announce = "" } = {}) {
  state = next;
  card = next.card;
  showState(state, handlers);
  showNode();
  map.setState(state);
  map.setCurrent(card);
  if (card && map.n) map.show(card.index);
  showTarget();
  document.body.dataset.version = state.version;
  if (announce) say(`${announce}. ${state.labelled} labels. ${describe()}`);
}

function showNode() {
  showCard(card, state, handlers);
  showAnswers(state, card, handlers);
  // ready for the next number, but never opens the keyboard of a phone
  if (state.answers === "numbers" && document.activeElement === document.body && matchMedia("(pointer: fine)").matches) $("number").focus({ preventScroll: true });
}

function describe() {
  if (!card) return "All nodes are labelled or skipped.";
  return `Node ${card.id}${kindOf(state).spoken(card)}.`;
}

async function painted() {
  // resolves after the next frame is painted; a hidden tab paints none
  if (document.hidden) return;
  await new Promise((done) => {
    setTimeout(done, 250);
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = done;
      channel.port2.postMessage(0);
    });
  });
}

async function act(action, told) {
  const start = performance.now();
  const next = await api.act({ version: state.version, ...action });
  const answered = performance.now();
  render(next, { announce: next.stale ? "" : told });
  if (next.stale) {
    toast("The labels have changed in another tab: look again.", true);
    say("The labels have changed in another tab: look again.");
    return false;
  }
  if (told) toast(told);
  tabs.postMessage(next.version);
  const rendered = performance.now();
  await painted();
  performance.measure("answer", { start, end: performance.now(), detail: { server: answered - start, script: rendered - answered } });
  return true;
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

// the name is given when the turn comes; what was selected, when the key was typed
function label(name, selected = selection, refused = () => {}) {
  inTurn(async () => {
    const given = name();
    if (given == null) return;
    let done = false;
    try {
      done = await give(given, selected);
    } finally {
      if (done === false) refused();
    }
    return done;
  });
}

async function give(given, selected) {
  if (selected.nodes.length && !selected.labelled) {
    const open = selected.nodes.filter((node) => state.confidences[node] !== 255);
    if (!open.length) return toast("All selected nodes have labels already.", true);
    selected.labelled = await act({ do: "label", nodes: open, label: given }, `${open.length.toLocaleString("en")} nodes labelled ${given}`);
    if (selected.labelled && selection === selected) select([]);
    return selected.labelled;
  }
  if (!card) return;
  flash(given);
  return act({ do: "label", nodes: [card.index], label: given }, `${card.id} labelled ${given}`);
}

function labelByName(name, event) {
  if (event.detail) document.activeElement.blur();
  if ($("class-filter").value) leaveFilter();
  label(() => name);
}

// a number that is refused comes back, to be corrected
function saveNumber() {
  const field = $("number"), text = field.value.trim();
  field.value = "";
  if (!text) return selection.nodes.length ? toast("Type a number for the selected nodes.", true) : skip();
  label(() => text, selection, () => { field.value ||= text; });
}

function flash(name) {
  const code = state.classes.findIndex((each) => each.name === name);
  document.querySelector(`.answer[data-code="${code}"]`)?.classList.add("chosen");
}

const undo = () => inTurn(() => state.undo ? act({ do: "undo" }, `Undone: ${state.undo}`) : toast("Nothing to undo."));
const skip = () => inTurn(() => card && act({ do: "skip", nodes: [card.index] }, `${card.id} skipped`));
const next = () => inTurn(() => card && act({ do: "next", node: card.index }, ""));
const unlabel = () => inTurn(() => card?.label == null ? null : act({ do: "label", nodes: [card.index], label: null, stay: card.index }, `Label of ${card.id} removed`));

function open(node) {
  closeDialogs();
  inTurn(async () => {
    card = await api.getNode(node);
    showNode();
    map.setCurrent(card);
    map.show(node);
    say(describe());
    if (matchMedia("(max-width: 60rem)").matches) $("card").scrollIntoView({ block: "start" });
  });
}

function select(nodes) {
  selection = { nodes, labelled: false };
  map.setSelected(nodes);
  setLasso(false);
  $("selection").hidden = !nodes.length;
  const labelled = nodes.filter((node) => state.confidences[node] === 255).length;
  $("selection").textContent = nodes.length
    ? `${nodes.length.toLocaleString("en")} nodes selected${labelled ? `, ${labelled} of which keep their label` : ""}: ${kindOf(state).selected}, Esc drops the selection.`
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
      const guess = found.label ?? kindOf(state).tip(found);
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
  showTarget();
  $("new-class").showModal();
}

function showTarget() {
  $("new-class-hint").textContent = selection.nodes.length
    ? `Labels the ${selection.nodes.length} selected nodes.` : card ? `Labels node ${card.id}.` : "";
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
  if (card || selection.nodes.length) label(() => name);
  else inTurn(() => act({ do: "class", label: name }, `Class ${name} added`));
});
function narrow(text) {
  $("class-filter").value = text;
  if (document.activeElement !== $("class-filter")) $("class-filter").focus();
  showAnswers(state, card, handlers);
}

function leaveFilter() {
  narrow("");
  $("class-filter").blur();
}

$("class-filter").addEventListener("input", () => showAnswers(state, card, handlers));
$("class-filter").addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "Escape") leaveFilter();
  else if (event.key === "Enter") {
    const name = firstNarrowed(state);
    if (name == null) return $("class-filter").value.trim() && toast(`No class begins with ${$("class-filter").value}: + adds one.`, true);
    leaveFilter();
    label(() => name);
  } else return;
  event.preventDefault();
  event.stopPropagation();
});
$("number-form").addEventListener("submit", (event) => {
  event.preventDefault();
  saveNumber();
});
$("number").addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !state) return;
  if (event.key === "Escape") {
    if ($("number").value) $("number").value = "";
    else escape();
  } else if (!$("number").value && event.key !== "Backspace" && keys[event.key]) {
    // keys of actions are no part of a number
    if (!event.repeat) keys[event.key]();
  } else return;
  event.preventDefault();
  event.stopPropagation();
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
$("import-file").addEventListener("change", () => {
  const [file] = $("import-file").files;
  $("import-file").value = "";
  $("menu").open = false;
  if (!file) return;
  inTurn(async () => {
    const found = await api.importFile(file, state.version);
    render(found);
    toast(found.message, found.stale);
    say(found.message);
    tabs.postMessage(found.version);
    return !found.stale;
  });
});

const keys = { " ": skip, n: next, z: undo, "/": openSearch, "?": () => $("help").showModal(), Delete: unlabel, Backspace: unlabel };

function escape() {
  if (!dropWaiting()) select([]);
  $("menu").open = false;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (!state || document.querySelector("dialog[open]")) return;
  const target = event.target;
  if (target.matches("input, textarea, select")) return;
  const presses = target.matches("button, a, summary") && (event.key === " " || event.key === "Enter");
  if (presses) return;
  if (event.key === "Escape") return escape();
  if (event.key === "+" && state.answers === "classes") {
    event.preventDefault();
    if (!event.repeat) newClass();
  } else if (state.answers === "numbers" && /^[\d.+−-]$/.test(event.key)) {
    event.preventDefault();
    $("number").focus();
    $("number").value += event.key;
  } else if (keys[event.key]) {
    event.preventDefault();
    if (!event.repeat) keys[event.key]();
  } else if (isKey(event.key, state)) {
    event.preventDefault();
    // with many classes the digits are guesses, so the class is that of the node that is labelled
    if (!event.repeat) label(() => classOfKey(event.key, state, card));
  } else if (isLetter(event.key, state) || (event.key === "Enter" && !$("class-filter").hidden)) {
    event.preventDefault();
    narrow(event.key === "Enter" ? "" : event.key);
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
  if (!busy && found.version >= state.version) render(found);
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
  const [positions, first] = await Promise.all([api.getMap(), api.getState()]);
  map.setPositions(positions);
  render(first);
  document.body.dataset.ready = "yes";
} catch (error) {
  trouble(error);
}
