// Shows the plan (portal/publish/provider_plan.html): the address, the problems and each file.

import { size } from "../amounts.js";
import { element } from "../errors.js";

const ROLES = { sums: "Checksums", signature: "Signature", manifest: "Manifest", docs: "Documentation", odd: "Cannot be read" };
const TONES = { none: "callout--bad", open: "" };
const MOST_NAMED = 100;

export class PlanView {
  /** @param {HTMLElement} root @param {(item: object) => void} onRemove */
  constructor(root, onRemove) {
    this.root = root;
    this.onRemove = onRemove;
    this.rows = new Map();
  }

  find(part) {
    return this.root.querySelector(`[data-plan-${part}]`);
  }

  /** @param {import("./plan.js").Plan} plan @param {{namespace: string, type: string, version: string}} address */
  show(plan, { namespace, type, version }) {
    this.root.hidden = false;
    const count = plan.packages.length;
    this.find("title").textContent = `${namespace || "…"}/${type || "…"} ${version || "…"}`;
    const facts = [`${count} platform${count === 1 ? "" : "s"}`, `${plan.items.length} files`, size(plan.size)];
    if (plan.protocols.length) facts.push(`protocol${plan.protocols.length === 1 ? "" : "s"} ${plan.protocols.join(", ")}`);
    this.find("facts").textContent = facts.join(" · ");
    this.list("problems", plan.problems);
    this.list("notes", plan.notes);
    const [title, text] = this.find("signing").querySelectorAll("p");
    const page = [...this.root.querySelectorAll("[data-signers] > li")].find((one) => one.dataset.namespace === namespace)?.dataset.keys;
    this.find("keys").hidden = plan.signing.how !== "none" || !page;
    if (page) this.find("keys").href = page;
    this.find("signing").dataset.planSigning = plan.signing.how;
    this.find("signing").className = `callout ${TONES[plan.signing.how] ?? "callout--ok"}`;
    title.textContent = plan.signing.title;
    text.textContent = plan.signing.text;
    this.showMatrix(plan);
    this.showFiles(plan.items);
    this.list("ignored", plan.ignored.slice(0, MOST_NAMED));
    this.find("ignored").querySelector("summary").textContent = `${plan.ignored.length.toLocaleString("en")} other file${plan.ignored.length === 1 ? "" : "s"}, not sent`;
  }

  /** @param {string} url of the draft, once it is open */
  linkDraft(url) {
    this.find("draft").href = url;
    this.find("draft").hidden = false;
  }

  unlinkDraft() {
    this.find("draft").hidden = true;
  }

  list(part, texts) {
    const box = this.find(part);
    box.hidden = !texts.length;
    box.querySelector("ul").replaceChildren(...texts.map((text) => element("li", {}, text)));
  }

  showMatrix({ packages, ...known }) {
    const table = this.find("matrix");
    table.parentElement.hidden = !packages.length;
    const systems = known.systems.filter((os) => packages.some((one) => one.os === os));
    const arches = known.architectures.filter((arch) => packages.some((one) => one.arch === arch));
    const head = [element("th", { scope: "col" }, "System"), ...arches.map((arch) => element("th", { scope: "col", class: "mono" }, arch))];
    table.tHead.replaceChildren(element("tr", {}, ...head));
    table.tBodies[0].replaceChildren(...systems.map((os) => {
      const cells = arches.map((arch) => {
        const found = packages.find((one) => one.os === os && one.arch === arch);
        return element("td", {}, found ? element("span", { class: "nowrap" }, size(found.size)) : element("span", { class: "faint nowrap" }, "none"));
      });
      return element("tr", {}, element("th", { scope: "row", class: "mono" }, os), ...cells);
    }));
  }

  showFiles(items) {
    this.rows.clear();
    this.find("files").replaceChildren(...items.map((item) => {
      const state = element("span", { class: "parcels__state" });
      const bar = element("progress", { class: "progress__bar parcels__bar", max: "100", value: "0", "aria-label": item.name, hidden: "" });
      const remove = element("button", { class: "button button--small", type: "button" }, "Remove", element("span", { class: "visually-hidden" }, ` ${item.path}`));
      remove.addEventListener("click", () => this.onRemove(item));
      const label = ROLES[item.role] ?? `${item.os}_${item.arch}`;
      const row = element("li", { class: "parcels__item", "data-plan-file": item.name }, element("span", { class: "parcels__name" }, item.path), element("span", { class: "parcels__facts" }, `${label} · ${size(item.size)}`), state, remove, bar);
      this.rows.set(item.name, { state, bar });
      if (item.fault) this.mark(item.name, "see above", "bad");
      else if (!item.file || item.isThere) this.mark(item.name, "received", "ok");
      return row;
    }));
  }

  /** @param {string} name @param {string} text @param {"" | "ok" | "bad"} tone @param {number | null} percent */
  mark(name, text, tone = "", percent = null) {
    const row = this.rows.get(name);
    if (!row) return;
    row.state.textContent = text;
    row.state.className = `parcels__state${tone ? ` parcels__state--${tone}` : ""}`;
    row.bar.hidden = percent === null;
    if (percent !== null) row.bar.value = percent;
  }
}
