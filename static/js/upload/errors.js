// Renders errors of JSON answers as the server does (partials/field.html, partials/error_summary.html).

/** The errors of the whole form, as Django calls them. */
export const WHOLE_FORM = "__all__";

/** @param {HTMLFormElement} form */
export function clearErrors(form) {
  form.querySelector(".error-summary")?.remove();
  for (const field of form.querySelectorAll(".field--invalid")) {
    field.classList.remove("field--invalid");
    field.querySelector("[id$=_error]")?.remove();
    const control = field.querySelector("input, select, textarea");
    control.removeAttribute("aria-invalid");
    describe(control, (id) => !id.endsWith("_error"));
  }
}

/**
 * Show the errors beside their fields and as a summary, which gets the focus.
 * @param {HTMLFormElement} form @param {Record<string, string[]>} errors those of the whole form under WHOLE_FORM
 */
export function showErrors(form, errors) {
  clearErrors(form);
  const lines = [];
  for (const [name, sentences] of Object.entries(errors)) {
    const control = controlOf(form, name);
    const field = control instanceof Element ? control.closest(".field") : null;
    if (field) mark(field, control, sentences);
    for (const sentence of sentences) lines.push(field ? linked(field, control, sentence) : element("li", {}, sentence));
  }
  const list = element("ul", {}, ...lines);
  const summary = element("div", { class: "error-summary", role: "alert", tabindex: "-1" }, element("h2", {}, "Please fix the following"), list);
  form.prepend(summary);
  summary.focus();
}

function controlOf(form, name) {
  const found = form.elements.namedItem(name);
  return found instanceof RadioNodeList ? found[0] : found;
}

function mark(field, control, sentences) {
  const id = `${control.id}_error`;
  field.classList.add("field--invalid");
  control.closest("details")?.setAttribute("open", "");
  field.append(element("div", { id }, ...sentences.map((sentence) => element("p", { class: "field__error" }, sentence))));
  control.setAttribute("aria-invalid", "true");
  describe(control, () => true, id);
}

function linked(field, control, sentence) {
  const label = field.querySelector(".field__label, .choice").textContent.replace("(optional)", "").trim();
  return element("li", {}, element("a", { href: `#${control.id}` }, label), `: ${sentence}`);
}

function describe(control, keep, added = "") {
  const ids = (control.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && keep(id));
  if (added && !ids.includes(added)) ids.push(added);
  if (ids.length) control.setAttribute("aria-describedby", ids.join(" "));
  else control.removeAttribute("aria-describedby");
}

/** @param {string} name @param {Record<string, string>} attributes @param {...(Node | string)} children */
export function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
