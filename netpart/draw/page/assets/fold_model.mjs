// The boxes of a net, which of them are unfolded, and where everything is then.
//
// A box has a layout of its inside, made by Graphviz for folded children. Where a child is unfolded, the layout is
// stretched: a monotone map of each axis makes the interval of this child as long as its inside needs. So nothing that
// did not overlap before overlaps afterwards.

export const HEADER = 20; // height of the title of an unfolded box
const PADDING = 10; // around its inside

// A piecewise linear map of [0, length] in which every interval {low, high, need} is at least `need` long.
export function stretchAxis(length, intervals) {
  const cuts = [...new Set([0, length, ...intervals.flatMap((each) => [each.low, each.high])])].sort((a, b) => a - b);
  const place = new Map(cuts.map((cut, index) => [cut, index]));
  const widths = cuts.slice(1).map((cut, index) => cut - cuts[index]);
  for (const each of [...intervals].sort((a, b) => a.high - b.high || b.low - a.low)) {
    const first = place.get(each.low);
    const last = place.get(each.high);
    const have = widths.slice(first, last).reduce((sum, width) => sum + width, 0);
    if (have < each.need) {
      for (let index = first; index < last; index += 1) widths[index] *= each.need / have;
    }
  }
  const ends = [cuts[0]];
  for (const width of widths) ends.push(ends[ends.length - 1] + width);
  return { cuts, ends };
}

// Where a map of stretchAxis brings `value`; outside of the map distances are kept.
export function mapAxis(axis, value) {
  const { cuts, ends } = axis;
  const last = cuts.length - 1;
  if (value <= cuts[0]) return ends[0] + value - cuts[0];
  if (value >= cuts[last]) return ends[last] + value - cuts[last];
  let low = 0;
  let high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (cuts[middle] <= value) low = middle;
    else high = middle;
  }
  const share = (value - cuts[low]) / (cuts[high] - cuts[low]);
  return ends[low] + share * (ends[high] - ends[low]);
}

export class FoldModel {
  // `content` is the object that page_content.py writes. `leaf(box)` is true for boxes that never unfold.
  constructor(content) {
    this.content = content;
    this.boxes = content.boxes;
    this.count = this.boxes.name.length;
    this.children = Array.from({ length: this.count }, () => []);
    this.place = new Int32Array(this.count); // among the children of its parent
    this.boxes.parent.forEach((parent, box) => {
      if (parent < 0) return;
      this.place[box] = this.children[parent].length;
      this.children[parent].push(box);
    });
    this.byName = new Map();
    this.boxes.name.forEach((name, box) => {
      const known = this.byName.get(name);
      // A block may have the name of a layer in it: the inner one is what is meant.
      if (known === undefined || this.kind(box) === "layer") this.byName.set(name, box);
    });
    this.moveOf = this.#indexMoves();
  }

  text(number) {
    return number < 0 ? "" : this.content.texts[number];
  }

  kind(box) {
    return this.text(this.boxes.kind[box]);
  }

  name(box) {
    return this.boxes.name[box];
  }

  // Blocks, and layers in several parts, can be unfolded.
  canUnfold(box, uncut = false) {
    return this.boxes.layout[box] >= 0 && !(uncut && this.kind(box) === "layer");
  }

  workers(box) {
    const text = this.text(this.boxes.workers[box]);
    return text ? text.split(",").map(Number) : [];
  }

  isHelper(box) {
    return this.boxes.head[box] >= 0;
  }

  // The boxes around `box`, the innermost first.
  around(box) {
    const found = [];
    for (let at = this.boxes.parent[box]; at >= 0; at = this.boxes.parent[at]) found.push(at);
    return found;
  }

  contains(outer, box) {
    return outer === box || this.around(box).includes(outer);
  }

  // The outermost box around `box`, or itself, that is drawn while `unfolded` is unfolded.
  visible(box, unfolded) {
    const chain = [box, ...this.around(box)].reverse();
    return chain.find((each) => !unfolded.has(each)) ?? box;
  }

  // The numbers of the moves of an arrow in the inside of `box` between its ends `a` and `b`.
  movesOf(box, a, b) {
    const inside = this.children[box];
    const moves = this.content.moves;
    const above = this.boxes.ports[box].slice(0, this.boxes.above[box]);
    const isSource = (move) => {
      if (a < inside.length) return this.contains(inside[a], moves.source[move]);
      return this.name(moves.source[move]) === above[a - inside.length];
    };
    const isTarget = (move) =>
      b < inside.length ? this.contains(inside[b], moves.target[move]) : !this.contains(box, moves.target[move]);
    const all = moves.source.map((_, move) => move);
    if (this.kind(box) !== "layer") return all.filter((move) => isSource(move) && isTarget(move));
    return all.filter((move) => moves.bridges[move].some(([from, to]) => from === inside[a] && to === inside[b]));
  }

