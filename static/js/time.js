// Times arrive as UTC text. This adds the reader's time zone and updates relative times while a page stays open.

const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const steps = [["year", 31536000], ["month", 2592000], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];

/** @param {Date} at @returns {string} */
function ago(at) {
  const seconds = (at.getTime() - Date.now()) / 1000;
  for (const [unit, size] of steps) {
    // Rounds the future from about two units on, as templatetags/times.py does.
    const count = seconds < 0 ? Math.ceil(seconds / size) : seconds / size < (unit === "minute" ? 1 : 1.95) ? 0 : Math.floor(seconds / size + 0.5);
    if (count) return relative.format(count, unit);
  }
  return "just now";
}

/** @param {ParentNode} root */
function improve(root) {
  for (const element of root.querySelectorAll("time[data-relative], time[data-zone]")) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    if (!element.dataset.utc) element.dataset.utc = "relative" in element.dataset ? element.title : element.textContent.trim();
    const here = zone === "UTC" ? "" : ` · ${local.format(at)} here`;
    if ("relative" in element.dataset) element.textContent = ago(at);
    element.title = element.dataset.utc + ("relative" in element.dataset ? here : `${here} · ${ago(at)}`);
  }
}

improve(document);
setInterval(() => improve(document), 30_000);
document.addEventListener("htmx:after:swap", () => improve(document));
