// Any <button data-copy="text"> copies its text; with an empty value, the [data-copy-text] of its [data-copy-scope].
// Delegated, so that fragments swapped in later need no set-up.

/** @param {HTMLElement} button @returns {string} */
function textOf(button) {
  return button.dataset.copy || button.closest("[data-copy-scope]")?.querySelector("[data-copy-text]")?.textContent || "";
}

/** The clipboard interface exists only on secure origins; this also copies on plain HTTP. */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("copying was refused");
}

const live = document.createElement("div");
live.className = "visually-hidden";
live.setAttribute("role", "status");
document.body.append(live);
let hiding = 0;

/** Shows a message for a moment if there is no button to change. @param {string} sentence */
function show(sentence) {
  announce(sentence);
  live.className = "flash";
  clearTimeout(hiding);
  hiding = setTimeout(() => { live.className = "visually-hidden"; }, 2500);
}

/** Announces to screen readers. @param {string} sentence */
export function announce(sentence) {
  live.textContent = "";
  requestAnimationFrame(() => { live.textContent = sentence; });
}

/** @param {string} text @param {HTMLElement} [button] */
export async function copyText(text, button) {
  try {
    await copy(text);
  } catch {
    show("Your browser blocked copying");
    return;
  }
  if (!button) {
    show("Address copied");
    return;
  }
  announce("Copied");
  button.dataset.copied = "";
  setTimeout(() => { delete button.dataset.copied; }, 1600);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (button) copyText(textOf(button), button);
});
