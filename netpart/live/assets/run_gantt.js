"use strict";
// The last sampled step as a Gantt chart: a row for each worker, a bar for each action. What is nested in an action,
// such as a wait within a receive, is drawn over it.
(() => {
  const run = window.netpartRun;
  const KINDS = ["read", "forward", "backward", "update", "move", "talk", "wait"];
  const NAMES = { talk: "send, receive", move: "copy, add" };
  const ROW = 26, GAP = 6, LABEL = 70;
  const place = document.querySelector("#gantt div");

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const found = Object.fromEntries(KINDS.map((kind) => [kind, style.getPropertyValue("--" + kind)]));
    return { ...found, ink: style.getPropertyValue("--ink"), line: style.getPropertyValue("--line") };
  }

  function drawChart(chart, canvas) {
    const ratio = devicePixelRatio || 1, wide = place.clientWidth, high = chart.workers.length * (ROW + GAP) + 18;
    canvas.width = wide * ratio;
    canvas.height = high * ratio;
    canvas.style.height = high + "px";
    const pen = canvas.getContext("2d"), look = colours(), scale = (wide - LABEL) / (chart.micros || 1);
    pen.scale(ratio, ratio);
    pen.font = "12px system-ui, sans-serif";
    chart.workers.forEach((worker, at) => drawRow(pen, worker, at * (ROW + GAP), scale, look));
    pen.fillStyle = look.ink;
    pen.fillText("0 ms", LABEL, high - 4);
    const millis = chart.micros / 1000;
    const end = `${millis >= 100 ? millis.toFixed(0) : millis.toPrecision(3)} ms`;
    pen.fillText(end, wide - pen.measureText(end).width, high - 4);
  }

  function drawRow(pen, worker, top, scale, look) {
    pen.fillStyle = look.ink;
    pen.fillText("worker " + worker.rank, 0, top + ROW * 0.65);
    pen.fillStyle = look.line;
    pen.fillRect(LABEL, top + ROW, 1e4, 1);
    for (const [kind, , start, length] of worker.bars) {
      pen.fillStyle = look[kind] || look.move;
      const inset = kind === "wait" ? 4 : 0;
      pen.fillRect(LABEL + start * scale, top + inset, Math.max(length * scale, 0.5), ROW - 2 * inset);
    }
  }

  // The bar at a point: the last one drawn there, which lies on top.
  function barAt(chart, x, y) {
    const worker = chart.workers[Math.floor(y / (ROW + GAP))];
    const micros = ((x - LABEL) / (place.clientWidth - LABEL)) * chart.micros;
    const bars = worker ? worker.bars.filter((bar) => bar[2] <= micros && micros <= bar[2] + bar[3]) : [];
    return bars.length ? [worker, bars[bars.length - 1]] : null;
  }

  function describe(found) {
    if (!found) return "";
    const [worker, [, name, start, length, count]] = found;
    const more = count > 1 ? ` and ${count - 1} more` : "";
    return `worker ${worker.rank}: ${name}${more}, ${(length / 1000).toFixed(3)} ms from ${(start / 1000).toFixed(3)} ms`;
  }

  function addCanvas(chart) {
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `step ${chart.step} of ${chart.workers.length} workers`);
    canvas.onpointermove = canvas.onpointerdown = (move) => {
      document.querySelector("#hint").textContent = describe(barAt(chart, move.offsetX, move.offsetY));
    };
    place.append(canvas);
    drawChart(chart, canvas);
  }

  function makeKey() {
    const key = document.createElement("ul");
    key.className = "key";
    for (const kind of KINDS) {
      const item = document.createElement("li"), mark = document.createElement("i");
      mark.className = kind;
      item.append(mark, NAMES[kind] || kind);
      key.append(item);
    }
    return key;
  }

  // The milliseconds of each worker by kind: the chart as text.
  function makeTable(workers) {
    const line = (name, values) => run.element("tr", "", ...values.map((value) => run.element(name, "", value)));
    const rows = workers.map(({ rank, own }) => line("td", [`worker ${rank}`, ...KINDS.map((kind) => ((own[kind] || 0) / 1000).toFixed(2))]));
    const table = run.element("table", "", line("th", ["ms", ...KINDS.map((kind) => NAMES[kind] || kind)]), ...rows);
    return run.element("div", "scroll", table);
  }

  function draw(state) {
    const charts = Object.entries(state.charts || {});
    const actions = charts.some(([, chart]) => chart.workers.some((worker) => worker.bars.length));
    place.replaceChildren();
    if (!charts.length) return;
    const named = charts.map(([group, chart]) => (charts.length > 1 ? `group ${group}: ` : "") + `step ${chart.step}`);
    document.querySelector("#gantt .note").textContent = actions ? named.join(", ")
      : "steps on GPUs are not sampled: netpart profile traces them";
    if (!actions) return;
    charts.forEach(([, chart]) => addCanvas(chart));
    place.append(makeKey(), makeTable(charts.flatMap(([, chart]) => chart.workers)));
  }

  run.on(["charts"], draw);
  addEventListener("resize", () => draw(run.state));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(run.state));
})();
