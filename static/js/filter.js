// Filters a long list by the words in a box, and ticks what is left of it. Without scripts there is neither, and all
// entries show. The page may replace the list at any time.

/** @param {HTMLInputElement} box */
function filter(box) {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const entries = [...document.querySelectorAll(box.dataset.filter)];
  let shown = 0;
  for (const entry of entries) {
    const text = (entry.dataset.filterWords ?? entry.textContent).toLowerCase();
    entry.hidden = !words.every((word) => text.includes(word));
    if (!entry.hidden) shown += 1;
  }
  for (const list of document.querySelectorAll("[data-filter-list]")) {
    list.hidden = !list.querySelector(`${box.dataset.filter}:not([hidden])`);
    if (words.length && !list.hidden && list instanceof HTMLDetailsElement) list.open = true;
  }
  const said = document.querySelector("[data-filter-said]");
  if (said) said.textContent = words.length ? `${shown} of ${entries.length}` : "";
}

/** The entries that show, but for the one that is the folder of the release itself. */
function tickShown({ checked, dataset, form }) {
  const own = form.elements.folder?.value;
  for (const entry of document.querySelectorAll(`${dataset.selectAll}:not([hidden])`)) {
    if (entry.dataset.folder !== own) entry.querySelector("[type=checkbox]").checked = checked;
  }
}

document.addEventListener("input", ({ target }) => {
  if (target.matches("[data-filter]")) filter(target);
  if (target.matches("[data-select-all]")) tickShown(target);
});
// The target of a link must be visible, whatever the filter.
addEventListener("hashchange", () => {
  const box = document.querySelector("[data-filter]");
  if (box) { box.value = ""; filter(box); }
});
const found = document.querySelector("[data-filter]");
if (found?.value) filter(found);
