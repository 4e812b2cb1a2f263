// One raw PUT by XMLHttpRequest: fetch has no upload progress.

export class Cancelled extends Error {}
export class Broken extends Error {}

/**
 * @param {{url: string, body: Blob, signal: AbortSignal, onProgress: (sent: number) => void}} job
 * @returns {Promise<{ok: boolean, status: number, error?: string}>} rejects with Cancelled or Broken
 */
export function transfer({ url, body, signal, onProgress }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", url);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.addEventListener("progress", (event) => onProgress(event.loaded));
    request.addEventListener("load", () => {
      resolve({ ok: request.status >= 200 && request.status < 300, status: request.status, error: sentence(request) });
    });
    request.addEventListener("error", () => reject(new Broken()));
    request.addEventListener("timeout", () => reject(new Broken()));
    request.addEventListener("abort", () => reject(new Cancelled()));
    signal.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}

/** @param {XMLHttpRequest} request */
function sentence(request) {
  try {
    return JSON.parse(request.responseText).error;
  } catch {
    return undefined;
  }
}
