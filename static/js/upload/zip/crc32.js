// CRC-32 as zip uses it (reflected, polynomial 0xEDB88320), fed in steps.

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

export class Crc32 {
  #state = 0xffffffff;

  /** @param {Uint8Array} bytes */
  update(bytes) {
    let state = this.#state;
    for (let at = 0; at < bytes.length; at += 1) state = TABLE[(state ^ bytes[at]) & 0xff] ^ (state >>> 8);
    this.#state = state;
  }

  get value() {
    return (this.#state ^ 0xffffffff) >>> 0;
  }
}
