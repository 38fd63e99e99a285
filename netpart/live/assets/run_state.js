"use strict";
// The state of a run, as the feed tells it: https://html.spec.whatwg.org/#server-sent-events.
window.netpartRun = (() => {
  const MOST_POINTS = 4000;
  const MOST_LINES = 1000;
  const TABLES = ["charts", "memory", "sent"];
  let state = { curves: {}, log: [] };
  const listeners = [];

  // Every second point of a curve that became too long; its last one stays.
  function thin(points) {
    if (points.length <= MOST_POINTS) return points;
    return points.filter((_, at) => at % 2 === 0 || at === points.length - 1);
  }

  // A change replaces values of the state, or rows of its tables; curves and the log grow.
  function merge(change) {
    const { reset, curves = {}, log = [], ...values } = change;
    for (const name of TABLES) if (name in values) values[name] = { ...(reset ? {} : state[name]), ...values[name] };
    if (reset) state = { curves: {}, log: [] };
    Object.assign(state, values);
    for (const [name, points] of Object.entries(curves)) {
      state.curves[name] = thin((state.curves[name] || []).concat(points));
    }
    state.log = state.log.concat(log).slice(-MOST_LINES);
  }

  // Panels are drawn at most once a frame, however many changes came, and only those whose values changed.
  let changed = null;
  function announce(names) {
    if (changed) return names.forEach((name) => changed.add(name));
    changed = new Set(names);
    requestAnimationFrame(() => {
      const now = changed;
      changed = null;
      for (const [wanted, draw] of listeners) {
        if (now.has("reset") || wanted.some((name) => now.has(name))) draw(state);
      }
    });
  }

  function on(names, draw) {
    listeners.push([names, draw]);
  }

  function connect() {
    const feed = new EventSource("feed" + location.search);
    feed.onmessage = (message) => {
      const change = JSON.parse(message.data);
      merge(change);
      state.link = state.end ? "ended" : "open";
      announce([...Object.keys(change), "link"]);
      // The server ends with the run, so there is nothing to connect to again.
      if (state.end) feed.close();
    };
    feed.onerror = () => {
      if (state.end) return;
      state.link = "lost";
      announce(["link"]);
    };
  }

  return { on, connect, merge, announce, get state() { return state; } };
})();
