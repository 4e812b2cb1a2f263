// SHA-256 of a file of any size, piece by piece: the browser's own digest needs the whole file in memory.

const STEP = 4 * 1024 * 1024;
const primes = [];
for (let number = 2; primes.length < 64; number += 1) if (primes.every((prime) => number % prime)) primes.push(number);
const fraction = (root) => ((root - Math.floor(root)) * 2 ** 32) | 0;
const K = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)));
const START = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));

/** @param {Blob} blob @param {AbortSignal} [signal] @returns {Promise<string>} 64 hex digits */
export async function sha256(blob, signal) {
  const state = Int32Array.from(START);
  const words = new Int32Array(64);
  for (let at = 0; at + STEP <= blob.size; at += STEP) {
    signal?.throwIfAborted();
    blocks(state, words, new DataView(await blob.slice(at, at + STEP).arrayBuffer()));
  }
  const rest = new Uint8Array(await blob.slice(blob.size - (blob.size % STEP)).arrayBuffer());
  const padded = new Uint8Array(Math.ceil((rest.length + 9) / 64) * 64);
  padded.set(rest);
  padded[rest.length] = 0x80;
  const end = new DataView(padded.buffer);
  end.setUint32(padded.length - 8, Math.floor(blob.size / 2 ** 29));
  end.setUint32(padded.length - 4, (blob.size * 8) % 2 ** 32);
  blocks(state, words, end);
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

function blocks(state, w, view) {
  for (let at = 0; at < view.byteLength; at += 64) {
    for (let i = 0; i < 16; i += 1) w[i] = view.getInt32(at + i * 4);
    for (let i = 16; i < 64; i += 1) {
      const x = w[i - 15], y = w[i - 2];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i += 1) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const one = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a; a = (one + two) | 0;
    }
    const sums = [a, b, c, d, e, f, g, h];
    for (let i = 0; i < 8; i += 1) state[i] = (state[i] + sums[i]) | 0;
  }
}
