// Plays one step: at each tick of the rehearsed order, what each worker is at, and whom it waits for.

import { element } from "./page_elements.mjs";

const START = 4;
const RECEIVE = 3;
const WAIT = 5;
const PER_SECOND = 12; // ticks that are played in a second

export class StepOrder {
  constructor(content) {
    this.content = content;
    this.workers = content.steps.workers;
    this.last = Math.max(0, ...this.workers.map((own) => own.tick[own.tick.length - 1] ?? 0));
    // The tick in which each member starts a collective, by channel.
    this.starts = new Map();
    this.workers.forEach((own, worker) => own.verb.forEach((verb, index) => {
      if (verb !== START) return;
      const known = this.starts.get(own.channel[index]) ?? [];
      this.starts.set(own.channel[index], [...known, [worker, own.tick[index]]]);
    }));
  }

  // What `worker` is at in `tick`: the number of its act, and the workers that it waits for. null after its last act.
  at(worker, tick) {
    const own = this.workers[worker];
    let low = 0;
    let high = own.tick.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (own.tick[middle] < tick) low = middle + 1;
      else high = middle;
    }
    if (low === own.tick.length) return null;
    return { act: low, waitsFor: own.tick[low] > tick ? this.#awaited(own, low, tick) : [] };
  }

  #awaited(own, act, tick) {
    if (own.verb[act] === RECEIVE) return [own.peer[act]];
    const starts = own.verb[act] === WAIT ? this.starts.get(own.channel[act]) ?? [] : [];
    return starts.filter(([, start]) => start >= tick).map(([worker]) => worker);
  }

  // The next tick, from `tick` on, in which a worker waits; -1 if none does.
  nextWait(tick) {
    for (let each = tick; each <= this.last; each += 1) {
      if (this.workers.some((_, worker) => this.at(worker, each)?.waitsFor.length)) return each;
    }
    return -1;
  }
}

export class StepPlayer {
  // `show` takes the marks of GraphView.setMarks.
  constructor(parts, model, show) {
    Object.assign(this, { parts, model, show });
    this.order = new StepOrder(model.content);
    this.playing = false;
    parts.slider.max = String(this.order.last);
    parts.slider.addEventListener("input", () => this.seek(Number(parts.slider.value)));
    parts.play.addEventListener("click", () => this.toggle());
    parts.back.addEventListener("click", () => this.seek(this.tick - 1));
    parts.next.addEventListener("click", () => this.seek(this.tick + 1));
    parts.wait.addEventListener("click", () => this.goToWait());
    this.tick = 0;
  }

  go(tick) {
    this.tick = Math.min(Math.max(tick, 0), this.order.last);
    this.parts.slider.value = String(this.tick);
    this.parts.where.textContent = `${this.tick} of ${this.order.last}`;
    const all = this.order.workers.map((_, worker) => this.order.at(worker, this.tick));
    this.show(all.map((found, worker) => ({ worker, box: found ? this.#boxOf(worker, found.act) : -1, waitsFor: found?.waitsFor })));
    this.parts.lines.replaceChildren(...all.map((found, worker) => this.#line(worker, found)));
  }

  // What the user chooses ends the playing, which would go on from elsewhere.
  seek(tick) {
    if (this.playing) this.toggle();
    this.go(tick);
  }

  goToWait() {
    const found = this.order.nextWait(this.tick + 1);
    if (found >= 0) this.seek(found);
    else this.parts.where.textContent = "no worker waits after this";
  }

  toggle() {
    this.playing = !this.playing;
    this.parts.play.textContent = this.playing ? "Pause" : "Play";
    cancelAnimationFrame(this.frame);
    if (this.playing) this.#run(performance.now(), this.tick >= this.order.last ? 0 : this.tick);
  }

  #run(began, from) {
    if (!this.playing) return;
    const tick = from + Math.floor(((performance.now() - began) / 1000) * PER_SECOND);
    if (tick !== this.tick) this.go(tick);
    if (tick >= this.order.last) this.toggle();
    else this.frame = requestAnimationFrame(() => this.#run(began, from));
  }

  #boxOf(worker, act) {
    return this.order.workers[worker].box[act];
  }

  #line(worker, found) {
    const chip = element("span", { class: `worker w${worker % 16}` }, String(worker));
    if (!found) return element("li", {}, chip, " has finished the step");
    const text = this.#actText(worker, found.act);
    if (!found.waitsFor.length) return element("li", {}, chip, ` ${text}`);
    return element("li", { class: "waits" }, chip, ` waits for worker${found.waitsFor.length > 1 ? "s" : ""} ${found.waitsFor.join(", ")}, then ${text}`);
  }

  #actText(worker, act) {
    const own = this.order.workers[worker];
    const { verbs } = this.model.content.about;
    const name = own.text[act] >= 0 ? this.model.text(own.text[act]) : this.model.name(own.box[act]);
    const peer = own.peer[act] >= 0 ? (own.verb[act] === RECEIVE ? ` from worker ${own.peer[act]}` : ` to worker ${own.peer[act]}`) : "";
    const micro = this.model.content.check.micro_batches > 1 ? `, micro-batch ${own.micro[act]}` : "";
    return `${verbs[own.verb[act]]} ${name}${peer}${micro}`;
  }
}
