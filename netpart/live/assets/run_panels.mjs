// Head, tables, log and summary of a run. All that comes from the run is put in as text.

import { element } from "./page_elements.mjs";
import { bytesText } from "./page_texts.mjs";
import { numberText } from "./run_curves.mjs";
import { run } from "./run_state.mjs";

const find = (selector) => document.querySelector(selector);
const LINK = { open: "running", lost: "no answer: the run has ended or was killed", ended: "ended" };

// Three digits, or all those before the point: toPrecision alone would write 1010 as "1.01e+3".
function shortNumber(value) {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function cell(value, name = "td") {
  const number = typeof value === "number" || /^[\d.,]+ ?([KMGT]?i?B|ms)?$/.test(value);
  return element(name, { class: number && "number" }, value);
}

function rowOf(values, name) {
  return element("tr", {}, ...values.map((value) => cell(value, name)));
}

function fill(selector, head, rows) {
  find(selector + " table").replaceChildren(...(head ? [rowOf(head, "th")] : []), ...rows);
}

function showHead(state) {
  const failed = state.end && state.end.failed !== undefined;
  const badge = find("#state");
  badge.textContent = failed ? "failed" : LINK[state.link] || "connecting";
  badge.className = failed ? "failed" : { open: "runs", lost: "lost" }[state.link] || "";
  const steps = state.run ? state.run.steps : 0;
  const done = doneSteps(state);
  find("#progress").max = steps || 1;
  find("#progress").value = done;
  const rates = state.curves["train/samples_per_second"] || [];
  const rate = rates.length ? `, ${Math.round(rates[rates.length - 1][2]).toLocaleString("en")} samples/s` : "";
  const attempt = (state.attempts || []).at(-1);
  const again = attempt ? `attempt ${attempt.number} of ${attempt.most} at most, from step ${attempt.step}; ` : "";
  find("#figures").textContent = state.run ? `${again}step ${done} of ${steps}${rate}` : "starting";
}

function doneSteps(state) {
  if (state.end && state.end.summary && state.run) return state.run.first_step + state.end.summary.steps;
  const training = (state.positions || []).filter((each) => each[1] === "train").map((each) => each[2]);
  const curves = Object.entries(state.curves).filter(([name]) => name.startsWith("train/"));
  return Math.max(0, ...training, ...curves.map(([, points]) => points[points.length - 1][0]));
}

// A bar of the memory of a process: what it had before its plan was allocated, the plan, and what came beyond it.
function memory(state, rank) {
  const planned = state.run ? state.run.memory[rank] : 0;
  const [held, grown] = (state.memory || {})[rank] || [0, null];
  if (grown === null) {
    const shared = held ? `; all workers are one process: ${bytesText(held)}` : "";
    return element("div", {}, `${bytesText(planned)} planned${shared}`);
  }
  const pieces = [["before", held - grown], ["planned", Math.min(planned, grown)], ["beyond", Math.max(0, grown - planned)]];
  const bar = element("div", { class: "memory" }, ...pieces.map(([name, size]) => {
    const piece = element("i", { class: name });
    piece.style.flexGrow = size;
    return piece;
  }));
  // Pages that a process has given back may leave it with less than it had before its plan.
  const before = bytesText(Math.max(0, held - grown));
  const more = grown > planned ? `, ${bytesText(grown - planned)} more` : "";
  return element("div", {}, bar, `${bytesText(held)}: ${before} before the plan, ${bytesText(planned)} planned${more}`);
}

function showWorkers(state) {
  const failed = state.end && state.end.rank;
  const over = Boolean(state.end);
  const rows = (state.positions || []).map(([rank, phase, step, doing, silent]) => {
    const dead = over && failed === rank;
    const well = over && state.end.summary;
    const words = dead ? "failed: " + state.end.failed.split("\n")[0] : over ? "ended" : doing;
    const heard = !over && silent > 2 ? `not heard for ${silent} s: ` : "";
    const made = rowOf([String(rank), state.run ? state.run.devices[rank] : "", well ? String(doneSteps(state)) : `${phase} ${step}`,
      heard + words, memory(state, rank)]);
    if (dead) made.className = "failed";
    return made;
  });
  fill("#workers", ["worker", "device", "step", "does", "memory"], rows);
}

function meterOf(value, most) {
  return element("meter", { max: most || 1, value });
}

// Waits of less than a thousandth of a step are left out.
function showWaits(state) {
  const rows = Object.values(state.charts || {}).flatMap((chart) => Object.entries(chart.waits)
    .filter(([, seconds]) => seconds * 1e9 >= chart.micros));
  const most = Math.max(...rows.map(([, seconds]) => seconds), 0);
  find("#waits .note").hidden = rows.length > 0;
  fill("#waits", null, rows.sort((a, b) => b[1] - a[1]).slice(0, 12)
    .map(([name, seconds]) => rowOf([name, `${shortNumber(seconds * 1000)} ms`, meterOf(seconds, most)])));
}

function showSent(state) {
  const rows = Object.entries(state.sent || {}).filter(([, count]) => count).sort((a, b) => b[1] - a[1]).slice(0, 40);
  const most = Math.max(...rows.map(([, count]) => count), 0);
  find("#sent .note").hidden = rows.length > 0;
  fill("#sent", null, rows.map(([ends, count]) => rowOf([ends, bytesText(count), meterOf(count, most)])));
}

function showStaleness(state) {
  const stale = state.staleness;
  find("#staleness").hidden = !stale;
  if (!stale) return;
  find("#staleness .note").textContent = `${stale.mean.toFixed(2)} on average, ${stale.most} at most`;
  const rows = Object.entries(stale.histogram).slice(0, 20);
  fill("#staleness", ["versions", "updates"], rows.map(([late, count]) => rowOf([late, count])));
}

function showLog(state) {
  const list = find("#log ol");
  const below = list.scrollHeight - list.scrollTop - list.clientHeight < 20;
  list.replaceChildren(...state.log.map(([seconds, text, kind]) =>
    element("li", { class: kind }, element("time", {}, `${seconds.toFixed(1)} s  `), text)));
  if (below) list.scrollTop = list.scrollHeight;
}

function showEnd(state) {
  const end = state.end || {};
  find("#failure").hidden = end.failed === undefined;
  find("#failure pre").textContent = end.failed || "";
  find("#summary").hidden = !end.summary;
  if (end.summary) fill("#summary", null, summaryRows(end.summary));
}

function metrics(found) {
  return Object.entries(found).map(([name, value]) => `${name} = ${numberText(value)}`).join(", ");
}

function summaryRows(found) {
  const agree = found.bytes_counted === found.bytes_predicted ? "as predicted" : "NOT as predicted";
  const rows = {
    test: metrics(found.test), validation: metrics(found.validation), train: metrics(found.train),
    time: `${found.seconds.toFixed(1)} s, ${found.train_seconds.toFixed(1)} s of it in training`,
    moved: `${bytesText(found.bytes_counted)} between workers, ${agree}`,
    stopped: found.stopped, checkpoint: found.checkpoint,
  };
  return Object.entries(rows).filter(([, text]) => text).map((each) => rowOf(each));
}

run.on(["run", "positions", "curves", "link", "end", "attempts"], showHead);
run.on(["run", "positions", "memory", "end"], showWorkers);
run.on(["charts"], showWaits);
run.on(["sent"], showSent);
run.on(["staleness"], showStaleness);
run.on(["log"], showLog);
run.on(["end"], showEnd);
