// What the scripts of the page compute: run by test_page_file.py, which writes $GIVEN.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const given = JSON.parse(readFileSync(process.env.GIVEN, "utf8"));
const load = (name) => import(`${given.assets}/${name}.mjs`);
const { FoldModel, Placement, mapAxis, stretchAxis } = await load("fold_model");
const { bytesText, countText } = await load("page_texts");
const { StepOrder } = await load("step_player");
const model = new FoldModel(given.content);
const all = () => new Set(model.boxes.layout.map((_, box) => box).filter((box) => model.canUnfold(box)));

test("numbers are written as in Python", () => {
  for (const [count, bytes, text] of given.texts) assert.deepEqual([bytesText(count), countText(count)], [bytes, text], count);
});

test("a stretched axis is monotone, and long enough for each interval", () => {
  const intervals = [{ low: 10, high: 20, need: 50 }, { low: 15, high: 40, need: 30 }, { low: 50, high: 60, need: 5 }];
  const axis = stretchAxis(100, intervals);
  for (const { low, high, need } of intervals) assert.ok(mapAxis(axis, high) - mapAxis(axis, low) >= need - 1e-9);
  for (let value = -5; value < 105; value += 1) assert.ok(mapAxis(axis, value + 1) > mapAxis(axis, value));
  assert.equal(mapAxis(axis, 10), 10);
});

function overlaps(placement) {
  const found = [];
  for (const inside of placement.insides.values()) {
    inside.rectangles.forEach(([x, y, width, height], one) => inside.rectangles.slice(0, one).forEach(([left, top, wide, high]) => {
      if (x < left + wide - 0.1 && left < x + width - 0.1 && y < top + high - 0.1 && top < y + height - 0.1) found.push([x, y, left, top]);
    }));
  }
  return found;
}

test("no boxes overlap, folded, unfolded and in between", () => {
  const some = new Set([...all()].filter((box) => box % 3));
  for (const unfolded of [new Set(), some, all()]) {
    for (const uncut of [false, true]) assert.deepEqual(overlaps(new Placement(model, unfolded, uncut)), []);
  }
});

test("everything unfolded, each part is drawn once, within the box around", () => {
  const placement = new Placement(model, all());
  const leaves = model.boxes.layout.map((_, box) => box).filter((box) => model.boxes.layout[box] < 0);
  assert.equal(leaves.length, given.content.about.title.match(/(\d+) parts/)[1] * 1);
  for (const box of leaves) {
    const [x, y, width, height] = placement.rectangle(box);
    const [left, top, wide, high] = placement.rectangle(model.boxes.parent[box]);
    assert.ok(x >= left && y >= top && x + width <= left + wide && y + height <= top + high, model.name(box));
  }
});

test("each edge between layers is in one arrow of the innermost box around both", () => {
  const { moves } = given.content;
  moves.source.forEach((source, move) => {
    const box = model.around(source).find((each) => model.contains(each, moves.target[move]));
    const layout = given.content.layouts[model.boxes.layout[box]];
    const hits = layout.arrows.filter(([a, b]) => model.movesOf(box, a, b).includes(move));
    assert.equal(hits.length, 1, `${model.name(source)} in ${model.name(box)}`);
  });
});

test("bytes at the arrows of folded boxes are those of their moves", () => {
  const { moves } = given.content;
  for (const box of all()) {
    if (model.kind(box) === "layer") continue;
    const inside = model.children[box].length;
    for (const [a, b, , forward] of given.content.layouts[model.boxes.layout[box]].arrows) {
      if (a >= inside || b >= inside) continue;
      const sum = model.movesOf(box, a, b).reduce((total, move) => total + moves.forward[move], 0);
      assert.equal(sum, forward, `${model.name(box)} ${a} ${b}`);
    }
  }
});

test("names of bridges and collectives lead to their edges", () => {
  given.content.moves.frames.forEach((frames, move) => frames.forEach((frame) => {
    assert.ok(model.movesNamed(given.content.frames.name[frame]).includes(move));
  }));
  assert.deepEqual(model.movesNamed("no such edge"), []);
});

test("a worker that waits waits for others, and all finish", () => {
  const order = new StepOrder(given.content);
  const first = order.nextWait(0);
  assert.ok(first > 0);
  for (let tick = first; tick >= 0; tick = order.nextWait(tick + 20)) {
    const at = order.workers.map((_, worker) => order.at(worker, tick));
    at.forEach((found, worker) => assert.ok(!found?.waitsFor.includes(worker)));
    assert.ok(at.some((found) => found && !found.waitsFor.length), "someone works");
  }
  assert.ok(order.workers.every((_, worker) => order.at(worker, order.last + 1) === null));
});
