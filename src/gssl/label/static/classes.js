// How the page shows classes: the probabilities of each, the accuracy, and labels and predictions by class.

import { css } from "./colors.js";
import { $, count, dot, el, percent, short } from "./elements.js";

const codeOf = (name, state) => state.classes.findIndex((each) => each.name === name);
const points = (share) => (100 * share).toFixed(1);

export const classes = {
  change: "A class key changes it, ",
  selected: "a class key labels them",
  needed: "Two classes with labels are needed.",
  nothing: "Nothing yet: label nodes of two classes.",
  agreed: "None: the model, not having seen each label, agrees with all of them.",
  title: "Accuracy, estimated",
  share: percent,
  shown: (label) => short(label, 20),
  guess: (node) => (node.guess ? `${short(node.guess, 16)}? ${percent(node.confidence)}` : ""),
  tip: (card) => (card.thinks[0] ? `${card.thinks[0].name}? ${percent(card.thinks[0].share)}` : ""),
  spoken: (card) => (card.thinks[0] ? `, probably ${card.thinks[0].name}, ${Math.round(100 * card.thinks[0].share)} percent` : ""),

  progress: (state) => state.classes.map((each, code) => ({ title: `${each.name}: ${each.labels}`, said: `${each.name}: ${each.labels} labels`, labels: each.labels, code })),

  thinks: (card, state) => card.thinks.slice(0, 6).map((each) => el("div", { class: "think" },
    el("span", { class: "think-name", title: each.name }, short(each.name, 20)),
    el("span", { class: "bar", style: { "--share": each.share.toFixed(4), "--color": css(codeOf(each.name, state)) } }),
    el("span", { class: "number" }, percent(each.share)))),

  doubt: (doubt, state) => [
    el("span", { class: "verdict", title: `${doubt.label} → ${doubt.says}` }, dot(codeOf(doubt.label, state)), short(doubt.label, 18), el("span", { class: "arrow", "aria-label": "but the model says" }, " → "),
      dot(codeOf(doubt.says, state)), `${short(doubt.says, 18)} ${percent(doubt.share)}`),
    el("span", { class: "number", title: "How probable it is that the label is wrong" }, `wrong: ${percent(doubt.wrong)}`)],

  score: ({ share, error }) => el("span", {}, `${points(share)} %`, el("small", {}, ` ± ${points(error)}`)),

  note(state) {
    const { accuracy, refit } = state;
    const careful = refit && refit.share != null ? ` ${refit.name}: ${points(refit.share)} ± ${points(refit.error)} % (${count(refit.labels)} labels).` : "";
    return state.guessing
      ? "So far the model is no better than always answering the largest class, so nodes are suggested at random."
      : accuracy && state.weak
      ? "The model is only a little better than always answering the largest class. On such graphs, suggested nodes have not been better than random ones."
      : accuracy
      ? `Estimated for unlabelled nodes from your labels, each hidden while its node was predicted.${careful}`
      : "Needs eight labels, and two of one class.";
  },

  showSummary(state) {
    const most = Math.max(1, ...state.classes.map((each) => each.predicted));
    $("classes").tBodies[0].replaceChildren(
      ...state.classes.map((each, code) =>
        el("tr", {},
          el("th", { scope: "row", title: each.name }, dot(code), el("span", {}, short(each.name, 20))),
          el("td", {}, count(each.labels), each.labels < state.few ? el("span", { class: "few" }, ` ${state.few - each.labels} more`) : null),
          el("td", {}, el("span", { class: "bar", style: { "--share": `${each.predicted / most}`, "--color": css(code) } }), el("span", { class: "number" }, count(each.predicted)))))
    );
    $("classes").hidden = !state.classes.length;
    $("class-names").replaceChildren(...state.classes.map((each) => el("option", { value: each.name })));
  },
};
