// The list of modules while a person types: htmx fetches the results, this updates the page's URL, so that it can be
// shared and reopened, and moves through the results with the arrow keys.

const form = document.querySelector("[data-search]");
const box = form?.querySelector('input[type="search"]');

/** Keep empty fields out of URLs. */
function withoutEmpty(event) {
  for (const [name, value] of [...event.formData]) if (!value) event.formData.delete(name);
}

function keepAddress() {
  const query = new URLSearchParams(new FormData(form)).toString();
  history.replaceState(history.state, "", query ? `${form.action}?${query}` : form.action);
  const clear = document.getElementById("filters-clear");
  if (clear) clear.hidden = ![...new FormData(form).keys()].some((name) => name !== "sort");
}

let focused = "";

/** Selects are replaced to show new counts: keep the focus. */
function noteFocus() {
  focused = form.contains(document.activeElement) ? document.activeElement.id : "";
}

function restoreFocus() {
  if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus();
}

function links() {
  return [...document.querySelectorAll("[data-rows] .rows__title a")];
}

/** Down moves from the box to the first result and on, up the other way; Escape returns to the box. */
function walk(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.isComposing) return;
  const all = links();
  const place = event.target === box ? -1 : all.indexOf(event.target);
  if (place < 0 && event.target !== box) return;
  if (event.key === "Escape" && place >= 0) box.focus();
  else if (event.key === "ArrowDown" && place + 1 < all.length) all[place + 1].focus();
  else if (event.key === "ArrowUp" && place >= 0) (all[place - 1] ?? box).focus();
  else return;
  event.preventDefault();
}

if (form) {
  form.addEventListener("formdata", withoutEmpty);
  document.addEventListener("htmx:before:swap", noteFocus);
  document.addEventListener("htmx:after:swap", () => { keepAddress(); restoreFocus(); });
  document.addEventListener("keydown", walk);
}
