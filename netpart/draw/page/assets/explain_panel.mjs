// The panel at the side: what is chosen, the edges by their bytes, the layers and workers in figures.

import { element, tableOf } from "./page_elements.mjs";
import { bytesText, countText, exactText, waysText } from "./page_texts.mjs";

export class ExplainPanel {
  // `choose` takes a target as GraphView.select does.
  constructor(panel, model, choose) {
    this.panel = panel;
    this.model = model;
    this.content = model.content;
    this.choose = choose;
    this.layerRows = new Map(this.content.layers.box.map((box, row) => [box, row]));
    this.checkRows = new Map(this.content.check.layers.map((row) => [row.name, row]));
    this.sumsOf = new Map();
    this.content.sums.layers.forEach((layers, sum) => layers.forEach((box) => this.sumsOf.set(box, [...(this.sumsOf.get(box) ?? []), sum])));
    this.whyOf = new Map(this.content.why.box.map((box, row) => [box, this.content.why.text[row]]));
  }

  // What a target is, as found by GraphView.
  showTarget(target) {
    if (!target) this.#show(...this.#overview());
    else if (target.move !== undefined) this.#show(...this.#moveParts(target.move));
    else if (target.sum !== undefined) this.#show(...this.#sumParts(target.sum));
    else if (target.arrow) this.#show(...this.#arrowParts(target));
    else this.#show(...this.#boxParts(target.box));
  }

  // All edges and sums of gradients, those with most bytes first.
  showEdges() {
    const { moves, sums } = this.content;
    const rows = moves.source.map((_, move) => ({ bytes: moves.forward[move] + moves.backward[move], target: { move } }));
    rows.push(...sums.bytes.map((bytes, sum) => ({ bytes, target: { sum } })));
    rows.sort((a, b) => b.bytes - a.bytes);
    const total = this.content.about.moved;
    this.#show(
      element("h2", {}, "Edges by bytes"),
      element("p", {}, `A step moves ${bytesText(total)} between workers (${exactText(total)}). Choose a row to see who sends what, and why.`),
      tableOf(["edge", ["bytes", true], ["share", true]], rows.map(({ bytes, target }) => [
        element("button", { class: "link", click: () => this.choose(target) }, this.#edgeName(target)),
        [bytesText(bytes), true], [percent(bytes, total), true],
      ])),
    );
  }

