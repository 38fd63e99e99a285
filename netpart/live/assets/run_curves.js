"use strict";
// One small chart for each metric: training is a line, validations and tests are dots, each phase with its colour.
(() => {
  const run = window.netpartRun;
  const SVG = "http://www.w3.org/2000/svg";
  const WIDE = 300, HIGH = 100, EDGE = 4;
  const charts = new Map();

  function shape(name, values) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
    return made;
  }

  function element(name, className, ...children) {
    const made = document.createElement(name);
    made.className = className;
    made.append(...children);
    return made;
  }

  function number(value) {
    if (value === null) return "none";
    const size = Math.abs(value);
    return size >= 1e6 || (size > 0 && size < 1e-3) ? value.toExponential(3) : String(Number(value.toPrecision(5)));
  }

  function makeChart(name) {
    const title = element("span", ""), values = element("b", "");
    title.textContent = name.replaceAll("_", " ");
    const svg = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img" });
    const scales = [1, 2, 3].map(() => element("span", ""));
    const figure = element("figure", "", element("figcaption", "", title, values),
      element("div", "scale", scales[0]), svg, element("div", "scale", ...scales.slice(1)));
    document.querySelector("#curves .grid").append(figure);
    return { figure, values, svg, scales };
  }

  // What is between the lowest and the highest of values; around a single one there is some room.
  function span(values) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return low < high ? [low, high] : [low - 0.5, high + 0.5];
  }

  function drawPhase(phase, points, place) {
    const known = points.filter((point) => point[2] !== null).map(place);
    const path = shape("path", { d: known.map((at, index) => (index ? "L" : "M") + at.join(" ")).join("") });
    const dots = phase === "train" && known.length > 1 ? [] : known.map(([x, y]) => shape("circle", { cx: x, cy: y, r: 2 }));
    const group = shape("g", { class: phase });
    group.append(path, ...dots);
    return group;
  }

  function drawChart(name, phases) {
    if (!charts.has(name)) charts.set(name, makeChart(name));
    const { values, svg, scales } = charts.get(name);
    const all = Object.values(phases).flat(), known = all.map((point) => point[2]).filter((value) => value !== null);
    const [left, right] = span(all.map((point) => point[0])), [low, high] = span(known.length ? known : [0]);
    const place = ([step, , value]) => [
      EDGE + ((step - left) / (right - left)) * (WIDE - 2 * EDGE),
      HIGH - EDGE - ((value - low) / (high - low)) * (HIGH - 2 * EDGE),
    ].map((at) => at.toFixed(1));
    const rows = Object.entries(phases);
    svg.replaceChildren(shape("line", { x1: 0, x2: WIDE, y1: HIGH - 1, y2: HIGH - 1 }),
      ...rows.map(([phase, points]) => drawPhase(phase, points, place)));
    const last = rows.map(([phase, points]) => [phase, points[points.length - 1]]);
    values.replaceChildren(...last.map(([phase, point]) => element("span", phase, `${phase} ${number(point[2])}`)));
    svg.setAttribute("aria-label", last.map(([phase, [step, , value]]) => `${name}, ${phase}, step ${step}: ${number(value)}`).join("; "));
    const several = known.length > 1, steps = all.map((point) => point[0]);
    scales[0].textContent = several ? number(high) : " ";
    scales[1].textContent = `${several ? number(low) + " · " : ""}step ${Math.min(...steps)}`;
    scales[2].textContent = Math.max(...steps);
  }

  // The curves of a state by metric, then by phase: "train/loss/accuracy" is loss/accuracy of train.
  function byMetric(curves) {
    const found = {};
    for (const [path, points] of Object.entries(curves)) {
      const cut = path.indexOf("/"), name = path.slice(cut + 1);
      if (points.length) (found[name] ||= {})[path.slice(0, cut)] = points;
    }
    return found;
  }

  run.number = number;
  run.element = element;
  run.on(["curves"], (state) => {
    const found = byMetric(state.curves);
    // After a reset some may be gone: a page that was left open while another run took the port.
    for (const [name, { figure }] of charts) {
      if (found[name]) continue;
      figure.remove();
      charts.delete(name);
    }
    for (const [name, phases] of Object.entries(found)) drawChart(name, phases);
  });
})();
