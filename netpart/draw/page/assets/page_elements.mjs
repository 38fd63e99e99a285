// Elements of the page. Texts become text nodes, never markup: a layer may have any name.

export function element(tag, attributes = {}, ...children) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") found.addEventListener(name, value);
    else if (value !== undefined && value !== false) found.setAttribute(name, value === true ? "" : value);
  }
  found.append(...children.filter((child) => child !== undefined && child !== null && child !== ""));
  return found;
}

export function tableOf(head, rows, caption) {
  const cell = (tag) => (content) => {
    const [value, right] = Array.isArray(content) ? content : [content, false];
    return element(tag, { class: right ? "right" : undefined, scope: tag === "th" ? "col" : undefined }, value);
  };
  return element("div", { class: "scroll" }, element("table", {},
    caption ? element("caption", {}, caption) : "",
    element("thead", {}, element("tr", {}, ...head.map(cell("th")))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cell("td"))))),
  ));
}
