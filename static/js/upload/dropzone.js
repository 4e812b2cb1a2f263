// A label around a file input that takes dropped files. The input itself stays visible: keyboards and screen readers use it.

/** @param {HTMLElement} zone @param {HTMLInputElement} input */
export function attachDropzone(zone, input) {
  let depth = 0; // dragenter and dragleave come for every child that the pointer crosses
  const mark = () => zone.classList.toggle("dropzone--over", depth > 0);

  zone.addEventListener("dragenter", (event) => {
    event.preventDefault();
    depth += 1;
    mark();
  });
  zone.addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    mark();
  });
  zone.addEventListener("dragover", (event) => event.preventDefault());
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    mark();
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
}
