// The map: all nodes as round points in one image; pan, zoom and lasso by pointer and by keys.

import { codesOf, css, rgb } from "./colors.js";
import { short } from "./elements.js";

const NO_GUESS = 65535, LABELLED = 255, LEVELS = 8, MOST_RINGS = 4000;

export class NodeMap {
  constructor(canvas, { open, select, hover }) {
    Object.assign(this, { canvas, open, select, hover });
    this.context = canvas.getContext("2d");
    this.view = { x: 0, y: 0, zoom: 1 };
    this.xy = new Float32Array(0);
    this.selected = new Set();
    this.current = null;
    this.lines = [];
    this.lassoing = false;
    this.path = null;
    this.pointers = new Map();
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.listen();
  }

  setPositions(xy) {
    this.xy = xy;
    this.n = xy.length / 2;
    this.draw();
  }

  setState(state) {
    this.state = state;
    this.draw();
  }

  setCurrent(card) {
    this.current = card ? card.index : null;
    this.lines = card ? card.neighbours.map((other) => other.index) : [];
    this.draw();
  }

  setSelected(nodes) {
    this.selected = new Set(nodes);
    this.draw();
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    this.ratio = Math.min(2, window.devicePixelRatio || 1);
    this.width = Math.max(1, Math.round(box.width * this.ratio));
    this.height = Math.max(1, Math.round(box.height * this.ratio));
    this.canvas.width = this.width;
    this.canvas.height = this.height;
    this.image = null;
    this.draw();
  }

  get scale() {
    return 0.46 * Math.min(this.width, this.height) * this.view.zoom;
  }

