// The state of a run, as the feed tells it: https://html.spec.whatwg.org/#server-sent-events.

const MOST_POINTS = 4000;
const MOST_LINES = 1000;
const TABLES = ["charts", "memory", "sent"];

class RunState {
  constructor() {
    this.state = { curves: {}, log: [] };
    this.listeners = new Map();
    this.changed = null;
  }

  // A change replaces values of the state, or rows of its tables; curves and the log grow.
  merge(change) {
    const { reset, curves = {}, log = [], ...values } = change;
    for (const name of TABLES) if (name in values) values[name] = { ...(reset ? {} : this.state[name]), ...values[name] };
    if (reset) this.state = { curves: {}, log: [] };
    Object.assign(this.state, values);
    for (const [name, points] of Object.entries(curves)) {
      this.state.curves[name] = thin((this.state.curves[name] || []).concat(points));
    }
    this.state.log = this.state.log.concat(log).slice(-MOST_LINES);
  }

  // Panels are drawn at most once a frame, however many changes came, and only those whose values changed.
  announce(names) {
    if (this.changed) {
      names.forEach((name) => this.changed.add(name));
      return;
    }
    this.changed = new Set(names);
    requestAnimationFrame(() => {
      const now = this.changed;
      this.changed = null;
      for (const [draw, wanted] of this.listeners) {
        if (now.has("reset") || wanted.some((name) => now.has(name))) draw(this.state);
      }
    });
  }

  // Call `draw` with the state when one of these values has changed, until it is given to `off`.
  on(names, draw) {
    this.listeners.set(draw, names);
  }

  off(draw) {
    this.listeners.delete(draw);
  }

  connect() {
    const feed = new EventSource("feed" + location.search);
    feed.onmessage = (message) => {
      const change = JSON.parse(message.data);
      this.merge(change);
      this.state.link = this.state.end ? "ended" : "open";
      this.announce([...Object.keys(change), "link"]);
      // The server ends with the run, so there is nothing to connect to again.
      if (this.state.end) feed.close();
    };
    feed.onerror = () => {
      if (this.state.end) return;
      this.state.link = "lost";
      this.announce(["link"]);
    };
  }
}

// Every second point of a curve that became too long; its last one stays.
function thin(points) {
  if (points.length <= MOST_POINTS) return points;
  return points.filter((_, at) => at % 2 === 0 || at === points.length - 1);
}

export const run = new RunState();
window.netpartRun = run;
