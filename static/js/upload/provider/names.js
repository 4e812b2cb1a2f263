// What the file names of a build folder say. The server has the same rules (apps/lib/packages/names.py).

const START = "terraform-provider-";
const REST = { SHA256SUMS: "sums", "SHA256SUMS.sig": "signature", "manifest.json": "manifest", "docs.zip": "docs" };
export const GENERAL_MANIFEST = "terraform-registry-manifest.json";

/**
 * @typedef {{role: "package" | "sums" | "signature" | "manifest" | "docs" | "general-manifest" | "odd" | "ignored",
 *   type?: string, version?: string, os?: string, arch?: string}} Meaning
 */

/** @param {string} name without its folders @returns {Meaning} `odd` if it looks like a package and cannot be read */
export function meaning(name) {
  if (name === GENERAL_MANIFEST) return { role: "general-manifest" };
  if (!name.startsWith(START)) return { role: "ignored" };
  const [type, version, ...more] = name.slice(START.length).split("_");
  const rest = more.join("_");
  if (type && version && Object.hasOwn(REST, rest)) return { role: REST[rest], type, version };
  if (!name.endsWith(".zip")) return { role: "ignored" };
  const [os, ...words] = rest.slice(0, -".zip".length).split("_");
  const arch = words.join("_");
  return type && version && os && arch ? { role: "package", type, version, os, arch } : { role: "odd" };
}

/** @param {string} type @param {string} version */
export function stem(type, version) {
  return `${START}${type}_${version}_`;
}

/**
 * Whether it is an SBOM, the sources or the like of that version: checksums may list it, and no client looks for it.
 * GoReleaser writes a dash into the names of source archives.
 */
export function isCompanion(name, { type, version }) {
  const starts = [stem(type, version).slice(0, -1), stem(`${type}-${version}`, "").slice(0, -2)];
  const isOfIt = starts.some((start) => name.startsWith(start) && /^[_.]/.test(name.slice(start.length)));
  return isOfIt && !/\.zip$/i.test(name) && meaning(name).role === "ignored";
}

/** The provider and version that most files name. @param {Meaning[]} meanings */
export function guess(meanings) {
  const counts = new Map();
  for (const { type, version } of meanings) {
    if (type) counts.set(`${type}_${version}`, (counts.get(`${type}_${version}`) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, one], [, other]) => other - one);
  const [type, version] = most ? most[0].split("_") : ["", ""];
  return { type, version };
}
