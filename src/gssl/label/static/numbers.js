// How the page shows numbers: predictions with intervals, R², and histograms.

import { css, levelColor } from "./colors.js";
import { $, count, dot, el, svg } from "./elements.js";

// four digits; very large and very small numbers with a power of ten
export function number(value) {
  const size = Math.abs(value);
  if (size && (size >= 1e9 || size < 1e-4)) return Number(value.toPrecision(4)).toExponential();
  return value.toLocaleString("en", size >= 1e4 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 });
}

const limits = ({ low, high }) => `${number(low)} to ${number(high)}`;

export const numbers = {
  change: "Another number changes it, ",
  selected: "a number and Enter label them",
  needed: "Two different numbers are needed.",
  nothing: "Nothing yet: give two different numbers.",
  agreed: "None: no number is far from what the model, not having seen it, says.",
  title: "R² on hidden numbers",
  share: (share) => share.toFixed(2),
  shown: number,
  guess: (node) => (node.guess == null ? "" : `${number(node.guess)}?`),
  tip: ({ thinks }) => (thinks ? `${number(thinks.value)}?${thinks.low == null ? "" : ` ${limits(thinks)}`}` : ""),
  spoken: ({ thinks }) => (thinks ? `, probably ${number(thinks.value)}${thinks.low == null ? "" : `, ${limits(thinks)}`}` : ""),

  progress: (state) => state.labels.map((labels, at) => {
    const title = `${limits(bar(state, at))}: ${labels}`;
    return { title, said: `${title} numbers`, labels, code: levelColor((at + 0.5) / state.labels.length) };
  }),

  thinks({ thinks, label, code }, state) {
    if (!thinks) return [];
    const told = thinks.low == null ? "An interval needs nine numbers." : `${limits(thinks)} (90 % interval)`;
    return [el("p", { class: "number-think" }, dot(label == null ? code : null), el("b", {}, number(thinks.value)), el("span", { class: "quiet" }, told)), drawInterval(thinks, label, state)];
  },

  doubt: (doubt) => [
    el("span", { class: "verdict" }, number(doubt.label), el("span", { class: "arrow", "aria-label": "but the model says" }, " → "), number(doubt.says)),
    el("span", { class: "number", title: "How far the number is from what the model says without it" }, `${doubt.deviations.toFixed(1)} deviations`)],

  score: ({ share, error }) => el("span", {}, share.toFixed(2), el("small", {}, ` ± ${error.toFixed(2)}`)),

  note(state) {
    const { accuracy } = state;
    const typical = accuracy ? `Typical error ${number(accuracy.typical)}; always answering the mean would be off by ${number(accuracy.of_mean)}.` : "";
    return state.guessing
      ? `So far the model is no better than always answering the mean, so nodes are suggested at random. ${typical}`
      : accuracy
      ? `${typical} Each of your numbers was hidden while its node was predicted.`
      : "Needs eight numbers.";
  },

  showSummary(state) {
    $("spread").replaceChildren(
      ...(state.labels.some(Boolean) ? [["yours", state.labels], ["predicted", state.predicted]].filter(([, bars]) => bars.length).map(([name, bars]) => drawBars(name, bars, state)) : [el("p", { class: "quiet" }, "Your numbers, and the predicted ones, will be shown here.")]));
  },
};

// the numbers that a bar of the histogram holds
function bar(state, at) {
  const step = (state.high - state.low) / state.labels.length;
  return { low: state.low + at * step, high: state.low + (at + 1) * step };
}

function drawBars(name, bars, state) {
  const [W, H, B] = [300, 64, 16], most = Math.max(1, ...bars), step = W / bars.length;
  return el("div", {}, el("p", { class: "quiet" }, `${name}: ${count(bars.reduce((a, b) => a + b, 0))}`),
    svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Histogram of numbers, ${name}, from ${limits(state)}` },
      ...bars.map((labels, at) => {
        const height = labels ? Math.max(2, (labels / most) * (H - B - 2)) : 0;
        return svg("rect", { x: at * step + 1, y: H - B - height, width: step - 2, height, rx: 1.5, fill: css(levelColor((at + 0.5) / bars.length)) },
          svg("title", {}, `${limits(bar(state, at))}: ${count(labels)}`));
      }),
      svg("text", { x: 1, y: H - 3 }, `≤ ${number(state.low)}`), svg("text", { x: W - 1, y: H - 3, "text-anchor": "end" }, `≥ ${number(state.high)}`)));
}

// the interval of a prediction within the range of most numbers, and the label, if there is one
function drawInterval({ value, low = value, high = value }, label, state) {
  const [W, H, edge] = [300, 34, 6];
  const all = [state.low, state.high, low, high, value, label ?? value];
  const [from, to] = [Math.min(...all), Math.max(...all)];
  const x = (number) => edge + ((number - from) / (to - from || 1)) * (W - 2 * edge);
  return svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "interval", "aria-hidden": "true" },
    svg("line", { x1: edge, x2: W - edge, y1: 10, y2: 10, class: "grid" }),
    svg("line", { x1: x(low), x2: x(high), y1: 10, y2: 10, class: "range" }),
    svg("circle", { cx: x(value), cy: 10, r: 5, class: "value" }),
    ...(label == null ? [] : [svg("line", { x1: x(label), x2: x(label), y1: 2, y2: 18, class: "given" })]),
    svg("text", { x: edge, y: H - 3 }, number(from)), svg("text", { x: W - edge, y: H - 3, "text-anchor": "end" }, number(to)));
}
