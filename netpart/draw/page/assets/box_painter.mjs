// Paints boxes, arrows and fields of a placement on a canvas. Everything is in points of the whole drawing; the canvas
// has the transform. Boxes outside of `visible` are left out, and texts and insides that would be too small to see.

import { HEADER } from "./fold_model.mjs";
import { heatColour } from "./page_colours.mjs";

const FONT = '"DejaVu Sans", Verdana, Geneva, sans-serif';
const NAME = 10;
const SMALL = 8;
const LABEL = 9;
const LEADING = 12;
const STRIPES = 16; // up to so many workers have stripes
const FAR = 9; // pixels: names of boxes that are far away
const LEAST_TEXT = 4; // pixels: smaller letters are not painted
const LEAST_INSIDE = 26; // pixels: the inside of a smaller box is not painted
const LEAST_PARTS = 0.16; // the scale below which a layer's parts are only the fields of its workers
const TIP = 6;

export class BoxPainter {
  // `look` has theme, colours (of workers), chosen (a target), heat (shares of moves) and marked (boxes of workers).
  constructor(context, placement, scale, visible, look) {
    this.context = context;
    this.placement = placement;
    this.model = placement.model;
    this.scale = scale;
    this.visible = visible;
    this.look = look;
  }

  paint() {
    this.#paintInside(0, 0, 0, 0, 0);
  }

