// Colours of both themes. Those of workers are the ones of all drawings (netpart/draw/palette.py).

export const LIGHT = {
  dark: false, page: "#ffffff", text: "#1c1c1c", faint: "#555555", line: "#555555", frame: "#f6f6f6", box: "#ffffff",
  port: "#e9ecef", chosen: "#c2185b", heat: ["#ffe08a", "#f4a259", "#d1495b"],
};
export const DARK = {
  dark: true, page: "#14171c", text: "#eceff4", faint: "#a7b0bd", line: "#97a1af", frame: "#1c2027", box: "#262b34",
  port: "#2f3642", chosen: "#ff6fa3", heat: ["#6b5a1e", "#b06a2c", "#e0566b"],
};

// Two colours "#rrggbb", mixed; `share` is that of the second.
function mixColours(one, other, share) {
  const parse = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const [first, second] = [parse(one), parse(other)];
  const mixed = first.map((value, index) => Math.round(value * (1 - share) + second[index] * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

// The colours of each worker in a theme: `line` for outlines and arrows, `fill` for boxes, `field` as
// background, `stripe` at the sides of a box that several workers compute.
export function workerColours(colours, theme) {
  return colours.map(([line, fill, field]) => {
    if (!theme.dark) return { line, fill, field, stripe: fill };
    const bright = mixColours(line, "#ffffff", 0.4);
    return { line: bright, fill: mixColours(line, "#20252d", 0.45), field: mixColours(line, "#14171c", 0.86), stripe: bright };
  });
}

// The colour of a share from 0 to 1.
export function heatColour(theme, share) {
  const [low, middle, high] = theme.heat;
  return share < 0.5 ? mixColours(low, middle, 2 * share) : mixColours(middle, high, 2 * share - 1);
}
