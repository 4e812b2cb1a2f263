// Sends the files of a draft one by one, smallest first. Skips files that the server has with the same bytes.

import { Changed, transfer } from "../transfer.js";
import { sha256 } from "./sha256.js";

/** The server's message about one file. */
export class FileRefused extends Error {}

/**
 * @param {{items: object[], received: {name: string, digest: string, size: number}[], release: string, signal: AbortSignal, onPause: (isLost: boolean, retry?: () => void) => void,
 *   onFile: (item: object, state: "compared" | "sending" | "sent", sent: number) => void}} job
 * @returns {Promise<void>} rejects with Cancelled, Broken, Changed, or FileRefused
 */
export async function sendAll({ items, received, release, signal, onPause, onFile }) {
  const there = new Map(received.map((one) => [one.name, one]));
  for (const item of [...items].sort((one, other) => one.size - other.size)) {
    if (!item.file) continue;
    if (await isThere(item, there.get(item.name), signal, onFile)) {
      onFile(item, "sent", item.size);
      continue;
    }
    onFile(item, "sending", 0);
    const url = `${release}/files/${encodeURIComponent(item.name)}`;
    const answer = await transfer({ url, body: item.file, signal, onPause, onProgress: (sent) => onFile(item, "sending", sent) });
    if (!answer.ok) throw new FileRefused(answer.error ?? `The server answered ${answer.status} to ${item.name}.`);
    onFile(item, "sent", item.size);
  }
}

async function isThere(item, known, signal, onFile) {
  if (!known || known.size !== item.size) return false;
  onFile(item, "compared", 0);
  try {
    return known.digest === `sha256:${await sha256(item.file, signal)}`;
  } catch (error) {
    if (error?.name === "AbortError") throw error;
    throw new Changed();
  }
}
