// The records of a zip whose members are stored, not compressed (APPNOTE 4.3). Nothing in them tells when or where the
// archive was packed: the same files always give the same bytes.

const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
const NEEDS_2_0 = 20;
const MADE_BY_UNIX = (3 << 8) | NEEDS_2_0;
const NAMES_ARE_UTF8 = 1 << 11;
const NEW_YEAR_1980 = 0x0021; // the first day that the format can name
const ORDINARY_FILE = 0o100644 << 16;

/** Sizes and offsets from here on would need zip64, which the server refuses. */
export const MOST_BYTES = 0xffffffff - 1;

/** @typedef {{name: Uint8Array, crc: number, size: number, at: number}} Member */

/** How large the archive will be. @param {{name: Uint8Array, size: number}[]} members */
export function zipSize(members) {
  return members.reduce((sum, { name, size }) => sum + LOCAL_BYTES + CENTRAL_BYTES + 2 * name.length + size, END_BYTES);
}

/** @param {Member} member */
export function localRecord(member) {
  const view = new DataView(new ArrayBuffer(LOCAL_BYTES));
  view.setUint32(0, 0x04034b50, true);
  facts(view, 4, member);
  return join(view, member.name);
}

/** @param {Member} member */
export function centralRecord(member) {
  const view = new DataView(new ArrayBuffer(CENTRAL_BYTES));
  view.setUint32(0, 0x02014b50, true);
  view.setUint16(4, MADE_BY_UNIX, true);
  facts(view, 6, member);
  view.setUint32(38, ORDINARY_FILE >>> 0, true);
  view.setUint32(42, member.at, true);
  return join(view, member.name);
}

/** @param {number} entries @param {number} size of the directory @param {number} at where the directory begins */
export function endRecord(entries, size, at) {
  const view = new DataView(new ArrayBuffer(END_BYTES));
  view.setUint32(0, 0x06054b50, true);
  view.setUint16(8, entries, true);
  view.setUint16(10, entries, true);
  view.setUint32(12, size, true);
  view.setUint32(16, at, true);
  return new Uint8Array(view.buffer);
}

/** What both records of a member say alike; method and extra fields stay 0. */
function facts(view, at, { name, crc, size }) {
  view.setUint16(at, NEEDS_2_0, true);
  view.setUint16(at + 2, NAMES_ARE_UTF8, true);
  view.setUint16(at + 8, NEW_YEAR_1980, true);
  view.setUint32(at + 10, crc, true);
  view.setUint32(at + 14, size, true);
  view.setUint32(at + 18, size, true);
  view.setUint16(at + 22, name.length, true);
}

function join(view, name) {
  const record = new Uint8Array(view.byteLength + name.length);
  record.set(new Uint8Array(view.buffer));
  record.set(name, view.byteLength);
  return record;
}
