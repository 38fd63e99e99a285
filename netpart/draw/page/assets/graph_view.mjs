// GraphView: a canvas with a net, to move, to zoom, to unfold and to choose from.
//
//     const view = new GraphView(canvas, new FoldModel(content), { uncut: false, onChoose, onUnfold });
//     view.select({ box })                      choose a box, or with { arrow: true, box, a, b } an arrow in its inside
//     view.setEdgeHeat(new Map([[name, seconds], ...]))    by names of bridge halves or collectives; an empty map ends it
//     view.setMarks([{ worker, box, waitsFor }, ...])      where each worker is
//     view.setTheme(DARK)

import { BoxPainter } from "./box_painter.mjs";
import { Placement } from "./fold_model.mjs";
import { LIGHT, workerColours } from "./page_colours.mjs";

const SMALLEST = 0.002;
const LARGEST = 6;
const READABLE = 0.4; // the scale below which a net is shown from its top instead of as a whole
const NEAR = 6; // pixels between a click and an arrow that it chooses
const STEP = 60; // pixels that an arrow key moves

export class GraphView {
  constructor(canvas, model, options = {}) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.model = model;
    this.options = options;
    this.unfolded = options.unfolded ?? new Set();
    this.scale = 1;
    this.left = 0;
    this.top = 0;
    this.marks = [];
    this.look = { chosen: null, heat: new Map(), version: 0 };
    this.setTheme(LIGHT);
    this.refold();
    this.#listen();
    new ResizeObserver(() => this.#resize()).observe(canvas);
    this.#resize();
  }

  setTheme(theme) {
    this.look.theme = theme;
    this.look.colours = workerColours(this.model.content.about.colours, theme);
    this.#restyle();
  }

  // `seconds` has what each edge took, by the name of a half of its bridge or of its collective.
  setEdgeHeat(seconds) {
    const found = new Map();
    for (const [name, value] of seconds) {
      for (const move of this.model.movesNamed(name)) found.set(move, (found.get(move) ?? 0) + value);
    }
    const most = Math.max(...found.values(), 0);
    this.look.heat = new Map([...found].filter(([, value]) => value > 0).map(([move, value]) => [move, value / most]));
    this.#restyle();
  }

  setMarks(marks) {
    this.marks = marks;
    this.requestPaint();
  }

  // Choose `target`, and bring it into view if it is not. null chooses nothing.
  select(target) {
    this.look.chosen = target;
    if (target) this.reveal(target.box);
    this.requestPaint();
  }

  // Unfold what is around `box` and move to it.
  reveal(box) {
    // `unfolded` may be shared with another view, so what is drawn tells what has to be unfolded.
    const closed = this.model.around(box).filter((each) => !this.placement.insides.has(each));
    closed.filter((each) => this.model.canUnfold(each, this.options.uncut)).forEach((each) => this.unfolded.add(each));
    if (closed.length) this.refold();
    const rectangle = this.placement.rectangle(this.model.visible(box, this.#open()));
    const [x, y, width, height] = rectangle;
    const [x0, y0, x1, y1] = this.#visible();
    if (x >= x0 && y >= y0 && x + width <= x1 && y + height <= y1) return;
    this.#center(rectangle);
  }

  toggle(box) {
    if (!this.model.canUnfold(box, this.options.uncut)) return;
    const before = this.placement.rectangle(box);
    if (this.unfolded.has(box)) this.unfolded.delete(box);
    else this.unfolded.add(box);
    this.refold();
    const after = this.placement.rectangle(box);
    // The upper left corner of the box stays where it was.
    this.left += (before[0] - after[0]) * this.scale;
    this.top += (before[1] - after[1]) * this.scale;
    if (this.unfolded.has(box)) this.reveal(box);
    this.options.onUnfold?.(box);
  }

  // Compute where everything is, after `unfolded` has changed.
  refold() {
    this.placement = new Placement(this.model, this.unfolded, this.options.uncut);
    this.requestPaint();
  }

  // Show all of the drawing.
  fit() {
    this.#show(this.#scaleOf("height"));
  }

  // Show all of the drawing if it is readable then, else its top.
  begin() {
    const whole = this.#scaleOf("height");
    this.#show(whole < READABLE ? this.#scaleOf("width") : whole);
    this.top = Math.max(this.top, 0);
  }

  // The scale at which all of the drawing is seen, or all of its width.
  #scaleOf(axis) {
    const { width, height } = this.placement.root;
    const [wide, high] = [this.canvas.clientWidth / width, this.canvas.clientHeight / height];
    return Math.min(Math.max((axis === "width" ? wide : Math.min(wide, high)) * 0.96, SMALLEST), 2.4);
  }

  #show(scale) {
    const { width, height } = this.placement.root;
    this.scale = scale;
    this.left = (this.canvas.clientWidth - width * scale) / 2;
    this.top = (this.canvas.clientHeight - height * scale) / 2;
    this.requestPaint();
  }

