// Rendering of a state and of a node. Names from the data are only inserted as text nodes.

import { css } from "./colors.js";

export const $ = (id) => document.getElementById(id);
export const percent = (share) => `${Math.round(100 * share)} %`;
const count = (number) => number.toLocaleString("en");
// shorten names in the middle: they often differ only at the end
export const short = (name, length = 26) => name.length <= length ? name
  : `${name.slice(0, Math.floor(length / 3))}…${name.slice(name.length - (length - Math.floor(length / 3) - 1))}`;
const SVG = "http://www.w3.org/2000/svg";

export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const dot = (code) => el("span", { class: "dot", style: { "--color": code == null || code < 0 ? "transparent" : css(code) } });

export function showState(state, handlers) {
  const codes = new Map(state.classes.map((each, code) => [each.name, code]));
  $("labelled").textContent = count(state.labelled);
  $("nodes").textContent = count(state.nodes);
  $("undo").disabled = !state.undo;
  $("undo").title = state.undo ? `Undo: ${state.undo}` : "Nothing to undo";
  showProgress(state);
  showModel(state);
  showClasses(state);
  showAccuracy(state);
  $("class-names").replaceChildren(...state.classes.map((each) => el("option", { value: each.name })));
  $("wrong").textContent = state.wrong;
  $("doubts").replaceChildren(
    ...(state.doubts.length
      ? state.doubts.map((doubt) =>
          el("li", {},
            el("button", { type: "button", onclick: () => handlers.open(doubt.index) },
              el("span", { class: "name" }, doubt.id),
              el("span", { class: "verdict", title: `${doubt.label} → ${doubt.says}` }, dot(codes.get(doubt.label)), short(doubt.label, 18), el("span", { class: "arrow", "aria-label": "but the model says" }, " → "),
                dot(codes.get(doubt.says)), `${short(doubt.says, 18)} ${percent(doubt.share)}`), el("span", { class: "number", title: "How probable it is that the label is wrong" }, `wrong: ${percent(doubt.wrong)}`))))
      : [el("li", { class: "quiet" }, state.accuracy ? "None: the model, not having seen each label, agrees with all of them." : "Labels that the model contradicts will be listed here.")]),
  );
}

function showProgress(state) {
  const labelled = state.classes.map((each, code) => [each, code]).filter(([each]) => each.labels);
  $("progress-bar").replaceChildren(
    ...labelled.map(([each, code]) => el("span", { title: `${each.name}: ${each.labels}`, style: { "flex-grow": `${each.labels}`, "--color": css(code) } })),
  );
  $("progress-bar").setAttribute("aria-label", labelled.map(([each]) => `${each.name}: ${each.labels} labels`).join(", ") || "No labels yet");
}

function showModel(state) {
  const told = {
    none: ["no model yet", "Two classes with labels are needed."],
    fast: ["fast model", "A ridge on filtered directions, solved again after every label. AutoClassifier takes over when you pause."],
    both: ["AutoClassifier + fast", "AutoClassifier from an earlier moment, moved by what the fast model has learned since."],
    careful: ["AutoClassifier", "Fitted to all labels that are there now."],
  }[state.speaks];
  $("model").textContent = told[0];
  $("model").title = told[1];
  $("model").dataset.speaks = state.speaks;
}

function showClasses(state) {
  const most = Math.max(1, ...state.classes.map((each) => each.predicted));
  $("classes").tBodies[0].replaceChildren(
    ...state.classes.map((each, code) =>
      el("tr", {},
        el("th", { scope: "row", title: each.name }, dot(code), el("span", {}, short(each.name, 20))),
        el("td", {}, count(each.labels), each.labels < state.few ? el("span", { class: "few" }, ` ${state.few - each.labels} more`) : null),
        el("td", {}, el("span", { class: "bar", style: { "--share": `${each.predicted / most}`, "--color": css(code) } }), el("span", { class: "number" }, count(each.predicted)))))
  );
  $("classes").hidden = !state.classes.length;
}

function showAccuracy(state) {
  const { accuracy, refit } = state;
  $("accuracy").replaceChildren(accuracy ? el("span", {}, `${(100 * accuracy.share).toFixed(1)} %`, el("small", {}, ` ± ${(100 * accuracy.error).toFixed(1)}`)) : "–");
  const careful = refit && refit.share != null
    ? ` ${refit.name}: ${(100 * refit.share).toFixed(1)} ± ${(100 * refit.error).toFixed(1)} % (${count(refit.labels)} labels).` : "";
  $("accuracy-note").textContent = state.guessing
    ? "So far the model is no better than always answering the largest class, so nodes are suggested at random."
    : accuracy && state.weak
    ? "The model is only a little better than always answering the largest class. On such graphs, suggested nodes have not been better than random ones."
    : accuracy
    ? `Estimated for unlabelled nodes from your labels, each hidden while its node was predicted.${careful}`
    : "Needs eight labels, and two of one class.";
  $("outlook").textContent = state.outlook;
  drawCurve(state.curve);
}

