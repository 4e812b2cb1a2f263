// One form's file: chosen or dropped, inspected, zipped if it is a folder, and sent.

import { exact, foundText, limitText } from "./amounts.js";
import { attachDropzone } from "./dropzone.js";
import { clearErrors, showErrors, WHOLE_FORM } from "./errors.js";
import { listed, loose, TooMany, walk } from "./folder.js";
import { beginsAsArchive, guess, guessFolder, isArchive } from "./guess.js";
import { Progress } from "./progress.js";
import { isModuleFile, isPrivateKey, isState, moduleFolders } from "./rules.js";
import { Selection } from "./selection.js";
import { Broken, Cancelled, transfer } from "./transfer.js";
import { pack, Unreadable } from "./zip/pack.js";
import { MOST_BYTES, zipSize } from "./zip/records.js";

/** Its message tells the person why nothing can be sent. */
class Refused extends Error {}

/** @typedef {{name: string, guess: object, bytes: () => Promise<Blob>}} Choice */

export class Uploader {
  /** @param {HTMLFormElement} form @param {(name: string, guess: object, folders: string[]) => void} onChoice */
  constructor(form, onChoice = () => {}) {
    this.form = form;
    this.onChoice = onChoice;
    this.file = form.querySelector("[data-choose=file]");
    this.folder = form.querySelector("[data-choose=folder]");
    this.submit = form.querySelector("[type=submit]");
    this.progress = new Progress(form);
    this.selection = new Selection(form, () => this.clear());
    this.choice = null;
    this.unfinished = null; // an upload that broke off, to be continued
    this.words = this.submit.textContent;
    form.addEventListener("input", () => this.forget()); // it may be for another version now
    this.file.required = false; // a folder suffices; bytes() reports if both are missing
    this.file.addEventListener("change", () => this.choose(() => this.archive(this.file.files)));
    this.folder.addEventListener("change", () => this.choose(() => this.files(listed(this.folder.files))));
    // Otherwise browsers fire no event when a corrected file is chosen again.
    for (const input of [this.file, this.folder]) input.addEventListener("click", () => { input.value = ""; });
    attachDropzone(form.querySelector("[data-dropzone]"), (files, entries) => this.choose(() => this.dropped(files, entries)));
    // A reload may restore the file without an event.
    if (this.file.files.length) this.choose(() => this.archive(this.file.files));
  }

  forget() {
    if (!this.unfinished) return;
    this.unfinished = null;
    this.submit.textContent = this.words;
  }

  /** Continue the upload that broke off. @returns {boolean | Promise<true>} false if there is none */
  retry() {
    if (!this.unfinished) return false;
    const { body, url, release } = this.unfinished;
    this.forget();
    return this.send(body, url, release).then(() => true);
  }

  clear() {
    this.choice = null;
    this.file.value = this.folder.value = "";
    this.selection.hide();
    this.file.focus();
  }

  /** @param {() => void | Promise<void>} act makes the choice */
  async choose(act) {
    clearErrors(this.form);
    try {
      await act();
    } catch (error) {
      this.choice = null;
      this.selection.hide();
      this.explain(error);
    }
  }

  async dropped(files, entries) {
    if (entries.length) return this.files(await walk(entries, this.limit("maxEntries")));
    const isOneArchive = files.length === 1 && !isModuleFile(files[0].name);
    if (!isOneArchive && [...files].some(({ name }) => isArchive(name))) throw new Refused("Drop one archive, or the files of one module.");
    if (isOneArchive) this.file.files = files; // so that it survives a submit without scripts
    return isOneArchive ? this.archive(files) : this.files(loose(files));
  }

  /** @param {FileList} list of one */
  async archive([file]) {
    this.folder.value = "";
    if (!file) return this.clear();
    if (!isArchive(file.name) && !(await beginsAsArchive(file))) {
      throw new Refused(`${file.name} is not an archive. Choose a .zip, .tar.gz or .tar.xz, or the module's folder.`);
    }
    this.selection.showArchive(file);
    this.choice = { name: file.name, keys: [], bytes: async () => this.checked(this.file.files[0] ?? file) };
    this.onChoice(file.name, guess(file.name), []);
  }

  /** @param {import("./folder.js").Folder} folder */
  async files(folder) {
    if (folder.name) this.file.value = "";
    const { files, name } = folder;
    if (files.length > this.limit("maxEntries")) throw new TooMany();
    if (!files.length) throw new Refused(`${name || "The selection"} contains no file that would be published.`);
    const total = (list) => list.reduce((sum, { file }) => sum + file.size, 0);
    const folders = moduleFolders(files.map(({ path }) => path));
    this.selection.showFolder(folder, { bytes: total(files), folders, states: folder.leftOut.filter(isState) });
    const choice = { name: `${name || "module"}.zip`, keys: [], files, bytes: () => this.packed(choice) };
    this.choice = choice;
    this.onChoice(choice.name, guessFolder(name), folders);
    choice.seen = this.lookForKeys(choice);
    await choice.seen;
  }

  async lookForKeys(choice) {
    for (const one of choice.files) {
      if (this.choice !== choice) return;
      if (await isPrivateKey(one)) choice.keys.push(one.path);
    }
    if (this.choice === choice) this.selection.showKeys(choice.keys);
  }

  /** The bytes to send, or null after reporting why there are none. @returns {Promise<Blob | null>} */
  async bytes() {
    try {
      if (!this.choice) throw new Refused("Choose the module's archive or folder first.");
      await this.choice.seen;
      return await this.choice.bytes();
    } catch (error) {
      this.explain(error);
      return null;
    }
  }

