// The command palette: a combobox whose options the search page renders. Without this script the search page does it all.

const palette = document.getElementById("palette");
const box = document.getElementById("palette-q");
const list = document.getElementById("palette-results");
const status = document.getElementById("palette-status");
const DELAY = 150;
let shown = null; // the query whose options are shown
let asking = null;
let timer = 0;

function options() {
  return [...list.querySelectorAll('[role="option"]')];
}

function activate(option) {
  for (const one of options()) one.setAttribute("aria-selected", String(one === option));
  if (option) {
    box.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  } else box.removeAttribute("aria-activedescendant");
}

function active() {
  return list.querySelector('[aria-selected="true"]');
}

/** The server renders and escapes the options, as it does for pages. */
function show(html, query) {
  list.innerHTML = html;
  list.setAttribute("aria-busy", "false");
  const found = options();
  box.setAttribute("aria-expanded", String(found.length > 0));
  activate(found[0]);
  status.textContent = `${found.length} option${found.length === 1 ? "" : "s"}`;
  shown = query;
}

async function ask() {
  const query = box.value;
  asking?.abort();
  asking = new AbortController();
  const url = `${box.form.action}?${new URLSearchParams({ q: query, palette: "1" })}`;
  try {
    const answer = await fetch(url, { headers: { "HX-Request": "true" }, signal: asking.signal });
    if (answer.ok && !answer.redirected) show(await answer.text(), query);
    else status.textContent = "Search is not responding. Press Enter for the search page.";
  } catch (error) {
    if (error.name !== "AbortError") status.textContent = "Search is not responding.";
  }
}

function move(event) {
  const all = options();
  const place = all.indexOf(active());
  const last = all.length - 1;
  const to = {
    ArrowDown: place < last ? place + 1 : 0,
    ArrowUp: place > 0 ? place - 1 : last,
    PageDown: Math.min(place + 5, last),
    PageUp: Math.max(place - 5, 0),
  }[event.key];
  if (to === undefined || !all.length || event.isComposing) return;
  event.preventDefault();
  activate(all[to]);
}

/** True if there is a palette on this page. */
export function openPalette() {
  if (!palette) return false;
  if (!palette.open) {
    palette.showModal();
    box.select();
    if (shown !== box.value) ask();
  }
  return true;
}

if (palette) {
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, DELAY);
  });
  box.addEventListener("keydown", move);
  // Enter before the options have come searches for what was typed, on the search page.
  box.form.addEventListener("submit", (event) => {
    const chosen = active();
    if (!chosen || shown !== box.value) return;
    event.preventDefault();
    location.assign(chosen.href);
  });
  list.addEventListener("pointermove", (event) => {
    const option = event.target.closest('[role="option"]');
    if (option && option !== active()) activate(option);
  });
  palette.addEventListener("close", () => { clearTimeout(timer); asking?.abort(); });
  palette.addEventListener("click", (event) => {
    if (event.target === palette || event.target.closest("[data-palette-close]")) palette.close();
  });
}
