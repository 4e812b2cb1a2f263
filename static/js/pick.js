// Ticks tags without a round trip, and counts them. Without scripts the same buttons send the form.

/** @param {ParentNode} scope */
const boxes = (scope) => [...scope.querySelectorAll("input[name=picked]")];

function count() {
  for (const group of document.querySelectorAll("[data-pick-group]")) {
    const all = boxes(group);
    group.querySelector("[data-pick-chosen]").textContent = `${all.filter((box) => box.checked).length} of ${all.length}`;
  }
  const said = document.querySelector("[data-pick-count]");
  const all = boxes(document);
  if (!said || !all.length) return;
  const versions = all.filter((box) => box.checked).reduce((sum, box) => sum + Number(box.dataset.versions), 0);
  said.textContent = `${versions.toLocaleString("en")} version${versions === 1 ? "" : "s"}`;
  said.closest("button").disabled = versions === 0;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-pick]");
  if (!button) return;
  const scope = button.closest("[data-pick-group]") ?? document;
  if (!boxes(scope).length) return; // a box for each module: the server counts
  event.preventDefault();
  for (const box of boxes(scope)) box.checked = button.dataset.pick === "all";
  count();
});
document.addEventListener("change", ({ target }) => { if (target.matches("input[name=picked]")) count(); });
count();
