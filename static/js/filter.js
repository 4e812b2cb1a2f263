// Filters a long list by the words in a box. Without scripts there is no box, and all entries show.

const box = document.querySelector("[data-filter]");
const said = document.querySelector("[data-filter-said]");

function filter() {
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
  said.textContent = words.length ? `${shown} of ${entries.length}` : "";
}

if (box && said) {
  box.addEventListener("input", filter);
  // The target of a link must be visible, whatever the filter.
  addEventListener("hashchange", () => { box.value = ""; filter(); });
  if (box.value) filter();
}
