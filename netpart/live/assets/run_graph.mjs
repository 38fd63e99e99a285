// The graph of the run: what workers waited for in the sampled step is heat on its edges, discs are where workers are,
// and a click on a layer shows its time. It is fetched on demand, as its layout takes the host some time, and anew for
// another attempt of the run, whose net may be cut for fewer workers.

import { ExplainPanel } from "./explain_panel.mjs";
import { FoldModel } from "./fold_model.mjs";
import { GraphView } from "./graph_view.mjs";
import { DARK, LIGHT } from "./page_colours.mjs";
import { tableOf } from "./page_elements.mjs";
import { readContent } from "./read_content.mjs";
import { run } from "./run_state.mjs";

const graphPlace = document.getElementById("graph");
const graphNote = graphPlace.querySelector(".note");
const graphButton = graphPlace.querySelector("button");
const UNSEEN = graphNote.textContent;

class RunGraph {
  constructor(content, attempt) {
    this.model = new FoldModel(content);
    this.attempt = attempt;
    this.time = graphPlace.querySelector(".time");
    const options = { unfolded: new Set(), onChoose: (target) => this.showTarget(target) };
    this.view = new GraphView(graphPlace.querySelector("canvas"), this.model, options);
    this.panel = new ExplainPanel(graphPlace.querySelector(".why"), this.model, (target) => this.choose(target));
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.setTheme = () => this.view.setTheme(this.scheme.matches ? DARK : LIGHT);
    this.onStep = () => this.showStep();
    this.onWorkers = () => this.showWorkers();
    this.scheme.addEventListener("change", this.setTheme);
    run.on(["charts"], this.onStep);
    run.on(["positions", "end"], this.onWorkers);
    this.setTheme();
    this.showStep();
    this.showWorkers();
    this.showTarget(null);
  }

  // Take the graph out of the page.
  remove() {
    this.scheme.removeEventListener("change", this.setTheme);
    run.off(this.onStep);
    run.off(this.onWorkers);
    // A canvas without the listeners of this graph.
    this.view.canvas.replaceWith(this.view.canvas.cloneNode());
    for (const part of graphPlace.querySelectorAll("aside div")) part.replaceChildren();
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
    const waits = Object.values(run.state.charts || {}).flatMap((chart) => Object.entries(chart.waits));
    this.view.setEdgeHeat(new Map(waits.map(([name, seconds]) => [name.replace(/^receive /, ""), seconds])));
    this.showTime();
  }

  showWorkers() {
    const { positions = [], end } = run.state;
    const place = (doing) => this.model.byName.get(doing.replace(/^\S+ /, "").split("+")[0]) ?? -1;
    const marks = end ? [] : positions.map(([rank, , , doing]) => ({ worker: rank, box: place(doing), waitsFor: [] }));
    this.view.setMarks(marks.filter(({ worker }) => worker < this.model.content.about.workers));
  }

  // The time of the chosen layer in the sampled step, by its parts.
  showTime() {
    const box = this.target?.arrow || this.target?.box === undefined ? -1 : this.target.box;
    const times = Object.assign({}, ...Object.values(run.state.charts || {}).map((chart) => chart.parts));
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

// The number of the attempt that goes on, 1 for the first.
function presentAttempt() {
  return (run.state.attempts || []).at(-1)?.number ?? 1;
}

async function showRunGraph() {
  const attempt = presentAttempt();
  graphButton.disabled = true;
  graphNote.textContent = "laying out the graph …";
  try {
    const answer = await fetch("graph" + location.search);
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    const content = await readContent(text);
    if (attempt !== presentAttempt()) throw new Error("the run was started again meanwhile");
    graphPlace.classList.add("shown");
    window.netpartGraph = new RunGraph(content, attempt);
    graphNote.textContent = "colours of edges: how long workers waited for them in the sampled step; discs: where workers are";
    graphButton.hidden = true;
  } catch (error) {
    graphNote.textContent = `no graph: ${error.message}`;
  }
  graphButton.disabled = false;
}

// The graph of an attempt that has failed goes; that of the next one is a click away.
function dropOldGraph() {
  if (!window.netpartGraph || window.netpartGraph.attempt === presentAttempt()) return;
  window.netpartGraph.remove();
  window.netpartGraph = null;
  graphPlace.classList.remove("shown");
  graphButton.hidden = false;
  graphNote.textContent = UNSEEN;
}

graphButton.addEventListener("click", showRunGraph);
run.on(["attempts"], dropOldGraph);
