// One small chart for each metric: training is a line, validations and tests are dots, each phase with its colour.
// Where an attempt began is a dashed line, and what the one before had measured after that is pale.

import { element } from "./page_elements.mjs";
import { run } from "./run_state.mjs";

const SVG = "http://www.w3.org/2000/svg";
const WIDE = 300;
const HIGH = 100;
const EDGE = 4;
const charts = new Map();

function shape(name, values) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
  return made;
}

export function numberText(value) {
  if (value === null) return "none";
  const size = Math.abs(value);
  return size >= 1e6 || (size > 0 && size < 1e-3) ? value.toExponential(3) : String(Number(value.toPrecision(5)));
}

function makeChart(name) {
  const values = element("b");
  const svg = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img" });
  const scales = [1, 2, 3].map(() => element("span"));
  const figure = element("figure", {}, element("figcaption", {}, element("span", {}, name.replaceAll("_", " ")), values),
    element("div", { class: "scale" }, scales[0]), svg, element("div", { class: "scale" }, ...scales.slice(1)));
  document.querySelector("#curves .grid").append(figure);
  return { figure, values, svg, scales };
}

// What is between the lowest and the highest of values; around a single one there is some room.
function spanOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low < high ? [low, high] : [low - 0.5, high + 0.5];
}

function drawPhase(phase, points, place, pale = false) {
  const known = points.filter((point) => point[2] !== null).map(place);
  const path = shape("path", { d: known.map((at, index) => (index ? "L" : "M") + at.join(" ")).join("") });
  const dots = phase === "train" && known.length > 1 ? [] : known.map(([x, y]) => shape("circle", { cx: x, cy: y, r: 2 }));
  const group = shape("g", { class: pale ? `${phase} pale` : phase });
  group.append(path, ...dots);
  return group;
}

// The points of a metric that attempts measured and the next ones measure again: pairs of a phase and points.
function repeatedOf(name, attempts) {
  return attempts.flatMap(({ repeated }) => Object.entries(byMetric(repeated)[name] || {}));
}

function drawChart(name, phases, attempts) {
  if (!charts.has(name)) charts.set(name, makeChart(name));
  const { values, svg, scales } = charts.get(name);
  const rows = Object.entries(phases);
  const pale = repeatedOf(name, attempts);
  const all = [...rows, ...pale].flatMap(([, points]) => points);
  const known = all.map((point) => point[2]).filter((value) => value !== null);
  const [left, right] = spanOf(all.map((point) => point[0]));
  const [low, high] = spanOf(known.length ? known : [0]);
  const x = (step) => (EDGE + ((step - left) / (right - left)) * (WIDE - 2 * EDGE)).toFixed(1);
  const place = ([step, , value]) => [x(step), (HIGH - EDGE - ((value - low) / (high - low)) * (HIGH - 2 * EDGE)).toFixed(1)];
  const begins = attempts.map(({ step }) => step).filter((step) => step >= left && step <= right);
  svg.replaceChildren(shape("line", { x1: 0, x2: WIDE, y1: HIGH - 1, y2: HIGH - 1 }),
    ...begins.map((step) => shape("line", { class: "begin", x1: x(step), x2: x(step), y1: 0, y2: HIGH })),
    ...pale.map(([phase, points]) => drawPhase(phase, points, place, true)),
    ...rows.map(([phase, points]) => drawPhase(phase, points, place)));
  const last = rows.map(([phase, points]) => [phase, points[points.length - 1]]);
  values.replaceChildren(...last.map(([phase, point]) => element("span", { class: phase }, `${phase} ${numberText(point[2])}`)));
  svg.setAttribute("aria-label", last.map(([phase, [step, , value]]) => `${name}, ${phase}, step ${step}: ${numberText(value)}`).join("; "));
  const several = known.length > 1;
  const steps = all.map((point) => point[0]);
  scales[0].textContent = several ? numberText(high) : " ";
  scales[1].textContent = `${several ? numberText(low) + " · " : ""}step ${Math.min(...steps)}`;
  scales[2].textContent = Math.max(...steps);
}

// The curves of a state by metric, then by phase: "train/loss/accuracy" is loss/accuracy of train.
function byMetric(curves) {
  const found = {};
  for (const [path, points] of Object.entries(curves)) {
    const cut = path.indexOf("/");
    if (points.length) (found[path.slice(cut + 1)] ||= {})[path.slice(0, cut)] = points;
  }
  return found;
}

function showCurves({ curves, attempts = [] }) {
  const found = byMetric(curves);
  for (const name of attempts.flatMap(({ repeated }) => Object.keys(byMetric(repeated)))) found[name] ||= {};
  // After a reset some may be gone: a page that was left open while another run took the port.
  for (const [name, { figure }] of charts) {
    if (found[name]) continue;
    figure.remove();
    charts.delete(name);
  }
  for (const [name, phases] of Object.entries(found)) drawChart(name, phases, attempts);
  const begun = attempts.map(({ number, step }) => `attempt ${number} began from step ${step}`);
  const note = document.querySelector("#curves .note");
  note.hidden = !begun.length;
  note.textContent = `${begun.join("; ")} (dashed); what is measured again is pale`;
}

run.on(["curves", "attempts"], showCurves);
