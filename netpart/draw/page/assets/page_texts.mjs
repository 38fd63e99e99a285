// Numbers as text with units, exactly as netpart/units.py writes them.

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const COUNT_UNITS = ["", "k", "M", "G", "T", "P"];

// One decimal; a tie goes to the even digit, as in Python.
function roundTenth(value) {
  const scaled = value * 10;
  const below = Math.floor(scaled);
  const exact = scaled - below === 0.5 && scaled / 10 === value;
  return ((exact ? below + (below % 2) : Math.round(scaled)) / 10).toFixed(1);
}

function scaledText(count, base, units) {
  let value = count;
  let power = 0;
  while (Number(power ? roundTenth(value) : Math.round(value)) >= base && power < units.length - 1) {
    value /= base;
    power += 1;
  }
  return `${power ? roundTenth(value) : Math.round(value)} ${units[power]}`.trimEnd();
}

export function bytesText(count) {
  return scaledText(count, 1024, BYTE_UNITS);
}

export function countText(count) {
  return scaledText(count, 1000, COUNT_UNITS);
}

// "603,979,776 bytes"
export function exactText(count) {
  return `${count.toLocaleString("en-US")} bytes`;
}

export function waysText(forward, backward) {
  const up = backward ? [`↑ ${bytesText(backward)}`] : [];
  return [...(forward > 0 || !up.length ? [`↓ ${bytesText(forward)}`] : []), ...up].join("  ");
}
