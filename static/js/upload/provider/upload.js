// One form: choose files, review the plan, send. The publish page opens the draft and submits it; the
// page of a draft only sends missing files.

import { counted } from "../amounts.js";
import { attachDropzone } from "../dropzone.js";
import { clearErrors, showErrors, WHOLE_FORM } from "../errors.js";
import { listed, loose, TooMany, walk } from "../folder.js";
import { Progress } from "../progress.js";
import { refreshOnReturn } from "../return.js";
import { Broken, Cancelled, Changed } from "../transfer.js";
import { Unreadable } from "../zip/pack.js";
import { Address } from "./address.js";
import { readManifest, readSums } from "./contents.js";
import { guess, meaning, planOf } from "./plan.js";
import { PlanView } from "./plan_view.js";
import { FileRefused, sendAll } from "./sending.js";

const MOST_ENTRIES = 20_000;

export class ProviderUpload {
  /** @param {HTMLFormElement} form */
  constructor(form) {
    this.form = form;
    this.address = new Address(form, () => this.replan());
    this.progress = new Progress(form);
    this.view = new PlanView(form.querySelector("[data-plan]"), (item) => this.remove(item));
    this.submit = form.querySelector("[type=submit]");
    this.items = receivedOf(document);
    this.submit.textContent = this.submit.dataset.submit ?? this.submit.textContent;
    const [file, folder] = ["file", "folder"].map((kind) => form.querySelector(`[data-choose=${kind}]`));
    file.required = false;
    file.addEventListener("change", () => this.choose(() => loose(file.files), file));
    folder.addEventListener("change", () => this.choose(() => listed(folder.files), folder));
    // Files chosen before this script ran, or restored by a reload, fire no event.
    if (file.files.length) this.choose(() => loose(file.files), file);
    if (folder.files.length) this.choose(() => listed(folder.files), folder);
    attachDropzone(form.querySelector("[data-dropzone]"), (files, entries) => this.choose(() => (entries.length ? walk(entries, MOST_ENTRIES) : loose(files))));
    form.addEventListener("submit", (event) => this.onSubmit(event));
    refreshOnReturn(form, () => this.replan());
  }

  get isBusy() {
    return "busy" in this.form.dataset;
  }

  /** Add the chosen files; a path chosen again replaces the first. */
  async choose(list, input) {
    if (this.isBusy) return;
    clearErrors(this.form);
    try {
      const { files } = await list();
      const added = files.map(({ path, file }) => ({ name: path.split("/").at(-1), path, size: file.size, file }));
      const paths = new Set(added.map(({ path }) => path));
      const names = new Set(added.map(({ name }) => name));
      // Files that the server has are sent again only if their bytes differ (sending.js).
      this.items = [...this.items.filter(({ path, name, file }) => (file ? !paths.has(path) : !names.has(name))), ...added];
      if (input) input.value = ""; // otherwise browsers fire no event when a corrected file is chosen again
      await this.look();
    } catch (error) {
      if (error instanceof TooMany) this.refuse(`That folder contains more than ${MOST_ENTRIES.toLocaleString("en")} files. Choose the build folder itself, such as dist.`);
      else if (error instanceof Unreadable) this.refuse(`${error.path} cannot be read: it is a broken link, or was removed. Nothing was sent.`);
      else throw error;
    }
  }

  /** Read the two small files, and show the plan. */
  async look() {
    const meanings = this.items.map(({ name }) => meaning(name));
    this.address.suggest(guess(meanings));
    const fileOf = (role) => this.items.find(({ file }, index) => file && meanings[index].role === role)?.file;
    const sums = fileOf("sums");
    const manifest = fileOf("manifest") ?? fileOf("general-manifest");
    this.sums = sums ? await readSums(sums, Number(this.form.dataset.maxSmall)) : null;
    this.manifest = manifest ? await readManifest(manifest) : null;
    this.replan();
    if (this.plan) this.progress.announce(`${counted(this.plan.packages.length, "platform")} recognised, ${counted(this.plan.problems.length, "problem")}.`);
  }

  replan() {
    if (!this.items.length) {
      this.plan = null;
      this.view.root.hidden = true;
      this.address.ask(true, false);
      return;
    }
    const address = this.address.value;
    const told = this.manifest?.protocols ?? [];
    this.plan = planOf(this.items, { address, ...this.signersOf(address.namespace), offersProviders: Boolean(this.form.elements.provider), limits: this.form.dataset, sums: this.sums ?? null, manifest: this.manifest ?? null, protocols: told });
    if (this.manifest && !this.plan.hasManifest) this.address.tell(told);
    this.address.ask(!this.plan.hasManifest);
    this.view.show(this.plan, address);
  }

  signersOf(namespace) {
    const found = [...this.form.querySelectorAll("[data-signers] > li")].find((one) => one.dataset.namespace === namespace);
    return { custodies: found?.dataset.custodies.split(" ") ?? [], isOwner: Boolean(found && "owned" in found.dataset) };
  }

  async remove(item) {
    if (this.isBusy) return;
    if (!item.file && !(await this.post(`${this.release}/files/${encodeURIComponent(item.name)}/remove`)).ok) {
      this.refuse(`${item.name} could not be removed. Reload the page.`);
      return;
    }
    this.items = this.items.filter(({ path }) => path !== item.path);
    await this.look();
    this.form.querySelector("[data-choose=file]").focus();
  }

