// Files become one zip without being held in memory: each is read once for its CRC, and the archive is a Blob that
// joins our records with the files themselves, which the browser reads again while it sends them.

import { Crc32 } from "./crc32.js";
import { centralRecord, endRecord, localRecord } from "./records.js";

// Below this a single read is quicker than a stream.
const SMALL_BYTES = 256 * 1024;

/** A file that the browser may not read, or that changed while it was read: a link to nowhere is one as well. */
export class Unreadable extends Error {
  /** @param {string} path */
  constructor(path) {
    super(`${path} cannot be read`);
    this.path = path;
  }
}

/**
 * @param {{path: string, file: File}[]} files
 * @param {{signal: AbortSignal, onProgress: (bytes: number) => void}} watch
 * @returns {Promise<Blob>} rejects with the signal's reason, or with Unreadable
 */
export async function pack(files, { signal, onProgress }) {
  const encoder = new TextEncoder();
  const members = [];
  const parts = [];
  let at = 0;
  let read = 0;
  for (const { path, file } of [...files].sort(byPath)) {
    const before = read;
    const crc = await checksum(path, file, signal, (bytes) => onProgress((read += bytes)));
    if (read - before !== file.size) throw new Unreadable(path);
    const member = { name: encoder.encode(path), crc, size: file.size, at };
    const record = localRecord(member);
    parts.push(record, file);
    members.push(member);
    at += record.length + file.size;
  }
  const directory = members.map(centralRecord);
  const size = directory.reduce((sum, record) => sum + record.length, 0);
  return new Blob([...parts, ...directory, endRecord(members.length, size, at)], { type: "application/zip" });
}

async function checksum(path, file, signal, onBytes) {
  const crc = new Crc32();
  for await (const bytes of chunks(path, file)) {
    signal.throwIfAborted();
    crc.update(bytes);
    onBytes(bytes.length);
  }
  signal.throwIfAborted();
  return crc.value;
}

async function* chunks(path, file) {
  try {
    if (file.size <= SMALL_BYTES) {
      yield new Uint8Array(await file.arrayBuffer());
      return;
    }
    const reader = file.stream().getReader();
    try {
      for (let step = await reader.read(); !step.done; step = await reader.read()) yield step.value;
    } finally {
      reader.cancel().catch(() => {}); // nothing to do after the end; after an abort the rest is not wanted
    }
  } catch (error) {
    if (error instanceof DOMException) throw new Unreadable(path);
    throw error;
  }
}

// By code unit: the same order in every browser and language.
function byPath(one, other) {
  if (one.path === other.path) return 0;
  return one.path < other.path ? -1 : 1;
}
