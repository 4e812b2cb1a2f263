// The files of a dropped or chosen folder, without those that a rule leaves out.

import { leftOut } from "./rules.js";
import { Unreadable } from "./zip/pack.js";

/** More entries than an archive may have; the rest was not read. */
export class TooMany extends Error {}

/** @typedef {{name: string, files: {path: string, file: File}[], leftOut: string[]}} Folder */

/**
 * From a drop. A single folder gives its contents without its own name; anything else stays as dropped.
 * @param {FileSystemEntry[]} entries @param {number} most
 * @returns {Promise<Folder>} rejects with Unreadable or TooMany
 */
export async function walk(entries, most) {
  const found = { name: "", files: [], leftOut: [] };
  const [first] = entries;
  const isOne = entries.length === 1 && first.isDirectory;
  if (isOne) found.name = first.name;
  const waiting = (isOne ? await children(first, "") : entries).map((entry) => ({ entry, path: entry.name }));
  while (waiting.length) {
    const { entry, path } = waiting.pop();
    const out = leftOut(path, entry.isDirectory);
    if (out) found.leftOut.push(out);
    else if (entry.isDirectory) {
      for (const child of await children(entry, path)) waiting.push({ entry: child, path: `${path}/${child.name}` });
    } else {
      found.files.push({ path, file: await fileOf(entry, path) });
      if (found.files.length > most) throw new TooMany();
    }
  }
  found.leftOut.sort();
  return found;
}

/** From an input with `webkitdirectory`, which lists all files. @param {FileList} list @returns {Folder} */
export function listed(list) {
  const files = [];
  const out = new Set();
  let name = "";
  for (const file of list) {
    const [top, ...rest] = file.webkitRelativePath.split("/");
    const path = rest.join("/");
    name = top;
    const part = leftOut(path);
    if (part) out.add(part);
    else files.push({ path, file });
  }
  return { name, files, leftOut: [...out].sort() };
}

/** From files dropped without a folder. @param {FileList} list @returns {Folder} */
export function loose(list) {
  const all = [...list].map((file) => ({ path: file.name, file }));
  return {
    name: "",
    files: all.filter(({ path }) => !leftOut(path)),
    leftOut: all.map(({ path }) => leftOut(path)).filter(Boolean),
  };
}

async function children(folder, path) {
  const reader = folder.createReader();
  const all = [];
  try {
    // Each call returns a batch (Chromium: 100), after the last an empty one.
    for (let batch = await read(reader); batch.length; batch = await read(reader)) all.push(...batch);
  } catch {
    throw new Unreadable(`${path || folder.name}/`);
  }
  return all;
}

function read(reader) {
  return new Promise((resolve, reject) => reader.readEntries(resolve, reject));
}

function fileOf(entry, path) {
  return new Promise((resolve, reject) => entry.file(resolve, () => reject(new Unreadable(path))));
}
