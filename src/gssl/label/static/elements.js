// Elements of the page and the words in them. Names from the data are only inserted as text nodes.

import { css } from "./colors.js";

export const $ = (id) => document.getElementById(id);
export const percent = (share) => `${Math.round(100 * share)} %`;
export const count = (number) => number.toLocaleString("en");
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

export function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const NO_GUESS = 65535;

export const dot = (code) => el("span", { class: "dot", style: { "--color": code == null || code === NO_GUESS ? "transparent" : css(code) } });
