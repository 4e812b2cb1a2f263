// Suggests modules while a person types, where there are too many for a list.

const PAUSE = 150;

/** @param {HTMLInputElement} input */
export function suggestModules(input) {
  let pause = 0;
  let latest = input.value.trim();

  async function ask() {
    const words = input.value.trim();
    if (words === latest) return;
    latest = words;
    const url = `${location.pathname}?${new URLSearchParams({ suggest: words })}`;
    const response = await fetch(url, { headers: { Accept: "application/json" }, redirect: "manual" }).catch(() => null);
    if (!response?.ok || words !== latest) return; // the address can still be typed in full
    const { modules } = await response.json();
    input.list.replaceChildren(...modules.map((address) => new Option(address, address)));
  }

  input.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(ask, PAUSE);
  });
}
