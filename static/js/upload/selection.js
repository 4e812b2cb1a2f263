// The box below the drop zone: the chosen files, and those left out (portal/publish/selection.html).

import { size } from "./amounts.js";
import { element } from "./errors.js";

const MOST_NAMED = 100;
const MOST_FOLDERS = 6;

export class Selection {
  /** @param {HTMLFormElement} form @param {() => void} onClear */
  constructor(form, onClear) {
    this.root = form.querySelector("[data-selection]");
    this.find("clear").addEventListener("click", onClear);
    form.addEventListener("reset", onClear);
  }

  find(part) {
    return this.root.querySelector(`[data-selection-${part}]`);
  }

  hide() {
    this.root.hidden = true;
  }

  /** @param {File} file */
  showArchive(file) {
    this.show(file.name, size(file.size));
  }

  /** @param {import("./folder.js").Folder} folder @param {{bytes: number, folders: string[], states: string[]}} facts */
  showFolder({ name, files, leftOut }, { bytes, folders, states }) {
    this.show(name ? `${name}/` : "Dropped files", `${count(files.length, "file")}, ${size(bytes)}`);
    this.find("packed").hidden = false;
    this.note(folders);
    this.list("left-out", leftOut);
    this.find("left-out").querySelector("summary").textContent = `${leftOut.length.toLocaleString("en")} left out by rule`;
    this.list("states", states);
  }

  /** The question about private keys. @param {string[]} paths */
  showKeys(paths) {
    this.list("keys", paths);
    this.find("keys").disabled = !paths.length;
  }

  show(name, facts) {
    this.root.hidden = false;
    this.find("name").textContent = name;
    this.find("facts").textContent = facts;
    for (const part of ["packed", "note"]) this.find(part).hidden = true;
    for (const part of ["left-out", "states"]) this.list(part, []);
    this.showKeys([]);
    for (const radio of this.find("keys").querySelectorAll("input")) radio.checked = false;
  }

  note(folders) {
    if (folders.includes("")) return;
    const named = folders.slice(0, MOST_FOLDERS).join(", ") + (folders.length > MOST_FOLDERS ? ", …" : "");
    this.find("note").hidden = false;
    this.find("note").textContent = folders.length
      ? `There is no module file at its root. ${count(folders.length, "folder")} below it ${folders.length === 1 ? "has" : "have"} some: ${named}. Name one under “Folder inside the archive”, or choose after the upload.`
      : "It contains no .tf or .tofu file. Is it the right folder?";
  }

  list(part, names) {
    const box = this.find(part);
    box.hidden = !names.length;
    const shown = names.slice(0, MOST_NAMED).map((name) => element("li", {}, name));
    if (names.length > MOST_NAMED) shown.push(element("li", {}, `and ${count(names.length - MOST_NAMED, "more")}`));
    box.querySelector("ul").replaceChildren(...shown);
  }

  /** "leave", "send", or "" without an answer. */
  get keysAnswer() {
    return this.find("keys").querySelector("input:checked")?.value ?? "";
  }
}

function count(number, noun) {
  const plural = noun === "more" || number === 1 ? noun : `${noun}s`;
  return `${number.toLocaleString("en")} ${plural}`;
}