  place(node) {
    return [
      this.width / 2 + (this.xy[2 * node] - this.view.x) * this.scale,
      this.height / 2 - (this.xy[2 * node + 1] - this.view.y) * this.scale,
    ];
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  radius() {
    const usual = this.n > 60000 ? 1.1 : this.n > 10000 ? 1.7 : this.n > 2000 ? 2.6 : 4;
    return Math.min(8, usual * Math.pow(this.view.zoom, 0.35)) * this.ratio;
  }

  colors() {
    // several shades per class or level, from the background to the full colour, as 32-bit pixels
    const style = getComputedStyle(this.canvas);
    const back = style.getPropertyValue("--map").trim().match(/\d+/g).map(Number);
    const pixel = (color) => (255 << 24) | (color[2] << 16) | (color[1] << 8) | color[0];
    const shades = [];
    const codes = codesOf(this.state);
    for (const code of codes) {
      const full = rgb(code);
      for (let level = 0; level < LEVELS; level++) {
        const part = 0.25 + 0.65 * (level / (LEVELS - 1));
        shades.push(pixel(full.map((c, k) => Math.round(back[k] + (c - back[k]) * part))));
      }
    }
    const grey = style.getPropertyValue("--map-none").trim().match(/\d+/g).map(Number);
    return { shades: Uint32Array.from(shades.map((s) => s >>> 0)), none: pixel(grey) >>> 0, back: pixel(back) >>> 0, first: codes[0] };
  }

  paint() {
    if (!this.width || !this.state || !this.n) return;
    const { width, height, context, xy, n } = this;
    const { guesses, confidences } = this.state;
    const { shades, none, back, first } = this.colors();
    if (!this.image) this.image = context.createImageData(width, height);
    const pixels = new Uint32Array(this.image.data.buffer);
    pixels.fill(back);
    const r = this.radius(), reach = Math.ceil(r);
    const stamp = [];
    for (let dy = -reach; dy <= reach; dy++)
      for (let dx = -reach; dx <= reach; dx++) if (dx * dx + dy * dy <= r * r) stamp.push(dy * width + dx);
    const offsets = Int32Array.from(stamp);
    const scale = this.scale, left = width / 2 - this.view.x * scale, top = height / 2 + this.view.y * scale;
    for (let node = 0; node < n; node++) {
      const x = (left + xy[2 * node] * scale) | 0, y = (top - xy[2 * node + 1] * scale) | 0;
      if (x <= reach || y <= reach || x >= width - reach - 1 || y >= height - reach - 1) continue;
      const code = guesses[node];
      const level = Math.min(LEVELS - 1, (confidences[node] * LEVELS) >> 8);
      const color = code === NO_GUESS ? none : shades[(code - first) * LEVELS + level];
      const at = y * width + x;
      for (let k = 0; k < offsets.length; k++) pixels[at + offsets[k]] = color;
    }
    context.putImageData(this.image, 0, 0);
    this.paintMarks(r);
  }

  paintMarks(r) {
    const { context, ratio, state } = this;
    const ink = getComputedStyle(this.canvas).color;
    const style = getComputedStyle(this.canvas);
    const paper = `rgb(${style.getPropertyValue("--map").trim()})`;
    context.save();
    // draw a ring around labelled nodes
    context.lineWidth = 1.5 * ratio;
    const size = Math.max(r, 2.6 * ratio);
    for (let node = 0; node < this.n && state.labelled <= MOST_RINGS; node++) {
      if (state.confidences[node] !== LABELLED) continue;
      const [x, y] = this.place(node);
      context.fillStyle = css(state.guesses[node]);
      context.strokeStyle = paper;
      context.beginPath();
      context.arc(x, y, size + ratio, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
    if (this.selected.size) {
      context.strokeStyle = ink;
      context.lineWidth = ratio;
      context.beginPath();
      for (const node of this.selected) {
        const [x, y] = this.place(node);
        context.rect(x - r - ratio, y - r - ratio, 2 * (r + ratio), 2 * (r + ratio));
      }
      context.stroke();
    }
    if (this.current != null) {
      const [x, y] = this.place(this.current);
      context.strokeStyle = ink;
      context.globalAlpha = 0.35;
      context.lineWidth = ratio;
      context.beginPath();
      for (const other of this.lines) {
        context.moveTo(x, y);
        context.lineTo(...this.place(other));
      }
      context.stroke();
      context.globalAlpha = 1;
      context.lineWidth = 2 * ratio;
      context.beginPath();
      context.arc(x, y, r + 5 * ratio, 0, 2 * Math.PI);
      context.stroke();
    }
    this.paintNames(ink, paper);
    if (this.path) {
      context.strokeStyle = ink;
      context.setLineDash([5 * ratio, 4 * ratio]);
      context.lineWidth = 1.5 * ratio;
      context.beginPath();
      for (const [x, y] of this.path) context.lineTo(x, y);
      context.stroke();
    }
    context.restore();
  }

  paintNames(ink, paper) {
    // write the name of each class at the centroid of a sample of its confident nodes
    const { context, ratio, state } = this;
    const sums = state.classes.map(() => [0, 0, 0]);
    const step = Math.max(1, Math.floor(this.n / 6000));
    for (let node = 0; node < this.n; node += step) {
      const sum = sums[state.guesses[node]];
      if (!sum || state.confidences[node] < 128) continue;
      sum[0] += this.xy[2 * node];
      sum[1] += this.xy[2 * node + 1];
      sum[2] += 1;
    }
    context.font = `600 ${12.5 * ratio}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 4 * ratio;
    sums.forEach(([x, y, count], code) => {
      if (!count) return;
      const at = [this.width / 2 + (x / count - this.view.x) * this.scale, this.height / 2 - (y / count - this.view.y) * this.scale];
      const shown = short(state.classes[code].name, 22);
      context.strokeStyle = paper;
      context.globalAlpha = 0.85;
      context.strokeText(shown, ...at);
      context.globalAlpha = 1;
      context.fillStyle = ink;
      context.fillText(shown, ...at);
    });
  }

  nearest(x, y, within) {
    let best = null, least = within * within;
    for (let node = 0; node < this.n; node++) {
      const [px, py] = this.place(node);
      const distance = (px - x) ** 2 + (py - y) ** 2;
      if (distance < least) [best, least] = [node, distance];
    }
    return best;
  }

  inside(path) {
    const found = [];
    for (let node = 0; node < this.n; node++) {
      const [x, y] = this.place(node);
      let within = false;
      for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
        const [xi, yi] = path[i], [xj, yj] = path[j];
        if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) within = !within;
      }
      if (within) found.push(node);
    }
    return found;
  }

  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.scale;
    const zoom = Math.min(200, Math.max(0.5, this.view.zoom * factor));
    const after = (before * zoom) / this.view.zoom;
    this.view.x += (x - this.width / 2) * (1 / before - 1 / after);
    this.view.y -= (y - this.height / 2) * (1 / before - 1 / after);
    this.view.zoom = zoom;
    this.draw();
  }

  showAll() {
    this.view = { x: 0, y: 0, zoom: 1 };
    this.draw();
  }

  show(node) {
    // move the view only if the node is not visible
    const [x, y] = this.place(node);
    if (x > 0 && y > 0 && x < this.width && y < this.height) return;
    this.view.x = this.xy[2 * node];
    this.view.y = this.xy[2 * node + 1];
    this.draw();
  }

  selectInView() {
    this.select(this.inside([[0, 0], [this.width, 0], [this.width, this.height], [0, this.height]]));
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * this.ratio, (event.clientY - box.top) * this.ratio];
  }

  listen() {
    const { canvas } = this;
    let moved = 0;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, this.at(event));
      moved = 0;
      this.path = this.pointers.size === 1 && (this.lassoing || event.shiftKey) ? [this.at(event)] : null;
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = this.at(event), last = this.pointers.get(event.pointerId);
      if (!last) {
        const node = this.n && this.state ? this.nearest(...now, 8 * this.ratio) : null;
        canvas.style.cursor = this.lassoing || event.shiftKey ? "crosshair" : node == null ? "grab" : "pointer";
        this.hover(node, event);
        return;
      }
      moved += Math.abs(now[0] - last[0]) + Math.abs(now[1] - last[1]);
      if (this.path) {
        this.path.push(now);
      } else if (this.pointers.size === 1) {
        this.view.x -= (now[0] - last[0]) / this.scale;
        this.view.y += (now[1] - last[1]) / this.scale;
      } else {
        const [a, b] = [...this.pointers.values()];
        const before = Math.hypot(a[0] - b[0], a[1] - b[1]);
        this.pointers.set(event.pointerId, now);
        const [c, d] = [...this.pointers.values()];
        if (before > 0) this.zoomBy(Math.hypot(c[0] - d[0], c[1] - d[1]) / before, (c[0] + d[0]) / 2, (c[1] + d[1]) / 2);
      }
      this.pointers.set(event.pointerId, now);
      this.draw();
    });
    const end = (event) => {
      if (!this.pointers.delete(event.pointerId)) return;
      const path = this.path;
      this.path = null;
      if (path && path.length > 3) this.select(this.inside(path));
      else if (event.type === "pointerup" && moved < 4 * this.ratio) {
        const node = this.nearest(...this.at(event), 12 * this.ratio);
        if (node != null) this.open(node);
      }
      this.draw();
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", (event) => this.hover(null, event));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY * 0.0015), ...this.at(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = 0.15 / this.view.zoom;
      const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
      if (moves[event.key]) {
        this.view.x += moves[event.key][0];
        this.view.y += moves[event.key][1];
        this.draw();
      } else if (event.key === "+" || event.key === "=") this.zoomBy(1.3);
      else if (event.key === "-") this.zoomBy(1 / 1.3);
      else if (event.key === "0") this.showAll();
      else if (event.key === "Enter" && event.shiftKey) this.selectInView();
      else if (event.key === "Enter") {
        const node = this.nearest(this.width / 2, this.height / 2, Infinity);
        if (node != null) this.open(node);
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }
}
