// The page: reads its content, shows both nets, and connects them with the panel, the player and the keyboard.

import { BoxList } from "./box_list.mjs";
import { ExplainPanel } from "./explain_panel.mjs";
import { FoldModel } from "./fold_model.mjs";
import { GraphView } from "./graph_view.mjs";
import { DARK, LIGHT } from "./page_colours.mjs";
import { StepPlayer } from "./step_player.mjs";

const at = (id) => document.getElementById(id);

export class NetPage {
  constructor(content) {
    this.model = new FoldModel(content);
    const unfolded = new Set();
    const options = { unfolded, onChoose: (target) => this.#chosen(target), onUnfold: () => this.#refold() };
    this.cut = new GraphView(at("cut"), this.model, options);
    this.uncut = new GraphView(at("uncut"), this.model, { ...options, uncut: true });
    this.panel = new ExplainPanel(at("panel"), this.model, (target) => this.choose(target));
    this.list = new BoxList(at("list"), this.model, (target) => this.choose(target));
    const parts = Object.fromEntries(["slider", "play", "back", "next", "wait", "where", "lines"].map((id) => [id, at(id)]));
    this.player = new StepPlayer(parts, this.model, (marks) => this.cut.setMarks(marks));
    this.#describe(content.about);
    this.#listen();
    this.setDark(matchMedia("(prefers-color-scheme: dark)").matches);
    this.panel.showTarget(null);
  }

  // Choose a box, an arrow, or an edge between two layers ({ move }) or a sum ({ sum }) in both nets.
  choose(target) {
    const { moves, sums } = this.model.content;
    const boxes = target?.move === undefined ? sums.layers[target?.sum] ?? [] : [moves.source[target.move], moves.target[target.move]];
    const drawn = boxes.length ? { box: boxes[0] } : target;
    for (const view of [this.cut, this.uncut]) view.select(drawn?.box === undefined ? null : drawn);
    if (target?.move !== undefined) this.cut.select(this.#arrowOf(target.move));
    this.#refold();
    this.panel.showTarget(target);
  }

  setDark(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    this.dark = dark;
    for (const view of [this.cut, this.uncut]) view.setTheme(dark ? DARK : LIGHT);
  }

  // Unfold everything, down to the parts, or fold it again.
  unfoldAll(open) {
    const { model } = this;
    this.cut.unfolded.clear();
    if (open) model.boxes.layout.forEach((layout, box) => layout >= 0 && box && this.cut.unfolded.add(box));
    this.#refold();
    for (const view of [this.cut, this.uncut]) view.begin();
  }

  // The arrow that shows a move: in the innermost box around both of its layers.
  #arrowOf(move) {
    const { model } = this;
    const [source, target] = [model.content.moves.source[move], model.content.moves.target[move]];
    const box = model.around(source).find((each) => model.contains(each, target));
    const end = (layer) => model.children[box].findIndex((child) => model.contains(child, layer));
    return { arrow: true, box, a: end(source), b: end(target) };
  }

  #describe(about) {
    at("title").textContent = about.title;
    at("traffic").textContent = about.traffic;
    at("found").replaceChildren(...this.model.boxes.name
      .filter((_, box) => this.model.kind(box) === "layer")
      .map((name) => Object.assign(document.createElement("option"), { value: name })));
  }

  #chosen(target) {
    for (const view of [this.cut, this.uncut]) {
      view.look.chosen = target;
      view.requestPaint();
    }
    this.panel.showTarget(target);
  }

  #refold() {
    for (const view of [this.cut, this.uncut]) view.refold();
  }

  #search(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return;
    const names = this.model.boxes.name;
    const layers = names.map((_, box) => box).filter((box) => box && this.model.kind(box) !== "net");
    const hit = layers.find((box) => names[box].toLowerCase() === wanted) ?? layers.find((box) => names[box].toLowerCase().includes(wanted));
    at("missed").textContent = hit === undefined ? `no layer has “${text}” in its name` : "";
    if (hit !== undefined) this.choose({ box: this.model.kind(hit) === "layer" ? this.model.byName.get(names[hit]) : hit });
  }

  #listen() {
    at("search").addEventListener("change", (event) => this.#search(event.target.value));
    at("search").addEventListener("keydown", (event) => event.key === "Enter" && this.#search(event.target.value));
    at("edges").addEventListener("click", () => this.panel.showEdges());
    at("figures").addEventListener("click", () => this.panel.showTable());
    at("theme").addEventListener("click", () => this.setDark(!this.dark));
    at("fit").addEventListener("click", () => [this.cut, this.uncut].forEach((view) => view.fit()));
    at("unfold").addEventListener("click", () => this.unfoldAll(true));
    at("fold").addEventListener("click", () => this.unfoldAll(false));
    at("listing").addEventListener("click", () => this.#toggleList());
    at("only").addEventListener("click", () => document.body.classList.toggle("one"));
    document.addEventListener("keydown", (event) => this.#press(event));
  }

  #toggleList() {
    const shown = document.body.classList.toggle("listed");
    at("listing").setAttribute("aria-pressed", String(shown));
    if (shown) this.list.show();
  }

  #press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA/.test(event.target.tagName)) return;
    const keys = {
      "/": () => at("search").focus(), e: () => this.panel.showEdges(), t: () => this.panel.showTable(),
      d: () => this.setDark(!this.dark), l: () => this.#toggleList(), u: () => this.unfoldAll(true), f: () => this.unfoldAll(false),
      p: () => this.player.toggle(), "[": () => this.player.seek(this.player.tick - 1), "]": () => this.player.seek(this.player.tick + 1),
      w: () => this.player.goToWait(), Escape: () => this.choose(null),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }
}
