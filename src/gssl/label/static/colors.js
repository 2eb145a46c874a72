// A colour for each code. Of classes, the same colours from the eleventh on, made darker or lighter; of numbers, a gradient.

const BASE = ["#4269d0", "#efb118", "#e8604c", "#45b5a0", "#3ca951", "#f279ae", "#9a5ff0", "#6fa3ef", "#9c6b4e", "#8a909c"];

function parse(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// codes of the levels of numbers
const FIRST_LEVEL = 65000, N_LEVELS = 64;
const GRADIENT = ["#4169c8", "#8d6fca", "#cf5563", "#e0a03c"].map(parse);

export const levelColor = (share) => FIRST_LEVEL + Math.round(share * (N_LEVELS - 1));

export const codesOf = (state) => state.answers === "numbers"
  ? Array.from({ length: N_LEVELS }, (_, level) => FIRST_LEVEL + level) : state.classes.map((_, code) => code);

function gradient(share) {
  const at = Math.min(GRADIENT.length - 2, Math.floor(share * (GRADIENT.length - 1))), part = share * (GRADIENT.length - 1) - at;
  return GRADIENT[at].map((from, k) => Math.round(from + (GRADIENT[at + 1][k] - from) * part));
}

export function rgb(code) {
  if (code >= FIRST_LEVEL) return gradient((code - FIRST_LEVEL) / (N_LEVELS - 1));
  const color = parse(BASE[code % BASE.length]);
  const turn = Math.floor(code / BASE.length);
  const factor = turn % 2 ? 0.62 : 1;
  return color.map((part, k) => Math.round(Math.min(255, part * factor + (turn > 1 ? 20 * ((turn + k) % 3) : 0))));
}

export const css = (code) => `rgb(${rgb(code).join(" ")})`;
