// Runs before the first paint, so that a page from a cache or rendered without the cookie does not flash in the other
// theme. The server renders the theme from the cookie; without JavaScript the form posts and reloads the page.
(() => {
  const root = document.documentElement;
  const themes = ["system", "light", "dark"];
  const found = /(?:^|; )larder-theme=(\w+)/.exec(document.cookie);
  if (found && themes.includes(found[1])) root.dataset.theme = found[1];
  root.dataset.js = "";

  document.addEventListener("submit", (event) => {
    const theme = event.submitter?.value;
    if (!event.target.matches("[data-theme-switch]") || !themes.includes(theme)) return;
    event.preventDefault();
    root.dataset.theme = theme;
    const secure = location.protocol === "https:" ? "; secure" : "";
    document.cookie = `larder-theme=${theme}; path=/; max-age=31536000; samesite=lax${secure}`;
    mark(event.target, theme);
  });

  function mark(form, theme) {
    for (const button of form.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.value === theme));
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const form of document.querySelectorAll("[data-theme-switch]")) mark(form, root.dataset.theme);
  });
})();
