// Offers what fits the address in the box: ssh, https, or a module of another registry, which takes no credential.
// Without scripts all of it shows, and says which address it needs.

const SSH = /^(ssh:\/\/|[\w.-]+@[\w.-]+:)/i;
const HTTPS = /^https?:\/\//i;
const MODULE = /^[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?(\/[^/\s]+){3}$/i; // host/namespace/name/system

/** @param {string} address */
function kind(address) {
  if (SSH.test(address)) return "ssh";
  if (HTTPS.test(address)) return "https";
  return MODULE.test(address) ? "module" : "";
}

/** @param {HTMLInputElement} box */
function offer(box) {
  const wanted = kind(box.value.trim());
  const ways = document.querySelector("[data-ways]");
  for (const way of ways.querySelectorAll("[data-needs]")) {
    way.hidden = wanted !== "" && way.dataset.needs !== wanted;
    if (way.querySelector("input[name=kind]:checked") && way.hidden) ways.querySelector("input[value=none]").checked = true;
  }
  ways.hidden = wanted === "module";
  document.querySelector("[data-no-ways]").hidden = wanted !== "module";
}

const box = document.querySelector("input[name=url]");
box.addEventListener("input", () => offer(box));
offer(box);
