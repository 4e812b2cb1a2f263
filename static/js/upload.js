// Publishing with a progress bar. Without this file both forms work in two steps.

import { clearErrors, showErrors, WHOLE_FORM } from "./upload/errors.js";
import { refreshOnReturn } from "./upload/return.js";
import { matching, suggestModules } from "./upload/suggestions.js";
import { Uploader } from "./upload/uploader.js";

/** @param {HTMLFormElement} form */
function attachPublish(form) {
  const { module, file_name: fileName } = form.elements;
  const parts = form.querySelector("[data-new-module]");
  const submit = form.querySelector("[type=submit]");
  submit.textContent = submit.dataset.submit;

  const isNew = () => !module || module.value === "new" || (module.list && !module.value.trim());
  const showParts = () => { parts.hidden = parts.disabled = !isNew(); };
  const guessed = {};
  let found = {};
  /** @param {string} part @param {string} value what the file tells; a person's own input stays */
  const propose = (part, value) => {
    const field = form.elements[part];
    const isOurs = !field.value || field.value === guessed[part];
    if (value && isOurs && !field.matches(":disabled")) field.value = guessed[part] = value;
  };
  const proposeParts = () => {
    showParts();
    if (isNew()) for (const part of ["name", "system"]) propose(part, found[part]);
  };
  module?.addEventListener("input", () => {
    form.querySelector("[data-match]").hidden = true; // what it asked for is done
    proposeParts();
  });
  refreshOnReturn(form);
  if (module?.list) suggestModules(module);
  showParts();

  const uploader = new Uploader(form, async (name, told, folders) => {
    fileName.value = name;
    found = told;
    offerFolders(form, folders);
    const isOurs = module && (!module.value || module.value === guessed.module);
    const match = isOurs && told.name ? await matching(told) : null;
    if (found !== told) return; // another file was chosen meanwhile
    if (match) {
      const [address] = match.modules.length === 1 ? match.modules : [""];
      if (address) found = { ...told, version: match.version };
      if (!module.value || module.value === guessed.module) module.value = guessed.module = address;
      tellMatch(form, told.name, match);
    }
    if (!match || match.modules.length === 0) proposeParts();
    else showParts();
    propose("version", found.version);
  });

  onSubmit(form, async () => {
    if (await uploader.retry()) return;
    const body = await uploader.bytes();
    if (!body) return;
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
    await uploader.send(body, answer.upload, answer.release);
  });
}

/** Say which existing modules the file may be for. */
function tellMatch(form, name, { modules, highest }) {
  const line = form.querySelector("[data-match]");
  const rest = modules.length > 3 ? `, and ${modules.length - 3} more` : "";
  if (modules.length === 1) line.textContent = `The file name matches ${modules[0]}${highest ? `, whose highest version is ${highest}` : ""}.`;
  else if (modules.length) line.textContent = `The file name matches several modules: ${modules.slice(0, 3).join(", ")}${rest}. Choose one.`;
  else line.textContent = `There is no module ${name} that you can publish. Choose a module, or “A new module”.`;
  line.hidden = false;
}

/** Suggests folders with module files, and opens the fields if they are needed. */
function offerFolders(form, folders) {
  const list = form.querySelector("#module-folders");
  list.replaceChildren(...folders.filter(Boolean).map((folder) => new Option(folder, folder)));
  if (folders.length && !folders.includes("")) form.querySelector("[data-monorepo]").open = true;
}

/** @param {HTMLFormElement} form */
function attachUpload(form) {
  const uploader = new Uploader(form);
  onSubmit(form, async () => {
    if (await uploader.retry()) return;
    const body = await uploader.bytes();
    if (body) await uploader.send(body, form.action, form.dataset.release);
  });
  // The release continued in another tab, or was cancelled.
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
      showErrors(form, { [WHOLE_FORM]: ["Cannot reach the server. Nothing was published; try again."] });
    } finally {
      button.removeAttribute("aria-disabled");
    }
  });
}

document.querySelectorAll("form[data-publish]").forEach(attachPublish);
document.querySelectorAll("form[data-upload]").forEach(attachUpload);
