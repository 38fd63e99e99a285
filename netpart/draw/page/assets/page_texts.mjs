// Numbers as text with units, exactly as netpart/units.py writes them.

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const COUNT_UNITS = ["", "k", "M", "G", "T", "P"];

// One decimal. Only .25 and .75 are ties, and Python takes the even digit where toFixed takes the larger one.
function roundTenth(value) {
  return value % 1 === 0.25 ? `${Math.floor(value)}.2` : value.toFixed(1);
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
