// Filters a long list by the words in its box, and ticks what is left of it. Without scripts there is neither, and all
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
  const said = document.querySelector(`[data-filter-said="${box.dataset.filter}"]`);
  if (said) said.textContent = words.length ? `${shown} of ${entries.length}` : "";
}

/** Their boxes, but for the folders that are in the release itself. @param {HTMLInputElement} all */
function boxes({ dataset, form }, which = "") {
  const own = new FormData(form).getAll("folder");
  const entries = [...document.querySelectorAll(dataset.selectAll + which)];
  return entries.filter((entry) => !own.includes(entry.dataset.folder)).map((entry) => entry.querySelector("[type=checkbox]"));
}

/** A filter hides entries that are ticked: the box is about those that show, its text about all. */
function count(all) {
  const shown = boxes(all, ":not([hidden])");
  all.checked = shown.length > 0 && shown.every((box) => box.checked);
  const ticked = boxes(all).filter((box) => box.checked).length;
  document.querySelector(`[data-selected="${all.dataset.selectAll}"]`).textContent = ticked ? `${ticked} selected` : "";
}

document.addEventListener("input", ({ target }) => {
  if (target.matches("[data-filter]")) filter(target);
  if (target.matches("[data-select-all]")) {
    for (const box of boxes(target, ":not([hidden])")) box.checked = target.checked;
  }
  for (const all of document.querySelectorAll("[data-select-all]")) count(all);
});
// The target of a link must be visible, whatever the filter.
addEventListener("hashchange", () => {
  for (const box of document.querySelectorAll("[data-filter]")) { box.value = ""; filter(box); }
});
for (const box of document.querySelectorAll("[data-filter]")) if (box.value) filter(box);
for (const all of document.querySelectorAll("[data-select-all]")) count(all);
