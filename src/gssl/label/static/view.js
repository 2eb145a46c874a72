// Rendering of a state and of a node. Names from the data are only inserted as text nodes.

import { classes } from "./classes.js";
import { css } from "./colors.js";
import { $, count, dot, el, svg } from "./elements.js";
import { numbers } from "./numbers.js";

// what differs between kinds of labels
export const kindOf = (state) => ({ classes, numbers })[state.answers];

export function showState(state, handlers) {
  const kind = kindOf(state);
  document.body.dataset.answers = state.answers;
  $("labelled").textContent = count(state.labelled);
  $("nodes").textContent = count(state.nodes);
  $("undo").disabled = !state.undo;
  $("undo").title = state.undo ? `Undo: ${state.undo}` : "Nothing to undo";
  showProgress(state);
  showModel(state);
  kind.showSummary(state);
  showAccuracy(state);
  $("wrong").textContent = state.wrong;
  $("doubts").replaceChildren(
    ...(state.doubts.length
      ? state.doubts.map((doubt) =>
          el("li", {},
            el("button", { type: "button", onclick: () => handlers.open(doubt.index) },
              el("span", { class: "name" }, doubt.id), ...kind.doubt(doubt, state))))
      : [el("li", { class: "quiet" }, state.accuracy ? kind.agreed : "Labels that the model contradicts will be listed here.")]),
  );
}

function showProgress(state) {
  const parts = kindOf(state).progress(state).filter((each) => each.labels);
  $("progress-bar").replaceChildren(
    ...parts.map((each) => el("span", { title: each.title, style: { "flex-grow": `${each.labels}`, "--color": css(each.code) } })),
  );
  $("progress-bar").setAttribute("aria-label", parts.map((each) => each.said).join(", ") || "No labels yet");
}

function showModel(state) {
  const told = {
    none: ["no model yet", kindOf(state).needed],
    fast: ["fast model", `A ridge on filtered directions, solved again after every label.${state.answers === "classes" ? " AutoClassifier takes over when you pause." : ""}`],
    both: ["AutoClassifier + fast", "AutoClassifier from an earlier moment, moved by what the fast model has learned since."],
    careful: ["AutoClassifier", "Fitted to all labels that are there now."],
  }[state.speaks];
  $("model").textContent = told[0];
  $("model").title = told[1];
  $("model").dataset.speaks = state.speaks;
}

function showAccuracy(state) {
  const kind = kindOf(state);
  $("accuracy-title").textContent = kind.title;
  $("accuracy").replaceChildren(state.accuracy ? kind.score(state.accuracy) : "–");
  $("accuracy-note").textContent = kind.note(state);
  $("outlook").textContent = state.outlook ?? "";
  drawCurve(state.curve, kind);
}