  #isVisible(left, top, width, height) {
    const [x0, y0, x1, y1] = this.visible;
    return left < x1 && left + width > x0 && top < y1 && top + height > y0;
  }

  // `left` and `top` are in the whole drawing, `x` and `y` in the box around.
  #paintInside(box, left, top, x, y) {
    const { context } = this;
    const inside = this.placement.insides.get(box);
    context.save();
    context.translate(x, y);
    this.#paintFields(inside);
    if (this.scale < LEAST_PARTS && this.model.kind(box) === "layer") {
      context.restore();
      return;
    }
    this.#paintArrows(box, inside);
    inside.rectangles.forEach((rectangle, index) => {
      const [dx, dy, width, height] = rectangle;
      if (this.#isVisible(left + dx, top + dy, width, height)) this.#paintEnd(box, index, rectangle, left, top);
    });
    if (this.scale * LABEL >= LEAST_TEXT) this.#paintLabels(inside);
    context.restore();
  }

  #paintEnd(box, index, [x, y, width, height], left, top) {
    const child = this.model.children[box][index];
    if (child === undefined) this.#paintPort(this.model.boxes.ports[box][index - this.model.children[box].length], x, y, width, height);
    else if (this.placement.isOpen(child)) this.#paintOpen(child, x, y, width, height, left, top);
    else this.#paintBox(child, x, y, width, height);
  }

  // An unfolded box: a frame with its name, and its inside in the middle.
  #paintOpen(box, x, y, width, height, left, top) {
    const { context } = this;
    const { theme } = this.look;
    context.fillStyle = theme.frame;
    context.strokeStyle = this.#isChosen(box) ? theme.chosen : theme.line;
    context.lineWidth = this.#lineWidth(this.#isChosen(box));
    roundedBox(context, x, y, width, height, 6);
    context.fill();
    context.stroke();
    if (height * this.scale < LEAST_INSIDE) {
      this.#paintFarName(box, x, y, width, height);
      return;
    }
    if (this.scale * NAME >= LEAST_TEXT) {
      context.fillStyle = theme.faint;
      context.font = `bold ${NAME}px ${FONT}`;
      context.textAlign = "left";
      context.fillText(`▾ ${this.model.name(box)}`, x + 8, y + HEADER - 5, width - 12);
    }
    const inside = this.placement.insides.get(box);
    const [dx, dy] = [x + (width - inside.width) / 2, y + (height - inside.height) / 2];
    this.#paintInside(box, left + dx, top + dy, dx, dy);
    if (this.scale * NAME < LEAST_TEXT && this.model.kind(box) === "layer") this.#paintFarName(box, x, y, width, height);
  }

  // The name of a box from afar: letters of the same size on the screen, if there is room for them.
  #paintFarName(box, x, y, width, height) {
    const { context } = this;
    const { theme } = this.look;
    const size = FAR / this.scale;
    const name = this.model.name(box);
    if (height < size * 1.2 || width < size * 0.72 * name.length) return;
    context.font = `bold ${size}px ${FONT}`;
    context.textAlign = "center";
    context.lineJoin = "round";
    context.lineWidth = 0.35 * size;
    context.strokeStyle = theme.frame;
    context.strokeText(name, x + width / 2, y + height / 2 + 0.35 * size);
    context.fillStyle = theme.text;
    context.fillText(name, x + width / 2, y + height / 2 + 0.35 * size);
  }

  // Lines do not vanish from afar.
  #lineWidth(chosen) {
    return Math.max(chosen ? 3 : 1, (chosen ? 2 : 0.5) / this.scale);
  }

  #paintBox(box, x, y, width, height) {
    const { context } = this;
    const { theme, colours } = this.look;
    const workers = this.placement.uncut ? [] : this.model.workers(box);
    const helper = this.model.isHelper(box);
    const own = workers.length === 1 ? colours[workers[0]] : { line: theme.line, fill: theme.box };
    context.fillStyle = helper ? theme.box : own.fill;
    context.strokeStyle = this.#isChosen(box) ? theme.chosen : own.line;
    context.lineWidth = this.#lineWidth(this.#isChosen(box));
    if (this.model.kind(box) === "run") {
      roundedBox(context, x + 4, y + 4, width, height, 4);
      context.fill();
      context.stroke();
    }
    if (helper) ellipse(context, x, y, width, height);
    else roundedBox(context, x, y, width, height, 4);
    context.fill();
    if (workers.length > 1 && workers.length <= STRIPES) this.#paintStripes(workers, x, y, width, height);
    if (helper) ellipse(context, x, y, width, height);
    else roundedBox(context, x, y, width, height, 4);
    context.stroke();
    if (this.scale * SMALL >= LEAST_TEXT) this.#paintLines(box, helper, x + width / 2, y, height);
    else if (this.scale * NAME >= LEAST_TEXT && !helper) this.#paintName(box, x + width / 2, y + height / 2);
    else if (!helper) this.#paintFarName(box, x, y, width, height);
  }

  #paintStripes(workers, x, y, width, height) {
    const { context } = this;
    const wide = 12 / workers.length;
    workers.forEach((worker, index) => {
      context.fillStyle = this.look.colours[worker].stripe;
      const stripe = Math.min(wide, 6);
      context.fillRect(x + 1 + index * stripe, y + 1, stripe, height - 2);
      context.fillRect(x + width - 1 - (index + 1) * stripe, y + 1, stripe, height - 2);
    });
  }

  #paintName(box, middle, y) {
    const { context } = this;
    context.fillStyle = this.look.theme.text;
    context.textAlign = "center";
    context.font = `bold ${NAME}px ${FONT}`;
    context.fillText(this.model.name(box), middle, y + 4);
  }

  #paintLines(box, helper, middle, top, height) {
    const { context, model } = this;
    const { theme } = this.look;
    const columns = model.boxes;
    const small = model.text(this.placement.uncut ? columns.uncut[box] : columns.small[box]);
    const extent = model.text(this.placement.uncut ? columns.whole[box] : columns.extent[box]);
    const lines = [[columns.head[box] >= 0 ? model.text(columns.head[box]) : model.name(box), !helper, helper ? SMALL : NAME]];
    if (small) small.split("\n").forEach((line) => lines.push([line, false, SMALL]));
    if (extent) lines.push([extent, false, helper ? SMALL : NAME]);
    let y = top + (height - LEADING * lines.length) / 2 + 9;
    context.textAlign = "center";
    lines.forEach(([line, bold, size], index) => {
      context.fillStyle = index && index < lines.length - 1 ? theme.faint : theme.text;
      context.font = `${bold ? "bold " : ""}${size}px ${FONT}`;
      context.fillText(line, middle, y);
      y += LEADING;
    });
  }

  #paintPort(text, x, y, width, height) {
    const { context } = this;
    const { theme } = this.look;
    context.fillStyle = theme.port;
    roundedBox(context, x, y, width, height, 8);
    context.fill();
    if (this.scale * SMALL < LEAST_TEXT) return;
    context.fillStyle = theme.faint;
    context.font = `${SMALL}px ${FONT}`;
    context.textAlign = "center";
    context.fillText(text, x + width / 2, y + height / 2 + 3);
  }

  // The fields of workers, and the frames of collectives.
  #paintFields(inside) {
    const { context } = this;
    const { colours, theme } = this.look;
    for (const [worker, ...box] of inside.layout.fields) {
      const [x0, y0, x1, y1] = mapped(inside, box);
      context.fillStyle = colours[worker].field;
      context.strokeStyle = colours[worker].line;
      context.lineWidth = this.#lineWidth(false);
      roundedBox(context, x0, y0, x1 - x0, y1 - y0, 6);
      context.fill();
      context.stroke();
      if (this.scale * NAME < LEAST_TEXT) continue;
      context.fillStyle = theme.text;
      context.font = `bold ${NAME}px ${FONT}`;
      context.textAlign = "left";
      context.fillText(`worker ${worker}`, x0 + 8, y0 + 14);
    }
    context.setLineDash([4, 3]);
    for (const [, ...box] of inside.layout.frames) {
      const [x0, y0, x1, y1] = mapped(inside, box);
      context.strokeStyle = theme.line;
      roundedBox(context, x0, y0, x1 - x0, y1 - y0, 6);
      context.stroke();
    }
    context.setLineDash([]);
  }

  #paintArrows(box, inside) {
    const { context } = this;
    for (const style of this.#arrowStyles(box, inside)) {
      if (style.heat) {
        context.strokeStyle = style.heat;
        context.lineWidth = 9;
        context.setLineDash([]);
        context.stroke(style.lines);
      }
      context.strokeStyle = style.colour;
      context.fillStyle = style.colour;
      context.lineWidth = Math.max(style.width, (0.4 * style.width) / this.scale);
      context.setLineDash(style.dashed ? [4, 3] : []);
      context.stroke(style.lines);
      context.fill(style.tips);
    }
    context.setLineDash([]);
    const chosen = this.look.chosen;
    if (chosen?.arrow && chosen.box === box) this.#paintChosen(inside, chosen);
  }

  #paintChosen(inside, chosen) {
    const row = inside.layout.arrows.find(([a, b]) => a === chosen.a && b === chosen.b);
    if (!row) return;
    const path = new Path2D();
    curve(path, this.placement.points(inside, row));
    this.context.strokeStyle = this.look.theme.chosen;
    this.context.lineWidth = 4;
    this.context.stroke(path);
  }

  // Paths of arrows that look alike, kept with the inside until the look changes.
  #arrowStyles(box, inside) {
    if (inside.styled === this.look.version) return inside.styles;
    const styles = new Map();
    for (const row of inside.layout.arrows) {
      const style = this.#arrowStyle(box, row);
      const key = JSON.stringify(style);
      if (!styles.has(key)) styles.set(key, { ...style, lines: new Path2D(), tips: new Path2D() });
      const points = this.placement.points(inside, row);
      curve(styles.get(key).lines, points);
      tip(styles.get(key).tips, points);
    }
    inside.styled = this.look.version;
    inside.styles = [...styles.values()];
    return inside.styles;
  }

  #arrowStyle(box, [a, b, flags, forward, backward]) {
    const { theme, colours, heat } = this.look;
    const uncut = this.placement.uncut;
    const crosses = flags & 2 && !uncut;
    const source = this.model.children[box][a];
    const workers = source === undefined || !crosses ? [] : this.model.workers(source);
    const colour = workers.length === 1 ? colours[workers[0]].line : theme.line;
    const moved = !uncut && heat.size && forward + backward ? this.model.movesOf(box, a, b) : [];
    const hottest = Math.max(0, ...moved.map((move) => heat.get(move) ?? 0));
    return { colour, width: crosses ? 2.4 : 1, dashed: !(flags & 1), heat: hottest ? heatColour(theme, hottest) : "" };
  }

  #paintLabels(inside) {
    if (this.placement.uncut) return;
    const { context, model } = this;
    const { theme } = this.look;
    context.font = `${LABEL}px ${FONT}`;
    context.textAlign = "center";
    context.lineJoin = "round";
    for (const row of inside.layout.arrows) {
      const at = this.placement.labelPlace(inside, row);
      if (!at) continue;
      const lines = model.text(row[5]).split("\n");
      const x = at[0];
      let y = at[1] - (LEADING * lines.length) / 2 + 9;
      for (const line of lines) {
        context.strokeStyle = theme.page;
        context.lineWidth = 3;
        context.strokeText(line, x, y);
        context.fillStyle = theme.text;
        context.fillText(line, x, y);
        y += LEADING;
      }
    }
  }

  #isChosen(box) {
    return !this.look.chosen?.arrow && this.look.chosen?.box === box;
  }
}

function mapped(inside, [x0, y0, x1, y1]) {
  return [inside.x(x0), inside.y(y0), inside.x(x1), inside.y(y1)];
}

function roundedBox(context, x, y, width, height, radius) {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
}

function ellipse(context, x, y, width, height) {
  context.beginPath();
  context.ellipse(x + width / 2, y + height / 2, width / 2, height / 2, 0, 0, 2 * Math.PI);
}

function curve(path, points) {
  path.moveTo(points[0], points[1]);
  let at = 2;
  for (; at + 5 < points.length; at += 6) path.bezierCurveTo(...points.slice(at, at + 6));
  if (at < points.length) path.lineTo(points[at], points[at + 1]);
}

function tip(path, points) {
  const [x0, y0, x, y] = points.slice(-4);
  const length = Math.hypot(x - x0, y - y0) || 1;
  const [dx, dy] = [(x - x0) / length, (y - y0) / length];
  path.moveTo(x, y);
  path.lineTo(x - TIP * dx + (TIP / 2.5) * dy, y - TIP * dy - (TIP / 2.5) * dx);
  path.lineTo(x - TIP * dx - (TIP / 2.5) * dy, y - TIP * dy + (TIP / 2.5) * dx);
  path.closePath();
}
