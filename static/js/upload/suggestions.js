// Modules that the form's own address suggests: while a person types, where there are too many for a list, and for a file.

const PAUSE = 150;

/** @param {HTMLInputElement} input */
export function suggestModules(input) {
  let pause = 0;
  let latest = input.value.trim();

  async function ask() {
    const words = input.value.trim();
    if (words === latest) return;
    latest = words;
    const found = await answer({ suggest: words });
    if (!found || words !== latest) return; // the address can still be typed in full
    input.list.replaceChildren(...found.modules.map((address) => new Option(address, address)));
  }

  input.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(ask, PAUSE);
  });
}

/**
 * Existing modules with the name and system of a file.
 * @param {{name: string, system: string, version: string}} found
 * @returns {Promise<{modules: string[], highest?: string, version?: string} | null>} null if the server does not answer
 */
export function matching({ name, system, version }) {
  return answer({ match: name, system, version });
}

async function answer(query) {
  const url = `${location.pathname}?${new URLSearchParams(query)}`;
  const response = await fetch(url, { headers: { Accept: "application/json" }, redirect: "manual" }).catch(() => null);
  return response?.ok ? response.json() : null;
}
