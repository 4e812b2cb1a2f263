// Adds to sanitised READMEs: a copy button for code, keyboard focus for scrolling regions, and names for the boxes of
// task lists.

/** @param {HTMLPreElement} pre */
function withCopyButton(pre) {
  const pattern = document.querySelector("[data-copy]");
  pre.tabIndex = 0;
  pre.dataset.copyText = "";
  if (!pattern) return;
  const button = pattern.cloneNode(true);
  button.className = "copy"; // the first of a page may be that of its copy bar
  button.replaceChildren(...button.querySelectorAll(".icon-copy, .icon-done"));
  button.dataset.copy = "";
  button.setAttribute("aria-label", "Copy: code");
  const scope = document.createElement("div");
  scope.className = "snippet";
  scope.dataset.copyScope = "";
  pre.replaceWith(scope);
  scope.append(pre, button);
}

// A phone that is turned has other widths.
const tables = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});

for (const prose of document.querySelectorAll(".prose")) {
  for (const pre of prose.querySelectorAll("pre")) withCopyButton(pre);
  for (const table of prose.querySelectorAll("table")) tables.observe(table);
  for (const box of prose.querySelectorAll('input[type="checkbox"]')) {
    box.setAttribute("aria-label", box.parentElement.textContent.trim().slice(0, 120) || "Task");
  }
}
