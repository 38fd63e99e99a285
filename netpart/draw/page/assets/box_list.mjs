// The net as a list, for screen readers and for readers who prefer texts: blocks are opened, layers are chosen.

import { element } from "./page_elements.mjs";

export class BoxList {
  constructor(place, model, choose) {
    Object.assign(this, { place, model, choose });
  }

  // Fill the list when it is first shown.
  show() {
    if (!this.place.childElementCount) this.place.append(this.#list(0));
  }

  #list(box) {
    return element("ul", {}, ...this.model.children[box].map((child) => element("li", {}, this.#item(child))));
  }

  #item(box) {
    const { model } = this;
    const about = model.text(model.boxes.small[box]).split("\n").join(" ");
    const workers = model.workers(box);
    const text = `${model.name(box)}, ${about || model.text(model.boxes.head[box]) || "part"}, ${model.text(model.boxes.extent[box])}, worker${workers.length > 1 ? "s" : ""} ${workers.join(", ")}`;
    const button = element("button", { class: "link", click: () => this.choose({ box }) }, text);
    if (model.boxes.layout[box] < 0) return button;
    const details = element("details", { toggle: () => {
      if (details.open && details.childElementCount === 1) details.append(button, this.#list(box));
    } }, element("summary", {}, text));
    return details;
  }
}
