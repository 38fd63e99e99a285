"use strict";
// One small chart for each metric: training is a line, validations and tests are dots.
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

  function span(values) {
    const known = values.filter((value) => value !== null);
    const low = Math.min(...known), high = Math.max(...known);
    return low < high ? [low, high] : [low - 0.5, high + 0.5];
  }

  function makeChart(name) {
    const figure = document.createElement("figure");
    figure.innerHTML = "<figcaption><span></span><b></b></figcaption><div class=scale><span></span></div>";
    figure.append(shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img" }));
    figure.append(figure.querySelector(".scale").cloneNode(true));
    figure.lastChild.append(document.createElement("span"));
    figure.querySelector("figcaption span").textContent = name;
    document.querySelector("#curves .grid").append(figure);
    return figure;
  }

  function drawChart(name, points) {
    if (!charts.has(name)) charts.set(name, makeChart(name));
    const figure = charts.get(name), svg = figure.querySelector("svg");
    const [left, right] = span(points.map((p) => p[0])), [low, high] = span(points.map((p) => p[2]));
    const place = ([step, , value]) => [
      EDGE + ((step - left) / (right - left)) * (WIDE - 2 * EDGE),
      HIGH - EDGE - ((value - low) / (high - low)) * (HIGH - 2 * EDGE),
    ].map((number) => number.toFixed(1));
    const places = points.filter((p) => p[2] !== null).map(place);
    const dots = name.startsWith("train/") && places.length > 1 ? []
      : places.map(([x, y]) => shape("circle", { cx: x, cy: y, r: 2 }));
    const path = shape("path", { d: places.map((p, at) => (at ? "L" : "M") + p.join(" ")).join("") });
    svg.replaceChildren(shape("line", { x1: 0, x2: WIDE, y1: HIGH - 1, y2: HIGH - 1 }), path, ...dots);
    const last = points[points.length - 1];
    figure.querySelector("b").textContent = number(last[2]);
    svg.setAttribute("aria-label", `${name} at step ${last[0]}: ${number(last[2])}`);
    const [top, from, to] = figure.querySelectorAll(".scale span");
    top.textContent = number(high);
    from.textContent = `${number(low)} · step ${points[0][0]}`;
    to.textContent = last[0];
  }

  function number(value) {
    if (value === null) return "none";
    const size = Math.abs(value);
    return size >= 1e6 || (size > 0 && size < 1e-3) ? value.toExponential(3) : String(Number(value.toPrecision(5)));
  }

  run.number = number;
  run.on(["curves"], (state) => {
    // After a reset some may be gone: a page that was left open while another run took the port.
    for (const [name, figure] of charts) {
      if (state.curves[name]) continue;
      figure.remove();
      charts.delete(name);
    }
    for (const [name, points] of Object.entries(state.curves)) if (points.length) drawChart(name, points);
  });
})();
