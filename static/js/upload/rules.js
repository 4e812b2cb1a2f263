// What never belongs into a module's archive, by name, before anything of it is read; the server has the same rules.

const FOLDERS = new Set([".git", ".terraform", "__MACOSX"]);
const FILES = new Set([".git", ".DS_Store", "Thumbs.db"]);
const STATE = /\.tfstate/i;
const KEY_NAME = /(?:^|\/)(?:[^/]*\.pem|id_(?:rsa|dsa|ecdsa|ed25519))$/i;
const KEY_HEAD = /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY/;
const MODULE_FILE = /\.(?:tf|tofu)(?:\.json)?$/;
const HEAD_BYTES = 4096;

/**
 * The part of the path that is left out: a folder with its slash, a file, or the empty string.
 * @param {string} path @param {boolean} isFolder
 */
export function leftOut(path, isFolder = false) {
  const parts = path.split("/");
  for (const [at, name] of parts.entries()) {
    const folder = isFolder || at < parts.length - 1;
    if (STATE.test(name) || (folder ? FOLDERS : FILES).has(name)) return parts.slice(0, at + 1).join("/") + (folder ? "/" : "");
  }
  return "";
}

/** @param {string} path */
export function isState(path) {
  return STATE.test(path);
}

/** @param {{path: string, file: File}} one by its name, or by what it begins with */
export async function isPrivateKey({ path, file }) {
  if (KEY_NAME.test(path)) return true;
  try {
    return KEY_HEAD.test(await file.slice(0, HEAD_BYTES).text());
  } catch {
    return false; // reading it for the archive will fail as well, and name it
  }
}

/** The folders that hold a module file, the top as the empty string. @param {string[]} paths */
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