  // The figures of `netpart check`, by layer and by worker.
  showTable() {
    const { check } = this.content;
    const dash = (value, text) => [value ? text(value) : "-", true];
    this.#show(
      element("h2", {}, "Workers"),
      tableOf(["worker", ["sends", true], ["memory", true], ["FLOPs", true], ["parameters", true]], check.workers.map((row) => [
        element("span", { class: `worker w${row.worker % 16}` }, String(row.worker)), dash(row.sent, bytesText), dash(row.memory, bytesText),
        dash(row.flops, countText), dash(row.parameters, (n) => n.toLocaleString("en-US")),
      ])),
      element("h2", {}, "Layers"),
      element("p", {}, "The figures of one training step, as netpart check prints them."),
      tableOf(["layer", "type", "cut", ["moved", true], ["FLOPs", true], ["memory", true], ["parameters", true]], check.layers.map((row) => [
        element("button", { class: "link", click: () => this.choose({ box: this.model.byName.get(row.name) }) }, row.name),
        row.type, row.cut, dash(row.moved, bytesText), dash(row.forward_flops + row.backward_flops, countText), dash(row.memory, bytesText),
        dash(row.parameters, (n) => n.toLocaleString("en-US")),
      ])),
    );
  }

  #show(...parts) {
    this.panel.replaceChildren(...parts.filter(Boolean));
    this.panel.scrollTop = 0;
  }

  #overview() {
    return [
      element("h2", {}, "How to read this"),
      element("p", {}, "A box with a double edge stands for several blocks that are alike. Click a block to unfold it, its title to fold it, a layer or an arrow to see what it moves and why. Double-click a layer to see its parts on each worker."),
      element("p", {}, "Thick arrows cross workers: ↓ are bytes of values in a step, ↑ bytes of gradients that return. No gradient returns along a dashed arrow."),
      element("p", {}, element("button", { class: "main", click: () => this.showEdges() }, "Edges by bytes (e)")),
    ];
  }

  #edgeName({ move, sum }) {
    if (sum !== undefined) return `Σ ${this.content.sums.name[sum]}`;
    const { source, target } = this.content.moves;
    return `${this.model.name(source[move])} → ${this.model.name(target[move])}`;
  }

  #bytesLine(forward, backward) {
    const total = forward + backward;
    return element("p", { class: "figure" }, element("strong", {}, waysText(forward, backward)),
      ` in a step: ${exactText(total)}, ${percent(total, this.content.about.moved)} of all`);
  }

  #arrowParts(target) {
    const moves = this.model.movesOf(target.box, target.a, target.b);
    if (moves.length === 1) return this.#moveParts(moves[0], this.#bridgeEnds(target));
    const ends = [target.a, target.b].map((end) => this.#endName(target.box, end));
    const title = element("h2", {}, `${ends[0]} → ${ends[1]}`);
    if (!moves.length) return [title, element("p", {}, "Nothing crosses workers here: each worker has what it reads.")];
    const sum = (column) => moves.reduce((total, move) => total + this.content.moves[column][move], 0);
    return [title, this.#bytesLine(sum("forward"), sum("backward")), element("p", {}, `${moves.length} edges between layers:`),
      element("ul", {}, ...moves.map((move) => element("li", {}, element("button", { class: "link", click: () => this.choose({ move }) },
        `${this.#edgeName({ move })}, ${waysText(this.content.moves.forward[move], this.content.moves.backward[move])}`))))];
  }

  // The boxes at both ends of an arrow between parts of a layer.
  #bridgeEnds({ box, a, b }) {
    if (this.model.kind(box) !== "layer") return undefined;
    return [a, b].map((end) => this.model.children[box][end]);
  }

  #endName(box, end) {
    const children = this.model.children[box];
    return end < children.length ? this.model.name(children[end]) : this.model.boxes.ports[box][end - children.length];
  }

  // One edge between two layers: its bytes, who sends them, why, and what other cuts would move.
  #moveParts(move, ends) {
    const { moves, frames } = this.content;
    const [source, target] = [moves.source[move], moves.target[move]];
    const parts = [element("h2", {}, this.#edgeName({ move })), this.#bytesLine(moves.forward[move], moves.backward[move])];
    if (ends) {
      const bridge = moves.bridges[move].find(([from, to]) => from === ends[0] && to === ends[1]);
      if (bridge) parts.push(element("p", {}, `This bridge: ${waysText(bridge[2], bridge[3])} from worker ${this.model.workers(ends[0])} to worker ${this.model.workers(ends[1])}.`));
    }
    parts.push(element("h3", {}, "Who"), this.#pairTable(move), element("h3", {}, "Why"));
    for (const frame of moves.frames[move]) {
      parts.push(element("p", {}, element("strong", {}, `${frames.name[frame]} among workers ${frames.members[frame].join(", ")}: `),
        this.model.text(this.content.why.frames[frame]), ". All its messages: ", waysText(frames.forward[frame], frames.backward[frame]), "."));
    }
    parts.push(this.#reasons(move));
    return [...parts, ...this.#otherCuts(source), ...this.#otherCuts(target)];
  }

  // Bytes forward and backward between each pair of workers.
  #pairTable(move) {
    const pairs = new Map();
    for (const [from, to, forward, backward] of this.content.moves.bridges[move]) {
      const key = `${this.model.workers(from)} → ${this.model.workers(to)}`;
      const known = pairs.get(key) ?? [0, 0];
      pairs.set(key, [known[0] + forward, known[1] + backward]);
    }
    const text = (value) => (value ? bytesText(value) : "-");
    const rows = [...pairs].map(([key, ways]) => [key, ...ways.map(text)]);
    const alike = rows.every((row) => row[1] === rows[0][1] && row[2] === rows[0][2]);
    const ends = this.content.moves.bridges[move].flatMap(([from, to]) => [...this.model.workers(from), ...this.model.workers(to)]);
    const members = [...new Set(ends)].sort((x, y) => x - y);
    if (alike && rows.length > 4 && rows.length === members.length * (members.length - 1)) {
      return element("p", {}, `workers ${members.join(", ")}, each to each other: ${rows.length} pairs, ${rows[0][1]} of values and ${rows[0][2]} of gradients for each`);
    }
    return tableOf(["workers", ["values", true], ["gradients back", true]], rows.map(([key, ...ways]) => [key, ...ways.map((way) => [way, true])]));
  }

  // What each part needs, and who holds it.
  #reasons(move) {
    const texts = this.content.moves.needs[move].map((box) => this.whyOf.get(box)).filter((text) => text !== undefined);
    return element("ul", {}, ...texts.map((text) => element("li", {}, this.model.text(text))));
  }

  #sumParts(sum) {
    const { sums } = this.content;
    return [element("h2", {}, `Σ ${sums.name[sum]}`), this.#bytesLine(0, sums.bytes[sum]),
      element("h3", {}, "Who"), element("p", {}, `workers ${sums.members[sum].join(", ")}, all with each other`),
      element("h3", {}, "Why"), ...sums.layers[sum].flatMap((box) => [this.#boxLink(box), this.#sumReasons(box)]),
      ...sums.layers[sum].slice(0, 1).flatMap((box) => this.#otherCuts(box))];
  }

  #boxLink(box) {
    return element("p", {}, element("button", { class: "link", click: () => this.choose({ box }) }, this.model.name(box)));
  }

  #sumReasons(box) {
    const row = this.layerRows.get(box);
    const texts = row === undefined ? [] : this.content.layers.sums[row];
    return element("ul", {}, ...texts.map((text) => element("li", {}, this.model.text(text))));
  }

  #boxParts(box) {
    const kind = this.model.kind(box);
    if (kind === "layer") return this.#layerParts(box);
    const title = element("h2", {}, this.model.name(box));
    if (["net", "run", "block"].includes(kind)) return [title, ...this.#blockParts(box)];
    return [title, ...this.#partParts(box)];
  }

  #blockParts(box) {
    const text = (number) => this.model.text(number).split("\n").join(" ");
    const workers = this.model.workers(box);
    const layers = this.content.check.layers.filter((row) => this.model.contains(box, this.model.byName.get(row.name)));
    const moved = layers.reduce((sum, row) => sum + row.moved, 0);
    return [
      element("p", {}, text(this.model.boxes.small[box])),
      element("p", {}, `On worker${workers.length > 1 ? "s" : ""} ${workers.join(", ")}. Its layers move ${bytesText(moved)} in a step (${exactText(moved)}).`),
      element("h3", {}, "Inside"),
      element("ul", {}, ...this.model.children[box].map((child) => element("li", {}, element("button", { class: "link", click: () => this.choose({ box: child }) }, this.model.name(child))))),
    ];
  }

  #partParts(box) {
    const layer = this.model.boxes.parent[box];
    const why = this.whyOf.get(box);
    const frame = this.model.boxes.frame[box];
    return [
      element("p", {}, `${this.model.text(this.model.boxes.head[box]) || "part"} on worker ${this.model.workers(box)}, ${this.model.text(this.model.boxes.extent[box])}`),
      why === undefined ? "" : element("p", {}, this.model.text(why)),
      frame < 0 ? "" : element("p", {}, `It belongs to the ${this.content.frames.name[frame]}: ${waysText(this.content.frames.forward[frame], this.content.frames.backward[frame])} in a step, of all its messages.`),
      element("h3", {}, "Layer"), this.#boxLink(layer), ...this.#shardRow(layer, this.model.name(box)),
    ];
  }

  #shardRow(layer, name) {
    const row = this.layerRows.get(layer);
    const shards = row === undefined ? [] : this.content.layers.shards[row].filter(([own]) => own === name);
    return shards.map(([, computes, needs]) => element("p", {}, `computes ${this.model.text(computes)}; needs ${needs.map((n) => this.model.text(n)).join("; ") || "nothing"}`));
  }

  #layerParts(box) {
    const name = this.model.name(box);
    const check = this.checkRows.get(name);
    const row = this.layerRows.get(box);
    const parts = [element("h2", {}, name)];
    if (check) {
      parts.push(element("p", {}, `${check.type} ${check.shape.join("×") || "records"}; ${row === undefined ? check.cut : this.model.text(this.content.layers.cut[row])}`));
      parts.push(tableOf(["a step", ["", true]], [
        ["moves", [`${bytesText(check.moved)} (${exactText(check.moved)})`, true]],
        ["FLOPs forward, backward", [`${countText(check.forward_flops)}, ${countText(check.backward_flops)}`, true]],
        ["memory", [bytesText(check.memory), true]], ["parameters", [check.parameters.toLocaleString("en-US"), true]],
      ]));
    }
    if (row !== undefined) parts.push(...this.#explained(row));
    parts.push(...this.#edgesOf(box), ...this.#otherCuts(box));
    return parts;
  }

  #explained(row) {
    const { layers } = this.content;
    const moves = Object.entries(layers.moves[row]).map(([kind, bytes]) => `${bytesText(bytes)} ${kind}`);
    return [
      element("h3", {}, "Parts"),
      tableOf(["part", "computes", "needs"], layers.shards[row].map(([name, computes, needs]) => [
        element("button", { class: "link", click: () => this.choose({ box: this.model.byName.get(name) }) }, name),
        this.model.text(computes), needs.map((need) => this.model.text(need)).join("; ") || "-"])),
      element("h3", {}, "Traffic"),
      element("p", {}, `Its output and gradients move, in a training step: ${moves.join(", ") || "nothing"}.`),
      element("ul", {}, ...layers.sums[row].map((text) => element("li", {}, this.model.text(text)))),
    ];
  }

  #edgesOf(box) {
    const { moves } = this.content;
    const own = moves.source.map((_, move) => move).filter((move) => moves.source[move] === box || moves.target[move] === box);
    const sums = (this.sumsOf.get(box) ?? []).map((sum) => [{ sum }, waysText(0, this.content.sums.bytes[sum])]);
    const all = [...own.map((move) => [{ move }, waysText(moves.forward[move], moves.backward[move])]), ...sums];
    if (!all.length) return [];
    return [element("h3", {}, "Edges"), element("ul", {}, ...all.map(([target, text]) => element("li", {},
      element("button", { class: "link", click: () => this.choose(target) }, this.#edgeName(target)), ` ${text}`)))];
  }

  // Other cuts of a layer, with the bytes of the whole step and what --set takes.
  #otherCuts(box) {
    const row = this.layerRows.get(box);
    const cuts = row === undefined ? [] : this.content.layers.cuts[row];
    const name = this.model.name(box);
    if (!cuts.length) return [];
    const now = cuts.find((cut) => cut[3])[1];
    const change = (moved) => (moved === now ? "" : `${moved > now ? "+" : "−"}${bytesText(Math.abs(moved - now))}`);
    return [
      element("h3", {}, `Other cuts of ${name}`),
      element("p", {}, "With all other layers as they are; the --set is for the command of this page. FLOPs are those of the busiest worker."),
      tableOf(["cut", ["a step moves", true], ["change", true], ["FLOPs", true]], cuts.map(([cut, moved, flops, present, settings]) => [
        this.#cutCell(name, cut, present, settings), [bytesText(moved), true], [change(moved), true], [countText(flops), true]])),
    ];
  }

  // A cut in words, and below it what --set takes.
  #cutCell(name, cut, present, settings) {
    const command = settings.map((text) => `--set '${name}${text}'`).join(" ");
    return element("span", {}, this.model.text(cut), present ? element("strong", {}, " (now)") : element("code", { class: "block" }, command));
  }
}

function percent(part, whole) {
  return whole ? `${((100 * part) / whole).toFixed(1)}%` : "-";
}
