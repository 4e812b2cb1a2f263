// The area that takes dropped archives, folders and files. Its inputs stay in reach: keyboards and screen readers use them.

/**
 * @param {HTMLElement} zone
 * @param {(files: FileList, entries: FileSystemEntry[]) => void} onDrop entries where a folder is among what was dropped
 */
export function attachDropzone(zone, onDrop) {
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
    const entries = entriesOf(event.dataTransfer);
    const files = event.dataTransfer.files;
    if (files.length || entries.length) onDrop(files, entries.some((entry) => entry.isDirectory) ? entries : []);
  });
}

// At once: the items of a drop are empty as soon as its event is over.
function entriesOf(transfer) {
  return [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
}
