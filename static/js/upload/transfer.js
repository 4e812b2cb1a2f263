// Sends one file in as many requests as the line needs (tus 1.0): asks how much has come, sends the rest, and begins
// again at that offset when the line breaks. XMLHttpRequest, because fetch has no upload progress.
//
// Where the server says that storage takes bytes, it gives a link for each part, and records the part once it is there.

const PAUSES = [1, 2, 4, 8, 15, 30]; // seconds before the next attempt
const MOST_ATTEMPTS = 8; // in a row that brought no byte further
const LEAST_FOR_STORAGE = 1_000_000; // bytes; a link for less takes longer than sending it
const MOST_REFUSALS = 2; // of storage, in a row: from then on the bytes go to the server
const OUTAGES = [408, 409, 429, 500, 502, 503, 504];

export class Cancelled extends Error {}
/** The line stayed broken. What has come is kept: sending the same file again continues it. */
export class Broken extends Error {}
/** The file cannot be read any more. */
export class Changed extends Error {}

/**
 * @param {{url: string, body: Blob, signal: AbortSignal, onProgress: (sent: number) => void, onPause?: (isLost: boolean, retry?: () => void) => void}} job
 * `onPause` hears when the line is lost, with a function that ends the pause, and when it is back
 * @returns {Promise<{ok: boolean, status: number, error?: string}>} rejects with Cancelled, Broken or Changed
 */
export async function transfer({ url, body, signal, onProgress, onPause = () => {} }) {
  const job = { url, body, signal, metadata: metadataOf(body), onProgress, refusals: 0 };
  let failures = 0;
  let furthest = 0;
  const onOffset = (offset) => {
    onPause(false);
    if (offset > furthest) [furthest, failures] = [offset, 0];
    onProgress(offset);
  };
  for (;;) {
    const answer = await attempt(job, onOffset);
    if (answer) return answer;
    failures += 1;
    if (failures > MOST_ATTEMPTS) throw new Broken();
    await pause(PAUSES[Math.min(failures, PAUSES.length) - 1], signal, (retry) => onPause(true, retry));
  }
}

/** The answer to the last request, or null if the line or the server is away. */
async function attempt(job, onOffset) {
  const { url, body, signal, metadata, onProgress } = job;
  const headers = { "Content-Type": "application/offset+octet-stream", "Upload-Length": body.size, "Upload-Metadata": metadata };
  const asked = await ask("HEAD", url, signal);
  if (!asked) return null;
  if (!asked.ok) { // an answer to HEAD has no words
    const told = await ask("PATCH", url, signal, { headers: { ...headers, "Upload-Offset": 0 } });
    return told?.ok ? null : told;
  }
  let offset = asked.offset;
  const isOther = asked.length !== null && (asked.length !== body.size || asked.metadata !== metadata);
  if (isOther) { // another file was begun here
    const gone = await ask("DELETE", url, signal);
    if (!gone?.ok) return gone;
    offset = 0;
  }
  if (body.size && offset === body.size) return { ok: true, status: 204 };
  await checkReadable(body, offset);
  onOffset(offset);
  if (asked.takesParts && job.refusals < MOST_REFUSALS && body.size - offset >= LEAST_FOR_STORAGE) {
    return throughStorage(job, headers, offset, onOffset);
  }
  return ask("PATCH", url, signal, {
    headers: { ...headers, "Upload-Offset": offset },
    body: body.slice(offset),
    onProgress: (sent) => onProgress(Math.min(offset + sent, body.size)),
  });
}

