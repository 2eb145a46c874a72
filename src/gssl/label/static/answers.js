// The classes as answers to the shown node: their order, their keys, and a field that narrows them by first letters.

import { css } from "./colors.js";
import { $, el, percent } from "./elements.js";

// keys of classes: 1–9, then letters that no other action uses
const KEYS = [..."123456789abcdefghijklmopqrstuvwxy"];
const DIGITS = KEYS.slice(0, 9);
// guesses of the model that come first; recently used classes have the other digits
const GUESSES = 5;

// as long as every class has a key, each keeps its own; beyond that, letters narrow the list
const hasKeys = (state) => state.classes.length <= KEYS.length;
export const isKey = (key, state) => state.answers === "classes" && (hasKeys(state) ? KEYS : DIGITS).includes(key);
export const isLetter = (key, state) => !hasKeys(state) && /^\p{L}$/u.test(key);

// codes of all classes in the order in which they are shown for a node
function inOrder(state, card) {
  const all = state.classes.map((_, code) => code);
  if (hasKeys(state)) return all;
  const codes = new Map(state.classes.map((each, code) => [each.name, code]));
  const first = [...(card?.thinks ?? []).slice(0, GUESSES).map((each) => each.name), ...state.recent];
  return [...new Set([...first.map((name) => codes.get(name)), ...all])];
}

export const classOfKey = (key, state, card) => state.classes[inOrder(state, card)[KEYS.indexOf(key)]]?.name;

// codes of the classes that begin with a text, or a word of which does; their order does not depend on the node
function narrowed(state, text) {
  const wanted = fold(text);
  const rank = ({ name }) => name === text.trim() ? 0 : fold(name) === wanted ? 1 : fold(name).startsWith(wanted) ? 2
    : fold(name).split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(wanted)) ? 3 : 4;
  const ranks = state.classes.map(rank);
  return ranks.map((_, code) => code).filter((code) => ranks[code] < 4).sort((a, b) => ranks[a] - ranks[b] || a - b);
}

const fold = (text) => text.normalize("NFC").trim().toLowerCase();

export function firstNarrowed(state) {
  const text = $("class-filter").value;
  return text.trim() ? state.classes[narrowed(state, text)[0]]?.name : null;
}

export function showAnswers(state, card, handlers) {
  if (state.answers !== "classes") return;
  const field = $("class-filter");
  field.hidden = hasKeys(state);
  const text = field.hidden ? "" : field.value;
  const codes = text.trim() ? narrowed(state, text) : inOrder(state, card);
  const keys = text.trim() ? ["Enter"] : hasKeys(state) ? KEYS : DIGITS;
  const shares = new Map(hasKeys(state) || !card ? [] : card.thinks.slice(0, GUESSES).map((each) => [each.name, each.share]));
  const buttons = codes.map((code, at) => {
    const { name } = state.classes[code];
    return el("button", { type: "button", class: "answer", "data-code": code, style: { "--color": css(code) }, "aria-keyshortcuts": keys[at], onclick: (event) => handlers.label(name, event) },
      keys[at] ? el("kbd", {}, keys[at]) : null, el("span", { class: "answer-name" }, name),
      shares.has(name) ? el("small", {}, percent(shares.get(name))) : null);
  });
  buttons.push(el("button", { type: "button", class: "answer new", onclick: () => handlers.newClass() }, el("kbd", {}, "+"), state.classes.length ? "other" : "Type the first class"));
  $("answers").replaceChildren(...buttons);
  $("answers").classList.toggle("many", !field.hidden);
}
