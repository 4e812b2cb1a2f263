// Publishing with a progress bar. Without this file both forms work as they are, in two steps.

import { attachDropzone } from "./upload/dropzone.js";
import { clearErrors, showErrors } from "./upload/errors.js";
import { guess } from "./upload/guess.js";
import { Progress } from "./upload/progress.js";
import { Cancelled, transfer } from "./upload/transfer.js";

const WHOLE_FORM = "__all__";

/** What the form shows while and after one file is sent. */
class Uploader {
  /** @param {HTMLFormElement} form */
  constructor(form) {
    this.form = form;
    this.input = form.querySelector("input[type=file]");
    this.submit = form.querySelector("[type=submit]");
    this.progress = new Progress(form);
    attachDropzone(form.querySelector("[data-dropzone]"), this.input);
  }

  /** The chosen file, or null after saying what is wrong with the choice. */
  file() {
    const file = this.input.files[0];
    const limit = Number(this.form.dataset.maxBytes);
    if (!file) this.refuse("Choose the module's zip archive first.");
    else if (file.size > limit) {
      this.refuse(`${file.name} has ${number(file.size)} bytes; ${this.form.dataset.limitSetting} allows ${number(limit)}. Leave out what is not part of the module, such as .git or .terraform.`);
    } else return file;
    return null;
  }

  /** @param {string} sentence */
  refuse(sentence) {
    showErrors(this.form, { [WHOLE_FORM]: [sentence] });
  }

  /**
   * Send the file, then go to the release's page.
   * @param {File} file @param {string} url @param {string} release
   */
  async send(file, url, release) {
    const controller = new AbortController();
    const stay = (event) => event.preventDefault();
    addEventListener("beforeunload", stay);
    this.form.dataset.busy = "";
    this.progress.start(file, () => controller.abort());
    try {
      const answer = await transfer({ url, file, signal: controller.signal, onProgress: (sent) => this.progress.show(sent) });
      removeEventListener("beforeunload", stay);
      if (answer.ok) location.assign(release);
      else this.refuse(answer.error ?? `The server answered ${answer.status}. Nothing was published; try again.`);
    } catch (error) {
      if (error instanceof Cancelled) await this.cancelled(release);
      else this.refuse("The connection broke before the upload was complete. Nothing was published; the version number is free.");
    } finally {
      removeEventListener("beforeunload", stay);
      delete this.form.dataset.busy;
      this.progress.stop();
    }
  }

  /** @param {string} release */
  async cancelled(release) {
    // The server notices a broken upload by itself, but perhaps not before the next attempt.
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    await fetch(`${release}/cancel`, { method: "POST", headers: { "X-CSRFToken": token } }).catch(() => {});
    this.progress.announce("Cancelled. Nothing was published, and the version number is still free.");
    this.submit.focus();
  }
}

/** @param {HTMLFormElement} form */
function attachPublish(form) {
  const uploader = new Uploader(form);
  const { module, version, file_name: fileName } = form.elements;
  const parts = form.querySelector("[data-new-module]");
  uploader.submit.textContent = uploader.submit.dataset.submit;

  const showParts = () => { parts.hidden = parts.disabled = Boolean(module) && module.value !== "new"; };
  module?.addEventListener("change", showParts);
  showParts();

  let guessed = "";
  uploader.input.addEventListener("change", () => {
    fileName.value = uploader.input.files[0]?.name ?? "";
    const found = guess(fileName.value);
    if (found.version && (!version.value || version.value === guessed)) version.value = guessed = found.version;
    for (const name of ["name", "system"]) {
      const field = form.elements[name];
      if (found[name] && !parts.disabled && !field.value) field.value = found[name];
    }
  });

  onSubmit(form, async () => {
    const file = uploader.file();
    if (!file) return;
    const response = await fetch(form.action, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      headers: { Accept: "application/json" },
      redirect: "manual",
    });
    if (response.type === "opaqueredirect") return uploader.refuse("You are no longer signed in. Sign in again in another tab, then publish from here.");
    if (!response.headers.get("Content-Type")?.startsWith("application/json")) {
      return uploader.refuse(`The server answered ${response.status}. Reload the page and try again.`);
    }
    const answer = await response.json();
    if (!response.ok) return showErrors(form, answer.errors);
    await uploader.send(file, answer.upload, answer.release);
  });
}

/** @param {HTMLFormElement} form */
function attachUpload(form) {
  const uploader = new Uploader(form);
  onSubmit(form, async () => {
    const file = uploader.file();
    if (file) await uploader.send(file, form.action, form.dataset.release);
  });
  // The release went on without this form: from another tab, or it was cancelled.
  document.addEventListener("htmx:after:swap", () => {
    const reserved = document.querySelector("#release-status[data-reserved]");
    if (!reserved && !("busy" in form.dataset)) form.hidden = true;
  });
}

/** @param {HTMLFormElement} form @param {() => Promise<void>} act */
function onSubmit(form, act) {
  const button = form.querySelector("[type=submit]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    clearErrors(form);
    try {
      await act();
    } catch {
      showErrors(form, { [WHOLE_FORM]: ["The server cannot be reached. Nothing was published; try again."] });
    } finally {
      button.removeAttribute("aria-disabled");
    }
  });
}

/** @param {number} value */
function number(value) {
  return value.toLocaleString("en");
}

document.querySelectorAll("form[data-publish]").forEach(attachPublish);
document.querySelectorAll("form[data-upload]").forEach(attachUpload);