  // The moves that an edge of a run is: by the name of a bridge's half, or of a collective.
  movesNamed(name) {
    return this.moveOf.get(name) ?? [];
  }

  #indexMoves() {
    const found = new Map();
    const add = (name, move) => {
      const known = found.get(name) ?? [];
      if (!known.includes(move)) found.set(name, [...known, move]);
    };
    this.content.moves.frames.forEach((frames, move) => {
      frames.forEach((frame) => add(this.content.frames.name[frame], move));
      this.content.moves.bridges[move].forEach((row) => row.slice(0, 2).forEach((end) => add(this.name(end), move)));
    });
    return found;
  }
}

// Where everything is while the boxes `unfolded` are unfolded: for each of them its inside.
export class Placement {
  constructor(model, unfolded, uncut = false) {
    this.model = model;
    this.unfolded = unfolded;
    this.uncut = uncut;
    this.insides = new Map();
    this.root = this.#inside(0);
  }

  isOpen(box) {
    return box === 0 || (this.unfolded.has(box) && this.model.canUnfold(box, this.uncut));
  }

  // The inside of an unfolded box: its size with header and padding, the rectangles of its ends, and its arrows.
  #inside(box) {
    const layout = this.model.content.layouts[this.model.boxes.layout[box]];
    const children = this.model.children[box];
    const xs = [];
    const ys = [];
    children.forEach((child, index) => {
      if (!this.isOpen(child)) return;
      const [x, y, wide, high] = layout.boxes.slice(4 * index, 4 * index + 4);
      const inner = this.#inside(child);
      xs.push({ low: x - wide / 2, high: x + wide / 2, need: inner.width });
      ys.push({ low: y - high / 2, high: y + high / 2, need: inner.height });
    });
    const x = stretchAxis(layout.size[0], xs);
    const y = stretchAxis(layout.size[1], ys);
    const found = {
      layout,
      x: (value) => mapAxis(x, value) + PADDING,
      y: (value) => mapAxis(y, value) + HEADER + PADDING,
      width: x.ends[x.ends.length - 1] + 2 * PADDING,
      height: y.ends[y.ends.length - 1] + HEADER + 2 * PADDING,
    };
    found.rectangles = this.#rectangles(found, children);
    this.insides.set(box, found);
    return found;
  }

  // Left, top, width and height of each end; an unfolded child has all of its interval, a folded one its own size.
  #rectangles(inside, children) {
    const { boxes } = inside.layout;
    const found = [];
    for (let index = 0; index < boxes.length / 4; index += 1) {
      const [x, y, wide, high] = boxes.slice(4 * index, 4 * index + 4);
      if (index < children.length && this.isOpen(children[index])) {
        const left = inside.x(x - wide / 2);
        const top = inside.y(y - high / 2);
        found.push([left, top, inside.x(x + wide / 2) - left, inside.y(y + high / 2) - top]);
      } else {
        found.push([inside.x(x) - wide / 2, inside.y(y) - high / 2, wide, high]);
      }
    }
    return found;
  }

  // The points of an arrow of an inside. Its ends keep their distance from the middle of a folded box.
  points(inside, row) {
    const [a, b, , , , , , points] = row;
    const found = [];
    for (let index = 0; index < points.length; index += 2) {
      found.push(inside.x(points[index]), inside.y(points[index + 1]));
    }
    this.#attach(inside, a, points, found, 0);
    this.#attach(inside, b, points, found, points.length - 2);
    return found;
  }

  // The middle of the text at an arrow: as far from the arrow as in the layout. null without a text.
  labelPlace(inside, row) {
    const [, , , , , , at, points] = row;
    if (!at.length) return null;
    const middle = 2 * (points.length >> 2);
    const moved = this.points(inside, row);
    return [moved[middle] + at[0] - points[middle], moved[middle + 1] + at[1] - points[middle + 1]];
  }

  #attach(inside, end, points, found, at) {
    const [x, y, wide] = inside.layout.boxes.slice(4 * end, 4 * end + 3);
    const [left, top, width, height] = inside.rectangles[end];
    if (width !== wide) return;
    found[at] = left + width / 2 + points[at] - x;
    found[at + 1] = top + height / 2 + points[at + 1] - y;
  }

  // The rectangle of a drawn box in the whole drawing.
  rectangle(box) {
    if (box === 0) return [0, 0, this.root.width, this.root.height];
    const parent = this.model.boxes.parent[box];
    const [left, top] = this.origin(parent);
    const [x, y, width, height] = this.insides.get(parent).rectangles[this.model.place[box]];
    return [left + x, top + y, width, height];
  }

  // The point at which the inside of an unfolded box begins: in the middle of its rectangle, which may be larger.
  origin(box) {
    const [left, top, width, height] = this.rectangle(box);
    const inside = this.insides.get(box);
    return [left + (width - inside.width) / 2, top + (height - inside.height) / 2];
  }
}