  async onSubmit(event) {
    event.preventDefault();
    if (this.isBusy) return;
    clearErrors(this.form);
    if (!this.plan) return this.refuse("Choose the zips or the build folder first.");
    const wrong = this.form.dataset.release ? this.plan.faults : this.plan.problems; // a draft may be filled in parts
    if (wrong.length) return this.refuse(...wrong);
    if (this.address.isAsking && !this.address.protocols.length) return showErrors(this.form, { protocols: ["No manifest names the plugin protocols: choose them."] });
    this.form.dataset.busy = "";
    this.submit.setAttribute("aria-disabled", "true");
    try {
      await this.publish();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      this.refuse("Cannot reach the server. Nothing was published; the files sent so far are stored. Try again.");
    } finally {
      delete this.form.dataset.busy;
      this.submit.removeAttribute("aria-disabled");
    }
  }

  get release() {
    return this.form.dataset.release ?? this.opened?.release;
  }

  async publish() {
    const isDraftPage = Boolean(this.form.dataset.release);
    if (!(await this.open())) return;
    if (!(await this.send())) return;
    if (isDraftPage) return location.assign(this.release);
    const protocols = this.address.isAsking ? this.address.protocols : [];
    const answer = await this.post(`${this.release}/hand-in`, protocols.map((one) => ["protocols", one]));
    if (answer.ok) location.assign(this.release);
    else this.refuse((await answer.json()).error);
  }

  /** The draft, new or existing, and its files. */
  async open() {
    const answer = await this.post(this.form.dataset.release ? "/publish/provider" : this.form.action, this.address.fields);
    if (!answer.headers.get("Content-Type")?.startsWith("application/json")) {
      return this.refuse(answer.redirected ? "You are no longer signed in. Sign in again in another tab, then continue from here." : `The server answered ${answer.status}. Reload the page and try again.`);
    }
    const said = await answer.json();
    if (!answer.ok) {
      showErrors(this.form, said.errors);
      return false;
    }
    this.opened = said;
    if (!this.form.dataset.release) this.view.linkDraft(said.release);
    if (said.state !== "receiving") {
      location.assign(said.release); // handed in before: its page says how it goes
      return false;
    }
    const chosen = new Set(this.plan.items.map(({ name }) => name));
    const others = said.files.filter(({ name }) => !chosen.has(name));
    if (!others.length) return true;
    this.items.push(...others.map(({ name, size }) => ({ name, path: name, size, file: null })));
    await this.look();
    return this.refuse(`The draft of this version has ${others.length} more file${others.length === 1 ? "" : "s"}, sent earlier: ${others.map(({ name }) => name).join(", ")}. They are now in the list; remove the ones you do not want, then send again.`);
  }

  async send() {
    const controller = new AbortController();
    const stay = (event) => event.preventDefault();
    const done = new Map();
    const { items, size } = this.plan;
    addEventListener("beforeunload", stay);
    this.progress.start("send", { name: `${items.length} files`, total: size, onCancel: () => controller.abort() });
    this.progress.button.textContent = "Cancel this release";
    try {
      await sendAll({ items, received: this.opened.files, release: this.release, signal: controller.signal, onPause: (isLost, retry) => this.progress.pause(isLost, retry), onFile: (item, state, sent) => {
        done.set(item.name, sent);
        this.show(item, state, sent);
        this.progress.show([...done.values()].reduce((sum, one) => sum + one, 0));
      } });
      return true;
    } catch (error) {
      return await this.stopped(error);
    } finally {
      removeEventListener("beforeunload", stay);
      this.progress.stop();
    }
  }

  show(item, state, sent) {
    this.current = item;
    if (state === "sent") this.view.mark(item.name, "received", "ok");
    else if (state === "compared") this.view.mark(item.name, "comparing with the file sent before", "", 0);
    else this.view.mark(item.name, `${item.size ? Math.round((sent / item.size) * 100) : 0} %`, "", item.size ? (sent / item.size) * 100 : 0);
  }

  async stopped(error) {
    if (error instanceof Cancelled || error?.name === "AbortError") {
      await this.post(`${this.release}/cancel`).catch(() => {});
      this.opened = null;
      this.view.unlinkDraft();
      if (this.form.dataset.release) return void location.assign(this.release);
      this.replan();
      this.progress.announce("Cancelled. Nothing was published, the sent files are deleted, and the version number is free.");
      this.submit.focus();
      return false;
    }
    if (this.current) this.view.mark(this.current.name, "not sent", "bad");
    if (error instanceof FileRefused) return this.refuse(error.message);
    if (error instanceof Changed) return this.refuse(`${this.current.name} was changed or removed. The files before it are stored: choose it again, and send the rest.`);
    if (!(error instanceof Broken)) throw error;
    this.submit.textContent = "Send the rest";
    return this.refuse(`The connection was lost at ${this.current.name}. The files sent so far are stored: send the rest from here, or continue later on the draft's page.`);
  }

  /** @param {string} url @param {string[][]} fields */
  post(url, fields = []) {
    const token = this.form.querySelector("[name=csrfmiddlewaretoken]").value;
    return fetch(url, { method: "POST", body: new URLSearchParams(fields), headers: { Accept: "application/json", "X-CSRFToken": token } });
  }

  /** @param {...string} sentences @returns {false} */
  refuse(...sentences) {
    showErrors(this.form, { [WHOLE_FORM]: sentences });
    return false;
  }
}

/** The files that the server has, according to the page. */
function receivedOf(page) {
  return [...page.querySelectorAll("#release-status [data-file]")].map(({ dataset }) => ({ name: dataset.file, path: dataset.file, size: Number(dataset.size), file: null }));
}
