// The two small files that are read before anything is sent: the checksums and the manifest.

const LINE = /^([0-9a-f]{64}) {2}([!-~]+)$/;
const MOST_MANIFEST = 64 * 1024;

/**
 * @param {File} file
 * @returns {Promise<{digests: Map<string, string>, problem: string}>} the digest of each name; the first fault, or ""
 */
export async function readSums(file, most) {
  if (file.size > most) return { digests: new Map(), problem: "" }; // its size is reported elsewhere
  const lines = (await file.text()).replace(/\n$/, "").split("\n");
  const digests = new Map();
  let problem = "";
  for (const [index, line] of lines.entries()) {
    const found = LINE.exec(line);
    if (found && !digests.has(found[2])) digests.set(found[2], found[1]);
    else problem ||= `line ${index + 1} is ${fault(line, found)}; expected 64 lower-case hex digits, two spaces and a file name, each file once. Create it again with sha256sum, and sign it again.`;
  }
  return { digests, problem };
}

function fault(line, found) {
  if (found) return `a second line for ${found[2]}`;
  if (!line.trim()) return "blank, which crashes clients";
  if (line.endsWith("\r")) return "one with a Windows line ending";
  return "malformed";
}

/** @param {File} file @returns {Promise<{protocols: string[], problem: string}>} */
export async function readManifest(file) {
  try {
    if (file.size > MOST_MANIFEST) throw new SyntaxError();
    const fields = JSON.parse(await file.text());
    const protocols = fields?.metadata?.protocol_versions;
    if (Array.isArray(protocols) && protocols.length && protocols.every((one) => typeof one === "string")) return { protocols, problem: "" };
    return { protocols: [], problem: 'names no protocols; expected {"version": 1, "metadata": {"protocol_versions": ["5.0"]}}.' };
  } catch {
    return { protocols: [], problem: "is not valid JSON." };
  }
}
