// The drop area for archives, folders and files. Its inputs remain for keyboards and screen readers.

/**
 * @param {HTMLElement} zone
 * @param {(files: FileList, entries: FileSystemEntry[]) => void} onDrop entries only if a folder was dropped
 */
export function attachDropzone(zone, onDrop) {
  let depth = 0; // dragenter and dragleave fire for every child that the pointer crosses
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

// Synchronous: the items of a drop are empty after its event.
function entriesOf(transfer) {
  return [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
}