/** Part by part; the answer to the last request, or null to look again how much has come. */
async function throughStorage(job, headers, offset, onOffset) {
  const { url, body, signal, onProgress } = job;
  while (offset < body.size) {
    const at = { ...headers, "Upload-Offset": offset };
    const given = await ask("PATCH", url, signal, { headers: { ...at, "Upload-Part": "link" } });
    if (!given?.ok) return given;
    if (!given.part) { // this storage takes none
      job.refusals = MOST_REFUSALS;
      return attempt(job, onOffset);
    }
    const { url: link, headers: wanted, size } = given.part;
    const bytes = body.slice(offset, offset + size);
    const onSent = (sent) => onProgress(Math.min(offset + sent, body.size));
    const put = await ask("PUT", link, signal, { isOurs: false, headers: wanted, body: bytes, onProgress: onSent });
    if (!put?.ok && put?.status !== 412) return refusedByStorage(job); // 412: it is there, and only an answer was lost
    const taken = await ask("PATCH", url, signal, { headers: { ...at, "Upload-Part": "stored" } });
    if (!taken) return refusedByStorage(job);
    if (!taken.ok) return taken;
    if (offset + size === body.size) return taken;
    job.refusals = 0;
    offset += size;
    onOffset(offset);
  }
  return null;
}

function refusedByStorage(job) {
  job.refusals += 1;
  return null;
}

/** @returns {Promise<object | null>} null if another attempt may succeed; rejects with Cancelled */
function ask(method, url, signal, { isOurs = true, headers = {}, body = null, onProgress } = {}) {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(new Cancelled());
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    request.open(method, url);
    const always = isOurs ? { Accept: "application/json", "Tus-Resumable": "1.0.0" } : {};
    for (const [name, value] of Object.entries({ ...always, ...headers })) request.setRequestHeader(name, value);
    if (onProgress) request.upload.addEventListener("progress", (event) => onProgress(event.loaded));
    const answer = () => (OUTAGES.includes(request.status) && !isFinal(request) ? null : answerOf(request));
    request.addEventListener("load", () => resolve(isOurs ? answer() : standing(request)));
    request.addEventListener("error", () => resolve(null));
    request.addEventListener("timeout", () => resolve(null));
    request.addEventListener("abort", () => reject(new Cancelled()));
    request.addEventListener("loadend", () => signal.removeEventListener("abort", abort));
    signal.addEventListener("abort", abort);
    request.send(body);
  });
}

/** A 409 is a lost race for the offset, unless the release itself is in the way. */
function isFinal(request) {
  return request.status === 409 && !["wrong_offset", "upload_in_use", "part_not_stored"].includes(fieldsOf(request).code);
}

function standing({ status }) {
  return { ok: status >= 200 && status < 300, status };
}

function answerOf(request) {
  const length = request.getResponseHeader("Upload-Length");
  return {
    ...standing(request),
    error: fieldsOf(request).error,
    part: fieldsOf(request).part,
    takesParts: request.getResponseHeader("Upload-Part") === "storage",
    offset: Number(request.getResponseHeader("Upload-Offset")),
    length: length === null ? null : Number(length),
    metadata: request.getResponseHeader("Upload-Metadata") ?? "",
  };
}

function fieldsOf(request) {
  try {
    return JSON.parse(request.responseText) ?? {};
  } catch {
    return {};
  }
}

const packed = new WeakMap();

/** Tells this file from another one of the same size. A zip made of a folder differs each time. @param {Blob} body */
function metadataOf(body) {
  if (!(body instanceof File) && !packed.has(body)) packed.set(body, Math.random());
  const told = body instanceof File ? { filename: body.name, modified: body.lastModified } : { packed: packed.get(body) };
  return Object.entries(told).map(([key, value]) => `${key} ${base64(String(value).slice(0, 255))}`).join(",");
}

function base64(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

async function checkReadable(body, offset) {
  try {
    await body.slice(offset, offset + 1).arrayBuffer();
  } catch {
    throw new Changed();
  }
}

/** Ends early when the browser is online again. @param {number} seconds @param {AbortSignal} signal @param {(retry: () => void) => void} tell */
function pause(seconds, signal, tell) {
  return new Promise((resolve, reject) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      if (signal.aborted) reject(new Cancelled());
      else resolve();
    };
    const timer = setTimeout(done, seconds * 1000);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
    tell(done);
  });
}
