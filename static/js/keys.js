// Keyboard shortcuts, and menus that close. Ignores single keys while a person types, with a modifier, and for people
// who turned them off (WCAG 2.1.4).
import { copyText } from "./copy.js";
import { openPalette } from "./palette.js";

const OFF = "larder-shortcuts-off";
const PLACES = { h: "/", m: "/modules", p: "/publish" };
const help = document.getElementById("keyboard-help");
const off = help?.querySelector("[data-keyboard-off]");
let afterG = 0;

function isOff() {
  try { return localStorage.getItem(OFF) === "1"; } catch { return false; }
}

function isTyping(event) {
  return event.isComposing || event.target.closest?.("input, textarea, select, [contenteditable], dialog");
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const menu = document.querySelector("[data-menu][open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
    return;
  }
  if (isOff() || event.isComposing) return;
  if (event.key === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    if (openPalette()) event.preventDefault();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
  const place = performance.now() - afterG < 1200 ? PLACES[event.key] : undefined;
  afterG = event.key === "g" ? performance.now() : 0;
  if (place) location.assign(place);
  else if (event.key === "/") openPalette();
  else if (event.key === "?") help?.showModal();
  else if (event.key === "y") copyText(location.href.split("#")[0]);
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("[data-menu][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  if (event.target.closest?.("[data-keyboard-help]")) help?.showModal();
});

if (off) {
  off.checked = isOff();
  off.addEventListener("change", () => {
    try { localStorage.setItem(OFF, off.checked ? "1" : ""); } catch { /* private mode: it applies to this page only */ }
  });
}