function drawCurve(points) {
  if (points.length < 2) return $("curve").replaceChildren();
  const [W, H, L, B] = [300, 120, 38, 18];
  const last = points[points.length - 1][0], first = points[0][0];
  const low = Math.max(0, Math.floor(10 * Math.min(...points.map(([, s, e]) => s - e))) / 10);
  const x = (m) => L + ((m - first) / Math.max(1, last - first)) * (W - L - 6);
  const y = (share) => 4 + (1 - (Math.min(1, share) - low) / (1 - low || 1)) * (H - B - 8);
  const line = points.map(([m, s]) => `${x(m).toFixed(1)},${y(s).toFixed(1)}`);
  const upper = points.map(([m, s, e]) => `${x(m).toFixed(1)},${y(s + e).toFixed(1)}`);
  const lower = points.map(([m, s, e]) => `${x(m).toFixed(1)},${y(Math.max(low, s - e)).toFixed(1)}`).reverse();
  const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Accuracy from ${percent(points[0][1])} with ${first} labels to ${percent(points[points.length - 1][1])} with ${last}` },
    ...[low, (1 + low) / 2, 1].flatMap((share) => [
      svg("line", { x1: L, x2: W - 6, y1: y(share), y2: y(share), class: "grid" }),
      svg("text", { x: L - 5, y: y(share) + 3.5, "text-anchor": "end" }, percent(share))]),
    svg("polygon", { points: [...upper, ...lower].join(" "), class: "band" }),
    svg("polyline", { points: line.join(" "), class: "line" }),
    svg("text", { x: L, y: H - 3 }, `${first}`), svg("text", { x: W - 6, y: H - 3, "text-anchor": "end" }, `${count(last)} labels`));
  $("curve").replaceChildren(picture);
}

export function showCard(card, state, handlers) {
  const codes = new Map(state.classes.map((each, code) => [each.name, code]));
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
    ...(card.label != null ? ["Labelled ", dot(codes.get(card.label)), el("b", {}, card.label), ". A class key changes it, ", el("kbd", {}, "Delete"), " removes it."] : ["Skipped earlier."]));
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
  $("thinks").replaceChildren(
    ...(card.thinks.length
      ? card.thinks.slice(0, 6).map((each) => el("div", { class: "think" },
          el("span", { class: "think-name", title: each.name }, short(each.name, 20)),
          el("span", { class: "bar", style: { "--share": each.share.toFixed(4), "--color": css(codes.get(each.name)) } }),
          el("span", { class: "number" }, percent(each.share))))
      : [el("p", { class: "quiet" }, "Nothing yet: label nodes of two classes.")]));
  $("why-title").textContent = card.picture ? "Labels that speak for and against it" : "Why";
  $("why").replaceChildren(card.picture ? picture(card.picture, handlers) : el("p", { class: "quiet" }, card.thinks.length ? "No label speaks clearly." : ""));
  $("neighbours-title").textContent = card.degree === 1 ? "1 neighbour" : `${count(card.degree)} neighbours`;
  $("neighbours").replaceChildren(
    ...card.neighbours.map((other) =>
      mention(other, codes.get(other.label ?? other.guess), handlers, other.label != null ? short(other.label, 20) : other.guess ? `${short(other.guess, 16)}? ${percent(other.confidence)}` : "", other.label == null)),
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

function mention(node, code, handlers, right, unsure = false) {
  const mark = dot(code);
  if (unsure) mark.classList.add("hollow");
  return el("li", {},
    el("button", { type: "button", title: node.text || node.id, onclick: () => handlers.open(node.index) },
      mark, el("span", { class: "name" }, node.id), node.text ? el("span", { class: "snippet" }, node.text) : null,
      el("span", { class: "right" }, right)));
}

export function showFound(nodes, state, handlers) {
  const codes = new Map(state.classes.map((each, code) => [each.name, code]));
  $("found").replaceChildren(
    ...nodes.map((node) => mention(node, codes.get(node.label ?? node.guess), handlers, short(node.label ?? ""), node.label == null)),
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
