// Lines of a file: #L10-L20 marks a range (#L10 needs no script), and a Shift-click selects one.

const source = document.querySelector("[data-source]");

/** @returns {[number, number] | null} */
function wanted() {
  const found = /^#L(\d+)(?:-L(\d+))?$/.exec(location.hash);
  if (!found) return null;
  const first = Number(found[1]);
  const last = Number(found[2] ?? found[1]);
  return first <= last ? [first, last] : [last, first];
}

function mark() {
  for (const line of source.querySelectorAll("[data-marked]")) delete line.dataset.marked;
  const range = wanted();
  if (!range) return;
  const lines = source.querySelectorAll(".source__line");
  for (const line of [...lines].slice(range[0] - 1, range[1])) line.dataset.marked = "";
  if (range[1] > range[0]) lines[range[0] - 1]?.scrollIntoView({ block: "center" });
}

if (source) {
  source.addEventListener("click", (event) => {
    const number = event.target.closest?.("[data-line]");
    const range = wanted();
    if (!number || !event.shiftKey || !range) return;
    event.preventDefault();
    const ends = [range[0], Number(number.dataset.line)].sort((one, other) => one - other);
    location.hash = `L${ends[0]}-L${ends[1]}`;
  });
  addEventListener("hashchange", mark);
  mark();
}
