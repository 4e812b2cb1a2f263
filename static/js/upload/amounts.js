// Sizes and times as people read them.

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

/** All digits, for limits and what breaks them. @param {number} value */
export function exact(value) {
  return value.toLocaleString("en");
}