  pan(x, y) {
    this.left += x;
    this.top += y;
    this.requestPaint();
  }

  // Zoom by `factor` around a point of the canvas.
  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(Math.max(this.scale * factor, SMALLEST), LARGEST);
    this.left = x - ((x - this.left) * scale) / this.scale;
    this.top = y - ((y - this.top) * scale) / this.scale;
    this.scale = scale;
    this.requestPaint();
  }

  requestPaint() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  paint() {
    const { context, canvas } = this;
    const ratio = this.ratio ?? 1;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.look.theme.page;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.left, ratio * this.top);
    new BoxPainter(context, this.placement, this.scale * ratio, this.#visible(), this.look).paint();
    this.#paintMarks(ratio);
  }

  // What is at a point of the canvas: { box }, { arrow: true, box, a, b } or null.
  find(x, y) {
    return this.#findIn(0, (x - this.left) / this.scale, (y - this.top) / this.scale);
  }

  #findIn(box, x, y) {
    const inside = this.placement.insides.get(box);
    const children = this.model.children[box];
    const hit = inside.rectangles.findIndex(([left, top, width, height], index) =>
      index < children.length && x >= left && x <= left + width && y >= top && y <= top + height);
    if (hit >= 0) {
      const child = children[hit];
      if (!this.placement.isOpen(child)) return { box: child };
      const [left, top, width, height] = inside.rectangles[hit];
      const inner = this.placement.insides.get(child);
      const found = this.#findIn(child, x - left - (width - inner.width) / 2, y - top - (height - inner.height) / 2);
      return found ?? { box: child, header: true };
    }
    return this.#findArrow(box, inside, x, y);
  }

  #findArrow(box, inside, x, y) {
    let nearest = NEAR / this.scale;
    let found = null;
    for (const row of inside.layout.arrows) {
      const distance = Math.min(curveDistance(this.placement.points(inside, row), x, y), this.#labelDistance(inside, row, x, y));
      if (distance < nearest) {
        nearest = distance;
        found = { arrow: true, box, a: row[0], b: row[1] };
      }
    }
    return found;
  }

  #labelDistance(inside, row, x, y) {
    const at = this.options.uncut ? null : this.placement.labelPlace(inside, row);
    if (!at) return Infinity;
    const lines = this.model.text(row[5]).split("\n");
    const wide = 3 * Math.max(...lines.map((line) => line.length));
    return Math.abs(x - at[0]) < wide && Math.abs(y - at[1]) < 6 * lines.length ? 0 : Infinity;
  }

  #restyle() {
    this.look.version += 1;
    this.requestPaint();
  }

  #open() {
    return new Set([0, ...[...this.unfolded].filter((box) => this.placement.isOpen(box))]);
  }

  #visible() {
    const { canvas, scale } = this;
    return [-this.left / scale, -this.top / scale, (canvas.clientWidth - this.left) / scale, (canvas.clientHeight - this.top) / scale];
  }

  #center([x, y, width, height]) {
    const [wide, high] = [this.canvas.clientWidth, this.canvas.clientHeight];
    this.scale = Math.min(Math.max(this.scale, 0.6), (0.9 * wide) / width, (0.9 * high) / height, 1.5);
    this.left = wide / 2 - (x + width / 2) * this.scale;
    this.top = high / 2 - (y + height / 2) * this.scale;
    this.requestPaint();
  }

  #resize() {
    const { canvas } = this;
    const first = this.ratio === undefined && canvas.clientWidth > 0;
    this.ratio = canvas.clientWidth ? window.devicePixelRatio || 1 : undefined;
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * (this.ratio ?? 1)));
    canvas.height = Math.max(1, Math.round(canvas.clientHeight * (this.ratio ?? 1)));
    if (first) this.begin();
    this.paint();
  }

  // A disc with the number of each worker at the box where it is; a line from one that waits to the one it waits for.
  #paintMarks(ratio) {
    const { context } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const open = this.#open();
    const discs = new Map();
    this.marks.forEach(({ worker, box }, index) => {
      if (box < 0) return;
      const [x, y] = this.placement.rectangle(this.model.visible(box, open));
      discs.set(worker, [this.left + x * this.scale + 10 + 18 * (index % 8), this.top + y * this.scale - 2]);
    });
    for (const { worker, waitsFor } of this.marks) {
      for (const other of waitsFor ?? []) this.#paintWait(discs.get(worker), discs.get(other), worker);
    }
    for (const { worker, waitsFor } of this.marks) this.#paintDisc(discs.get(worker), worker, Boolean(waitsFor?.length));
  }

  #paintWait(from, to, worker) {
    if (!from || !to) return;
    const { context } = this;
    context.strokeStyle = this.look.colours[worker].line;
    context.lineWidth = 2;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(...from);
    context.quadraticCurveTo((from[0] + to[0]) / 2, Math.min(from[1], to[1]) - 30, ...to);
    context.stroke();
    context.setLineDash([]);
  }

  #paintDisc(at, worker, waits) {
    if (!at) return;
    const { context } = this;
    const own = this.look.colours[worker];
    context.beginPath();
    context.arc(...at, 8, 0, 2 * Math.PI);
    context.fillStyle = waits ? this.look.theme.page : own.line;
    context.fill();
    context.strokeStyle = own.line;
    context.lineWidth = 2;
    context.stroke();
    context.fillStyle = waits ? this.look.theme.text : this.look.theme.page;
    context.font = "bold 10px sans-serif";
    context.textAlign = "center";
    context.fillText(String(worker), at[0], at[1] + 3.5);
  }

  #listen() {
    const { canvas } = this;
    const fingers = new Map();
    let moved = 0;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const now = [event.offsetX, event.offsetY];
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      this.#drag(fingers, event.pointerId, before, now);
      fingers.set(event.pointerId, now);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (fingers.size === 1 && moved < 5) this.#click(event.offsetX, event.offsetY);
      fingers.delete(event.pointerId);
    });
    canvas.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId));
    canvas.addEventListener("dblclick", (event) => {
      const found = this.find(event.offsetX, event.offsetY);
      if (found && !found.arrow && this.model.kind(found.box) === "layer") this.toggle(found.box);
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.#press(event));
  }

  // One finger moves the drawing; two also zoom it.
  #drag(fingers, id, before, now) {
    const other = [...fingers].find(([each]) => each !== id)?.[1];
    if (!other) {
      this.pan(now[0] - before[0], now[1] - before[1]);
      return;
    }
    const [far, near] = [now, before].map(([x, y]) => Math.hypot(x - other[0], y - other[1]));
    this.zoom(far / (near || 1), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  }

  #click(x, y) {
    const found = this.find(x, y);
    this.look.chosen = found;
    if (found && !found.arrow && this.model.kind(found.box) !== "layer") {
      if (found.header || !this.unfolded.has(found.box)) this.toggle(found.box);
    }
    this.options.onChoose?.(found);
    this.requestPaint();
  }

  #press(event) {
    const moves = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };
    const zooms = { "+": 1.25, "=": 1.25, "-": 0.8 };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key]) this.pan(...moves[event.key]);
    else if (zooms[event.key]) this.zoom(zooms[event.key]);
    else if (event.key === "0") this.fit();
    else if (event.key === "Enter" && this.look.chosen && !this.look.chosen.arrow) this.toggle(this.look.chosen.box);
    else return;
    event.preventDefault();
  }
}

// The distance of a point from a chain of Bézier curves.
function curveDistance(points, x, y) {
  let least = Infinity;
  let [px, py] = points;
  for (let at = 2; at + 5 < points.length; at += 6) {
    const chain = [points[at - 2], points[at - 1], ...points.slice(at, at + 6)];
    for (let piece = 1; piece <= 8; piece += 1) {
      const [qx, qy] = curvePoint(chain, piece / 8);
      least = Math.min(least, pieceDistance(px, py, qx, qy, x, y));
      [px, py] = [qx, qy];
    }
  }
  return least;
}

function curvePoint(chain, t) {
  const weights = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3];
  return [0, 1].map((axis) => weights.reduce((sum, weight, index) => sum + weight * chain[2 * index + axis], 0));
}

function pieceDistance(ax, ay, bx, by, x, y) {
  const [dx, dy] = [bx - ax, by - ay];
  const along = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - ax - along * dx, y - ay - along * dy);
}