  /** The archive, if it is not too large. @param {File} file */
  checked(file) {
    const limit = this.limit("maxBytes");
    if (file.size > limit) {
      throw new Refused(`${file.name} has ${foundText(file.size)}; ${this.form.dataset.limitSetting} allows ${limitText(limit)}. Leave out files that are not part of the module, such as .git or .terraform.`);
    }
    return file;
  }

  /** The folder as a zip. Refuses its known size before reading a byte. */
  async packed(choice) {
    const answer = this.selection.keysAnswer;
    if (choice.keys.length && !answer) {
      showErrors(this.form, { keys: ["Some files look like private keys. Say whether they belong to the module."] });
      return null;
    }
    const files = answer === "leave" ? choice.files.filter(({ path }) => !choice.keys.includes(path)) : choice.files;
    if (choice.zip?.files.length === files.length) return choice.zip.blob;
    this.checkSize(files);
    const controller = new AbortController();
    const total = files.reduce((sum, { file }) => sum + file.size, 0);
    this.form.dataset.busy = "";
    this.progress.start("prepare", { name: `${choice.name}: ${exact(files.length)} files`, total, onCancel: () => controller.abort() });
    try {
      const blob = await pack(files, { signal: controller.signal, onProgress: (bytes) => this.progress.show(bytes) });
      choice.zip = { files, blob };
      return blob;
    } finally {
      delete this.form.dataset.busy;
      this.progress.stop();
    }
  }

  checkSize(files) {
    const { limitSetting, unpackedSetting } = this.form.dataset;
    const encoder = new TextEncoder();
    const unpacked = files.reduce((sum, { file }) => sum + file.size, 0);
    const archive = zipSize(files.map(({ path, file }) => ({ name: encoder.encode(path), size: file.size })));
    for (const [found, limit, setting] of [
      [archive, Math.min(this.limit("maxBytes"), MOST_BYTES), limitSetting],
      [unpacked, this.limit("maxUnpacked"), unpackedSetting],
    ]) {
      if (found > limit) {
        const largest = [...files].sort((one, other) => other.file.size - one.file.size)[0];
        throw new Refused(`The folder becomes an archive of ${foundText(found)}; ${setting} allows ${limitText(limit)}. Its largest file is ${largest.path} with ${foundText(largest.file.size)}. Leave out files that are not part of the module.`);
      }
    }
  }

  /** @param {"maxBytes" | "maxUnpacked" | "maxEntries"} name */
  limit(name) {
    return Number(this.form.dataset[name]);
  }

  /**
   * Send it, then go to the release's page.
   * @param {Blob} body @param {string} url @param {string} release
   */
  async send(body, url, release) {
    const controller = new AbortController();
    const stay = (event) => event.preventDefault();
    addEventListener("beforeunload", stay);
    this.form.dataset.busy = "";
    this.progress.start("send", { name: this.choice.name, total: body.size, onCancel: () => controller.abort() });
    try {
      const answer = await transfer({
        url,
        body,
        signal: controller.signal,
        onProgress: (sent) => this.progress.show(sent),
        onPause: (isLost, retry) => this.progress.pause(isLost, retry),
      });
      removeEventListener("beforeunload", stay);
      if (answer.ok) location.assign(release);
      else this.refuse(answer.error ?? `The server answered ${answer.status}. Nothing was published; try again.`);
    } catch (error) {
      if (error instanceof Broken) return this.broken({ body, url, release });
      delete this.choice?.zip;
      if (error instanceof Cancelled) await this.cancelled(release);
      else this.refuse(this.changed());
    } finally {
      removeEventListener("beforeunload", stay);
      delete this.form.dataset.busy;
      this.progress.stop();
    }
  }

  broken(unfinished) {
    this.words = this.submit.textContent;
    this.unfinished = unfinished;
    this.submit.textContent = "Retry";
    this.refuse("The connection was lost before the upload was complete. The part already sent is kept for four hours: press Retry to continue.");
  }

  changed() {
    const changed = this.choice?.files ? "A file of the folder" : "The file";
    return `${changed} was changed or removed during the upload. Nothing was published; choose it again.`;
  }

  /** @param {string} release */
  async cancelled(release) {
    // The server detects a broken upload, but perhaps only after the next attempt.
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    await fetch(`${release}/cancel`, { method: "POST", headers: { "X-CSRFToken": token } }).catch(() => {});
    this.progress.announce("Cancelled. Nothing was published, and the version number is still free.");
    this.submit.focus();
  }

  /** @param {unknown} error of choosing or preparing */
  explain(error) {
    if (error instanceof Refused) this.refuse(error.message);
    else if (error instanceof TooMany) this.refuse(`The folder contains more than ${exact(this.limit("maxEntries"))} files, the limit that ${this.form.dataset.entriesSetting} sets. Choose the module's own folder.`);
    else if (error instanceof Unreadable) this.refuse(`${error.path} cannot be read: it is a broken link, was changed or removed, or your browser has no access. Nothing was sent.`);
    else if (error?.name === "AbortError") {
      this.progress.announce("Cancelled. Nothing was sent.");
      this.submit.focus();
    } else throw error;
  }

  /** @param {string} sentence */
  refuse(sentence) {
    showErrors(this.form, { [WHOLE_FORM]: [sentence] });
  }
}
