// Guesses the module from the name of an archive or folder. The version's pattern is that of apps/lib/versions.py.

const SUFFIX = /\.(?:zip|tar\.gz|tgz|tar\.bz2|tbz2|tar\.xz|txz|tar)$/i;
const HEADS = [[0x50, 0x4b], [0x1f, 0x8b], [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]];
const VERSION = /(?:^|[-_.@])[vV]?(\d+\.\d+\.\d+(?:-[0-9A-Za-z]+(?:[.-][0-9A-Za-z]+)*)?(?:\+[0-9A-Za-z.-]+)?)$/;
// The usual name of a module's repository: terraform-<system>-<name>.
const REPOSITORY = /^(?:terraform|opentofu|tofu)-([a-z0-9]+)-([A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*)$/;
// A download of a Git host ends with its branch.
const BRANCH = /-(?:main|master|HEAD)$/;
const NAME = /^[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*$/;

/**
 * @param {string} fileName
 * @returns {{version: string, name: string, system: string}} empty strings for unknown parts
 */
export function guess(fileName) {
  return isArchive(fileName) ? guessFolder(fileName.replace(SUFFIX, "")) : { version: "", name: "", system: "" };
}

/** @param {string} fileName */
export function isArchive(fileName) {
  return SUFFIX.test(fileName);
}

/** The first bytes are those of a zip, gzip or xz file: downloads may have no suffix. @param {File} file */
export async function beginsAsArchive(file) {
  const head = new Uint8Array(await file.slice(0, 6).arrayBuffer());
  return HEADS.some((bytes) => bytes.every((byte, at) => head[at] === byte));
}

/** The same for a name without a suffix. @param {string} stem */
export function guessFolder(stem) {
  const found = VERSION.exec(stem);
  const rest = found ? stem.slice(0, found.index) : stem;
  const repository = REPOSITORY.exec(rest.replace(BRANCH, ""));
  if (repository) return { version: found?.[1] ?? "", name: repository[2], system: repository[1] };
  return { version: found?.[1] ?? "", name: NAME.test(rest) ? rest : "", system: "" };
}
