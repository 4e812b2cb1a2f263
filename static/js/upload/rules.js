// Names that never belong in a module's archive, checked before any file is read. The server has the same rules
// (apps/lib/archives/layouts.py, and apps/lib/archives/rules/collector.py for keys): a folder becomes the same module as
// its zip.

const FOLDERS = new Set([".git", ".terraform", "terraform.tfstate.d", "__macosx"]);
const FILES = [/^\.git$/, /^\.terraform$/, /^\.ds_store$/, /^thumbs\.db$/, /^\._/, /^\..*\.tfstate\.lock\.info$/];
const STATE = /(?:\.tfstate|\.tfstate\..*backup)$|(?:^|\/)terraform\.tfstate\.d\//;
const KEY_NAME = /(?:^|\/)(?:[^/]*\.pem|id_(?:rsa|dsa|ecdsa|ed25519))$/i;
const KEY_HEAD = /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-/g;
const KEY_LINE = /[A-Za-z0-9+/]{40,}/g;
const MODULE_FILE = /(?:^|\/)[^./][^/]*\.(?:tf|tofu)(?:\.json)?$/;
const HEAD_BYTES = 4096;

/**
 * The part of the path to leave out: a folder with its slash, a file, or the empty string.
 * @param {string} path @param {boolean} isFolder
 */
export function leftOut(path, isFolder = false) {
  const parts = path.split("/");
  const folders = isFolder ? parts : parts.slice(0, -1);
  const at = folders.findIndex((name) => FOLDERS.has(name.toLowerCase()));
  if (at >= 0) return `${parts.slice(0, at + 1).join("/")}/`;
  const file = isFolder ? "" : parts.at(-1).toLowerCase();
  return isState(path) || FILES.some((rule) => rule.test(file)) ? path : "";
}

/** @param {string} path */
export function isState(path) {
  return STATE.test(path.toLowerCase());
}

/** @param {{path: string, file: File}} one by its name, or by its first bytes */
export async function isPrivateKey({ path, file }) {
  if (KEY_NAME.test(path)) return true;
  try {
    return holdsKey(await file.slice(0, HEAD_BYTES).text());
  } catch {
    return false; // building the archive will fail as well, and name it
  }
}

/** Bytes of a key follow its first line: a placeholder has none. @param {string} text */
export function holdsKey(text) {
  return [...text.matchAll(KEY_HEAD)].some((begin) => {
    const [body] = text.slice(begin.index + begin[0].length).split("-----");
    return (body.match(KEY_LINE) ?? []).some((line) => [/[A-Z]/, /[a-z]/, /[0-9]/].every((one) => one.test(line)));
  });
}

/** Folders with a module file, "" for the top. @param {string[]} paths */
export function moduleFolders(paths) {
  const found = new Set();
  for (const path of paths) {
    if (MODULE_FILE.test(path)) found.add(path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  }
  return [...found].sort();
}

/** @param {string} name */
export function isModuleFile(name) {
  return MODULE_FILE.test(name);
}
