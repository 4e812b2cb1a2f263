// The provider and version of the form, and its protocols if no manifest has them. On the publish page these are fields,
// guessed until a person types; on a draft's page they are fixed, and the protocols are asked for below.

import { element } from "../errors.js";

export class Address {
  /** @param {HTMLFormElement} form @param {() => void} onChange */
  constructor(form, onChange) {
    this.form = form;
    this.fixed = form.dataset.release ? form.dataset : null;
    this.isAsking = false;
    this.guessed = {};
    if (this.fixed) return;
    this.box = form.querySelector(".plan__protocols");
    const { provider } = form.elements;
    this.parts = form.querySelector("[data-new-provider]");
    const showParts = () => { this.parts.hidden = this.parts.disabled = Boolean(provider) && provider.value !== "new"; };
    provider?.addEventListener("change", () => { showParts(); this.suggestType(); });
    showParts();
    for (const name of ["provider", "namespace", "type", "version"]) form.elements[name]?.addEventListener("input", onChange);
  }

  /** @returns {{namespace: string, type: string, version: string}} */
  get value() {
    if (this.fixed) return { namespace: this.fixed.namespace, type: this.fixed.type, version: this.fixed.version };
    const { provider, namespace, type, version } = this.form.elements;
    const [first, second] = provider && provider.value !== "new" ? provider.value.split("/") : [namespace.value, type.value.trim()];
    return { namespace: first, type: second ?? "", version: version.value.trim() };
  }

  /** The form's own fields, for the view that opens drafts. */
  get fields() {
    const named = Object.entries({ provider: this.fixed ? "new" : (this.form.elements.provider?.value ?? "new"), ...this.value });
    return this.fixed || !this.isAsking ? named : [...named, ...this.protocols.map((one) => ["protocols", one])];
  }

  /** @param {{type: string, version: string}} found fills empty fields, and chooses a provider of that type */
  suggest(found) {
    if (this.fixed || !found.type) return;
    const { provider, type, version } = this.form.elements;
    const isOurs = (field, name) => !field.value || field.value === this.guessed[name];
    if (isOurs(version, "version")) version.value = this.guessed.version = found.version;
    const same = [...(provider?.options ?? [])].filter(({ value }) => value.split("/")[1] === found.type);
    if (same.length === 1 && (!provider.value || (provider.value === "new" && isOurs(type, "type")))) {
      provider.value = same[0].value;
      provider.dispatchEvent(new Event("change"));
    }
    this.found = found;
    this.suggestType();
  }

  suggestType() {
    const { type } = this.form.elements;
    const isOurs = !type.value || type.value === this.guessed.type;
    if (this.found && !this.parts.hidden && isOurs) type.value = this.guessed.type = this.found.type;
  }

  get protocols() {
    return [...this.form.querySelectorAll("[name=protocols]:checked")].map(({ value }) => value);
  }

  /** Ask for the protocols if no manifest has them. @param {boolean} isNeeded @param {boolean} isKnown that none does */
  ask(isNeeded, isKnown = true) {
    if (!this.box) return;
    this.box.querySelector(".field__optional")?.toggleAttribute("hidden", isKnown);
    this.isAsking = isNeeded;
    this.box.hidden = !isNeeded;
  }

  /** Tick the protocols of a manifest that is not sent itself. @param {string[]} protocols */
  tell(protocols) {
    if (!this.box) return;
    for (const one of protocols) {
      const found = [...this.box.querySelectorAll("input")].find(({ value }) => value === one);
      if (found) found.checked = true;
      else this.box.querySelector(".choices > div, .choices").append(element("label", {}, element("input", { type: "checkbox", name: "protocols", value: one, checked: "" }), ` ${one}`));
    }
  }
}
