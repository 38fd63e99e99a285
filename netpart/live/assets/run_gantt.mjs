// The last sampled step as a Gantt chart: a row for each worker, a bar for each action. What is nested in an action,
// such as a wait within a receive, is drawn over it.

import { element, tableOf } from "./page_elements.mjs";
import { run } from "./run_state.mjs";

const KINDS = ["read", "forward", "backward", "update", "move", "talk", "wait"];
const NAMES = { talk: "send, receive", move: "copy, add" };
const ROW = 26;
const GAP = 6;
const NAMES_WIDE = 70;
const ganttPlace = document.querySelector("#gantt div");

function kindColours() {
  const style = getComputedStyle(document.documentElement);
  const found = Object.fromEntries(KINDS.map((kind) => [kind, style.getPropertyValue("--" + kind)]));
  return { ...found, ink: style.getPropertyValue("--ink"), line: style.getPropertyValue("--line") };
}

function paintStep(chart, canvas) {
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [ganttPlace.clientWidth, chart.workers.length * (ROW + GAP) + 18];
  canvas.width = wide * ratio;
  canvas.height = high * ratio;
  canvas.style.height = high + "px";
  const pen = canvas.getContext("2d");
  const look = kindColours();
  const scale = (wide - NAMES_WIDE) / (chart.micros || 1);
  pen.scale(ratio, ratio);
  pen.font = "12px system-ui, sans-serif";
  chart.workers.forEach((worker, at) => paintRow(pen, worker, at * (ROW + GAP), scale, look));
  pen.fillStyle = look.ink;
  pen.fillText("0 ms", NAMES_WIDE, high - 4);
  const millis = chart.micros / 1000;
  const end = `${millis >= 100 ? millis.toFixed(0) : millis.toPrecision(3)} ms`;
  pen.fillText(end, wide - pen.measureText(end).width, high - 4);
}

function paintRow(pen, worker, top, scale, look) {
  pen.fillStyle = look.ink;
  pen.fillText("worker " + worker.rank, 0, top + ROW * 0.65);
  pen.fillStyle = look.line;
  pen.fillRect(NAMES_WIDE, top + ROW, 1e4, 1);
  for (const [kind, , start, length] of worker.bars) {
    pen.fillStyle = look[kind] || look.move;
    const inset = kind === "wait" ? 4 : 0;
    pen.fillRect(NAMES_WIDE + start * scale, top + inset, Math.max(length * scale, 0.5), ROW - 2 * inset);
  }
}

// The bar at a point: the last one drawn there, which lies on top.
function barAt(chart, x, y) {
  const worker = chart.workers[Math.floor(y / (ROW + GAP))];
  const micros = ((x - NAMES_WIDE) / (ganttPlace.clientWidth - NAMES_WIDE)) * chart.micros;
  const bars = worker ? worker.bars.filter((bar) => bar[2] <= micros && micros <= bar[2] + bar[3]) : [];
  return bars.length ? [worker, bars[bars.length - 1]] : null;
}

function barText(found) {
  if (!found) return "";
  const [worker, [, name, start, length, count]] = found;
  const more = count > 1 ? ` and ${count - 1} more` : "";
  return `worker ${worker.rank}: ${name}${more}, ${(length / 1000).toFixed(3)} ms from ${(start / 1000).toFixed(3)} ms`;
}

function addCanvas(chart) {
  const hint = (event) => {
    document.querySelector("#hint").textContent = barText(barAt(chart, event.offsetX, event.offsetY));
  };
  const label = `step ${chart.step} of ${chart.workers.length} workers`;
  const canvas = element("canvas", { role: "img", "aria-label": label, pointermove: hint, pointerdown: hint });
  ganttPlace.append(canvas);
  paintStep(chart, canvas);
}

function makeKey() {
  return element("ul", { class: "key" }, ...KINDS.map((kind) => element("li", {}, element("i", { class: kind }), NAMES[kind] || kind)));
}

// The milliseconds of each worker by kind: the chart as text.
function makeTable(workers) {
  const millis = (micros) => [((micros || 0) / 1000).toFixed(2), true];
  return tableOf(["ms", ...KINDS.map((kind) => [NAMES[kind] || kind, true])],
    workers.map(({ rank, own }) => [`worker ${rank}`, ...KINDS.map((kind) => millis(own[kind]))]));
}

function showSteps(state) {
  const charts = Object.entries(state.charts || {});
  const actions = charts.some(([, chart]) => chart.workers.some((worker) => worker.bars.length));
  const named = charts.map(([group, chart]) => (charts.length > 1 ? `group ${group}: ` : "") + `step ${chart.step}`);
  const none = charts.length ? "steps on GPUs are not sampled: netpart profile traces them" : "no step was sampled yet";
  document.querySelector("#gantt .note").textContent = actions ? named.join(", ") : none;
  ganttPlace.replaceChildren();
  if (!actions) return;
  charts.forEach(([, chart]) => addCanvas(chart));
  ganttPlace.append(makeKey(), makeTable(charts.flatMap(([, chart]) => chart.workers)));
}

run.on(["charts"], showSteps);
addEventListener("resize", () => showSteps(run.state));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => showSteps(run.state));
