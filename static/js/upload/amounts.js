// Sizes and times for people.

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${Math.round(bytes)} bytes`;
  const [amount, unit] = bytes < 999_500 ? [bytes / 1000, "kB"] : [bytes / 1_000_000, "MB"];
  return `${amount.toFixed(amount < 9.95 ? 1 : 0)} ${unit}`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return `${Math.ceil(seconds / 60)} min`;
}

const MIB = 1024 * 1024;

/** The limit as set, without rounding, as in apps/lib/amounts.py. @param {number} bytes */
export function limitText(bytes) {
  return bytes && bytes % MIB === 0 ? `${exact(bytes / MIB)} MiB` : `${exact(bytes)} bytes`;
}

/** Rounded up, so that a size over the limit reads larger than it. @param {number} bytes */
export function foundText(bytes) {
  return bytes < MIB ? `${exact(bytes)} bytes` : `${(Math.ceil((bytes / MIB) * 10) / 10).toFixed(1)} MiB`;
}

/** 1 problem, 2 problems. @param {number} count @param {string} noun */
export function counted(count, noun) {
  return `${exact(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** All digits. @param {number} value */
export function exact(value) {
  return value.toLocaleString("en");
}
