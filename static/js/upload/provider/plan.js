// What the chosen files would become, before anything is sent: pure, from names, sizes and the two small files.

import { foundText, limitText } from "../amounts.js";
import { GENERAL_MANIFEST, guess, isCompanion, meaning, stem } from "./names.js";

const MOST_NAMED = 3;

/**
 * @typedef {{name: string, path: string, size: number, file: File | null}} Item `file` is null if the server has it
 * @typedef {{faults: string[], problems: string[], notes: string[], items: object[], ignored: string[], signing: object}} Plan `faults` are problems of
 * files as they are; other problems may solve themselves with further files
 * @param {Item[]} items @param {{address: {namespace: string, type: string, version: string}, custodies: string[],
 *   isOwner: boolean, offersProviders: boolean, limits: DOMStringMap, sums: object | null, manifest: object | null, protocols: string[]}} known
 * @returns {Plan}
 */
export function planOf(items, known) {
  const problems = [];
  const notes = [];
  const all = items.map((item) => ({ ...item, ...meaning(item.name) }));
  const { type, version } = known.address;
  const start = stem(type || guess(all).type, version); // without an address the files belong to what they name
  const ignored = all.filter(({ role }) => role === "ignored").map(({ path }) => path);
  const wanted = all.filter(({ role }) => !["ignored", "general-manifest"].includes(role));
  const general = all.find(({ role }) => role === "general-manifest");
  const listsManifest = known.sums?.digests.has(`${start}manifest.json`);
  if (general && !wanted.some(({ role }) => role === "manifest")) {
    // Sent under the name that the sums list; otherwise only its protocols are sent with the draft.
    if (listsManifest) wanted.push({ ...general, role: "manifest", name: `${start}manifest.json`, type, version });
    else notes.push(`${GENERAL_MANIFEST} is not sent: only its protocols are sent with the draft.`);
  }
  for (const item of wanted) item.fault = faultOf(item, { start, wanted, limits: known.limits });
  const faults = wanted.filter(({ fault }) => fault).map(({ path, fault }) => `${path} ${fault}`);
  wanted.sort((one, other) => one.name.localeCompare(other.name, "en"));
  const packages = wanted.filter(({ role, fault }) => role === "package" && !fault);
  if (!packages.length) problems.push(`There is no package: at least one ${start}<os>_<arch>.zip is needed.`);
  if (wanted.length > Number(known.limits.maxFiles)) faults.push(`${wanted.length} files are more than the ${known.limits.maxFiles} that a release may have.`);
  const has = (role) => wanted.find((item) => item.role === role);
  checkSums({ known, has, wanted, start, problems, notes });
  if (known.manifest?.problem) problems.push(`The manifest ${known.manifest.problem}`);
  const signing = signingOf({ has, problems, known });
  const [systems, architectures] = [known.limits.systems.split(" "), known.limits.architectures.split(" ")];
  return { systems, architectures, faults, problems: [...faults, ...problems], notes, items: wanted, packages, ignored, signing, hasManifest: Boolean(has("manifest")), protocols: known.protocols, size: wanted.reduce((sum, { size }) => sum + size, 0) };
}

export { guess, meaning };

function faultOf(item, { start, wanted, limits }) {
  if (item.role === "odd") return "has no platform in its name; expected …_<os>_<arch>.zip.";
  if (!item.name.startsWith(start)) return `belongs to ${item.type} ${item.version}, expected names that begin with ${start}.`;
  if (item.role === "package") {
    const [systems, architectures] = [limits.systems.split(" "), limits.architectures.split(" ")];
    if (!systems.includes(item.os) || !architectures.includes(item.arch)) return `is for ${item.os}_${item.arch}, which no client requests; expected one of ${systems.join(", ")} with one of ${architectures.join(", ")}.`;
  }
  const first = wanted.find(({ name }) => name === item.name);
  if (first !== item) return item.role === "package" ? `is ${item.os}_${item.arch} again, after ${first.path}. Remove one of them.` : `appears twice, see ${first.path}. Remove one of them.`;
  const of = { package: [limits.maxPackage, limits.packageSetting], docs: [limits.maxDocs, limits.docsSetting] };
  const [limit, setting] = of[item.role] ?? [limits.maxSmall, limits.smallSetting];
  if (item.size > Number(limit)) return `has ${foundText(item.size)}; ${setting} allows ${limitText(Number(limit))}.`;
  return item.size ? "" : "is empty.";
}

