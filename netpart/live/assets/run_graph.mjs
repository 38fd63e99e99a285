// The graph of the run: what workers waited for in the sampled step is heat on its edges, discs are where workers are,
// and a click on a layer shows its time. It is fetched on demand, as its layout takes the host some time.

import { ExplainPanel } from "./explain_panel.mjs";
import { FoldModel } from "./fold_model.mjs";
import { GraphView } from "./graph_view.mjs";
import { DARK, LIGHT } from "./page_colours.mjs";
import { tableOf } from "./page_elements.mjs";
import { readContent } from "./page_main.mjs";

const graphPlace = document.getElementById("graph");
const graphNote = graphPlace.querySelector(".note");

class RunGraph {
  constructor(content, run) {
    this.model = new FoldModel(content);
    this.run = run;
    this.time = graphPlace.querySelector(".time");
    const options = { unfolded: new Set(), onChoose: (target) => this.showTarget(target) };
    this.view = new GraphView(graphPlace.querySelector("canvas"), this.model, options);
    this.panel = new ExplainPanel(graphPlace.querySelector(".why"), this.model, (target) => this.choose(target));
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const setTheme = () => this.view.setTheme(scheme.matches ? DARK : LIGHT);
    scheme.addEventListener("change", setTheme);
    setTheme();
    run.on(["charts"], () => this.showStep());
    run.on(["positions", "end"], () => this.showWorkers());
    this.showStep();
    this.showWorkers();
    this.showTarget(null);
  }

  // Choose a box, an arrow, or the source of an edge between two layers.
  choose(target) {
    const drawn = target?.move === undefined ? target : { box: this.model.content.moves.source[target.move] };
    this.view.select(drawn?.box === undefined ? null : drawn);
    this.view.refold();
    this.showTarget(target);
  }

  showTarget(target) {
    this.target = target;
    this.panel.showTarget(target);
    this.showTime();
  }

  showStep() {
    const waits = Object.values(this.run.state.charts || {}).flatMap((chart) => Object.entries(chart.waits));
    this.view.setEdgeHeat(new Map(waits.map(([name, seconds]) => [name.replace(/^receive /, ""), seconds])));
    this.showTime();
  }

  showWorkers() {
    const { positions = [], end } = this.run.state;
    const place = (doing) => this.model.byName.get(doing.replace(/^\S+ /, "").split("+")[0]) ?? -1;
    const marks = end ? [] : positions.map(([rank, , , doing]) => ({ worker: rank, box: place(doing), waitsFor: [] }));
    this.view.setMarks(marks.filter(({ worker }) => worker < this.model.content.about.workers));
  }

  // The time of the chosen layer in the sampled step, by its parts.
  showTime() {
    const box = this.target?.arrow || this.target?.box === undefined ? -1 : this.target.box;
    const times = Object.assign({}, ...Object.values(this.run.state.charts || {}).map((chart) => chart.parts));
    const rows = box < 0 ? [] : this.#within(box).filter((name) => times[name]).map((name) => [name, ...times[name]]);
    this.time.replaceChildren(...(rows.length ? [tableOf(["ms in this step", ["forward", true], ["backward", true], ["moving", true]],
      this.#totalled(rows).map(([name, ...micros]) => [name, ...micros.map((each) => [(each / 1000).toFixed(3), true])]))] : []));
  }

  // The names of all boxes in a box, and its own.
  #within(box) {
    return [this.model.name(box), ...this.model.children[box].flatMap((child) => this.#within(child))];
  }

  // Some rows, and what all of them sum to.
  #totalled(rows) {
    if (rows.length < 2) return rows;
    const sum = [1, 2, 3].map((column) => rows.reduce((total, row) => total + row[column], 0));
    return [["all", ...sum], ...rows.sort((a, b) => b[1] + b[2] + b[3] - a[1] - a[2] - a[3]).slice(0, 16)];
  }
}

async function showRunGraph(button) {
  button.disabled = true;
  graphNote.textContent = "laying out the graph …";
  try {
    const answer = await fetch("graph" + location.search);
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    const content = await readContent(text);
    graphPlace.classList.add("shown");
    window.netpartGraph = new RunGraph(content, window.netpartRun);
    graphNote.textContent = "colours of edges: how long workers waited for them in the sampled step; discs: where workers are";
    button.remove();
  } catch (error) {
    graphNote.textContent = `no graph: ${error.message}`;
    button.disabled = false;
  }
}

graphPlace.querySelector("button").addEventListener("click", (event) => showRunGraph(event.currentTarget));