function drawCurve(points, kind) {
  if (points.length < 2) return $("curve").replaceChildren();
  const [W, H, L, B] = [300, 120, 38, 18];
  const last = points[points.length - 1][0], first = points[0][0];
  const low = Math.max(0, Math.floor(10 * Math.min(...points.map(([, s, e]) => s - e))) / 10);
  const x = (m) => L + ((m - first) / Math.max(1, last - first)) * (W - L - 6);
  const y = (share) => 4 + (1 - (Math.max(low, Math.min(1, share)) - low) / (1 - low || 1)) * (H - B - 8);
  const line = points.map(([m, s]) => `${x(m).toFixed(1)},${y(s).toFixed(1)}`);
  const upper = points.map(([m, s, e]) => `${x(m).toFixed(1)},${y(s + e).toFixed(1)}`);
  const lower = points.map(([m, s, e]) => `${x(m).toFixed(1)},${y(Math.max(low, s - e)).toFixed(1)}`).reverse();
  const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${kind.title}: from ${kind.share(points[0][1])} with ${first} labels to ${kind.share(points[points.length - 1][1])} with ${last}` },
    ...[low, (1 + low) / 2, 1].flatMap((share) => [
      svg("line", { x1: L, x2: W - 6, y1: y(share), y2: y(share), class: "grid" }),
      svg("text", { x: L - 5, y: y(share) + 3.5, "text-anchor": "end" }, kind.share(share))]),
    svg("polygon", { points: [...upper, ...lower].join(" "), class: "band" }),
    svg("polyline", { points: line.join(" "), class: "line" }),
    svg("text", { x: L, y: H - 3 }, `${first}`), svg("text", { x: W - 6, y: H - 3, "text-anchor": "end" }, `${count(last)} labels`));
  $("curve").replaceChildren(picture);
}

export function showCard(card, state, handlers) {
  const kind = kindOf(state);
  $("card").classList.toggle("empty", !card);
  $("skip").disabled = $("next").disabled = !card;
  if (!card) {
    $("node-id").textContent = "All nodes are labelled or skipped";
    $("node-why").textContent = "Done";
    for (const id of ["node-text", "node-label"]) $(id).hidden = true;
    for (const id of ["node-features", "thinks", "why", "neighbours"]) $(id).replaceChildren();
    return;
  }
  $("node-id").textContent = card.id;
  $("node-why").textContent = card.speaks_for == null ? "Opened by you" : card.speaks_for ? `Suggested: speaks for about ${count(card.speaks_for)} nodes` : "Suggested";
  $("node-label").hidden = card.label == null && !card.skipped;
  $("node-label").replaceChildren(
    ...(card.label != null ? ["Labelled ", dot(card.code), el("b", {}, `${card.label}`), `. ${kind.change}`, el("kbd", {}, "Delete"), " removes it."] : ["Skipped earlier."]));
  $("node-text").hidden = !card.text;
  $("node-text").textContent = card.text;
  $("node-text").scrollTop = 0;
  // hide values if they are all the same
  const alike = card.features.every((feature) => feature.value === card.features[0].value);
  $("node-features").replaceChildren(
    ...card.features.map((feature) =>
      el("span", { class: "feature", title: feature.value == null ? feature.name : `${feature.name}: ${feature.value}`, style: { "--strength": feature.strength.toFixed(2) } }, feature.name,
        alike || card.text || feature.value == null ? null : el("small", {}, Number(feature.value.toPrecision(5)).toString()))));
  $("thinks-title").textContent = card.label == null ? "What the model thinks" : "What the model thinks without this label";
  const thinks = kind.thinks(card, state);
  $("thinks").replaceChildren(...(thinks.length ? thinks : [el("p", { class: "quiet" }, kind.nothing)]));
  $("why-title").textContent = card.picture ? "Labels that speak for and against it" : "Why";
  $("why").replaceChildren(card.picture ? picture(card.picture, handlers) : el("p", { class: "quiet" }, thinks.length ? "No label speaks clearly." : ""));
  $("neighbours-title").textContent = card.degree === 1 ? "1 neighbour" : `${count(card.degree)} neighbours`;
  $("neighbours").replaceChildren(
    ...card.neighbours.map((other) =>
      mention(other, handlers, other.label != null ? kind.shown(other.label) : kind.guess(other))),
    ...(card.degree > card.neighbours.length ? [el("li", { class: "quiet" }, `and ${count(card.degree - card.neighbours.length)} more`)] : []));
}

// innerHTML is safe here: the server has escaped all names in the picture
function picture(source, handlers) {
  const template = document.createElement("template");
  template.innerHTML = source;
  for (const mark of template.content.querySelectorAll("[data-code]")) mark.style.setProperty("--color", css(Number(mark.dataset.code)));
  for (const mark of template.content.querySelectorAll("[data-node]")) {
    mark.setAttribute("tabindex", "0");
    mark.setAttribute("role", "button");
    mark.addEventListener("click", () => handlers.open(Number(mark.dataset.node)));
    mark.addEventListener("keydown", (event) => { if (event.key === "Enter") handlers.open(Number(mark.dataset.node)); });
  }
  return template.content;
}

function mention(node, handlers, right) {
  const mark = dot(node.code);
  if (node.label == null) mark.classList.add("hollow");
  return el("li", {},
    el("button", { type: "button", title: node.text || node.id, onclick: () => handlers.open(node.index) },
      mark, el("span", { class: "name" }, node.id), node.text ? el("span", { class: "snippet" }, node.text) : null,
      el("span", { class: "right" }, right)));
}

export function showFound(nodes, state, handlers) {
  $("found").replaceChildren(
    ...nodes.map((node) => mention(node, handlers, node.label == null ? "" : kindOf(state).shown(node.label))),
    ...(nodes.length ? [] : [el("li", { class: "quiet" }, "No node has this in its id or text.")]));
}

let fading;
export function toast(text, trouble = false) {
  $("toast").textContent = text;
  $("toast").className = trouble ? "shown trouble" : "shown";
  clearTimeout(fading);
  fading = setTimeout(() => $("toast").classList.remove("shown"), trouble ? 5000 : 2200);
}

export function say(text) {
  $("live").textContent = text;
}
