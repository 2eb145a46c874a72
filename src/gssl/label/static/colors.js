// A colour for each class; from the eleventh on, the same colours made darker or lighter.

const BASE = ["#4269d0", "#efb118", "#e8604c", "#45b5a0", "#3ca951", "#f279ae", "#9a5ff0", "#6fa3ef", "#9c6b4e", "#8a909c"];

function parse(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

export function rgb(code) {
  const color = parse(BASE[code % BASE.length]);
  const turn = Math.floor(code / BASE.length);
  const factor = turn % 2 ? 0.62 : 1;
  return color.map((part, k) => Math.round(Math.min(255, part * factor + (turn > 1 ? 20 * ((turn + k) % 3) : 0))));
}

export const css = (code) => `rgb(${rgb(code).join(" ")})`;
