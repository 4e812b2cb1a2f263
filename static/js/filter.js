// A box that hides the entries of a long list that do not hold its words. Without a script there is no box, and all show.

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
  // A link to an input must find it, whatever the box says.
  addEventListener("hashchange", () => { box.value = ""; filter(); });
  if (box.value) filter();
}