function checkSums({ known, has, wanted, start, problems, notes }) {
  const { sums, address } = known;
  const [file, signature] = [has("sums"), has("signature")];
  if (signature && !file) problems.push(`${signature.path} signs a SHA256SUMS that is missing. Add ${start}SHA256SUMS, or remove the signature and let the registry sign.`);
  if (file && !signature) notes.push(`${file.path} has no signature (${start}SHA256SUMS.sig): it is compared with the files, but not served.`);
  if (!file || !sums) return;
  if (sums.problem) problems.push(`${file.path}: ${sums.problem}`);
  const there = new Set(wanted.filter(({ role }) => role === "package" || role === "manifest").map(({ name }) => name));
  const missing = [...sums.digests.keys()].filter((name) => !there.has(name));
  const companions = missing.filter((name) => isCompanion(name, address));
  if (companions.length) notes.push(`${file.path} also lists ${andMore(companions)}: not needed, since clients look only for packages.`);
  for (const name of missing) if (!isCompanion(name, address)) problems.push(`${file.path} lists ${name}, ${waysOut(name, start, known.limits)}`);
  const faulty = new Set(wanted.filter(({ fault }) => fault).map(({ name }) => name));
  for (const name of there) if (!faulty.has(name) && !sums.digests.has(name)) problems.push(`${name} has no line in ${file.path}. Remove it, or create and sign the sums of all files.`);
}

/** The hint for a line without its file: it never advises to add a file that would not be sent. */
function waysOut(name, start, limits) {
  const { role, os, arch } = meaning(name);
  if (role === "docs") return "which clients do not verify and which can change. Create and sign the sums without it.";
  const isPackage = role === "package" && limits.systems.split(" ").includes(os) && limits.architectures.split(" ").includes(arch);
  if (!name.startsWith(start) || !(isPackage || role === "manifest")) return "which is not a file of this version. Create and sign the sums without it.";
  if (role === "manifest") return `which is missing. Add it, or ${GENERAL_MANIFEST} of the repository, which is sent under that name; or create and sign the sums without it.`;
  return "which is missing. Add it, or create and sign the sums without it.";
}

function andMore(names) {
  const more = names.length - MOST_NAMED;
  return names.slice(0, MOST_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function signingOf({ has, problems, known }) {
  const { namespace: where } = known.address;
  if (!where) {
    // No fault of a person who is just beginning; the server says it if they send the form like this.
    const next = known.offersProviders ? "Choose the provider, or “A new provider” and its namespace." : "Choose a namespace.";
    return { how: "open", title: "Who signs it depends on the namespace", text: next };
  }
  if (has("sums") && has("signature")) {
    if (known.custodies.includes("publisher")) return { how: "publisher", title: "Publisher-signed", text: `SHA256SUMS and its signature are here: they are verified with the keys that ${where} registered, and served unchanged.` };
    problems.push(`${where} has no registered public key to verify the signature. ${known.isOwner ? "Register it" : "Ask an owner to register it"} on the signing keys page; or remove checksums and signature to let the registry sign.`);
    return { how: "none", title: "It cannot be signed", text: `There is a signature, but ${where} has no active public key to verify it with.` };
  }
  if (known.custodies.includes("registry")) return { how: "registry", title: "Registry-signed", text: `The publisher sent no signature: Larder writes SHA256SUMS and signs it with its own key for ${where}.` };
  const key = known.isOwner ? "generate a signing key" : `ask an owner of ${where} to generate a signing key`;
  problems.push(`There is no signature. Add ${stem(known.address.type, known.address.version)}SHA256SUMS with its .sig, or ${key}.`);
  return { how: "none", title: "It cannot be signed", text: `${where} has no active key for the registry to sign with.` };
}
