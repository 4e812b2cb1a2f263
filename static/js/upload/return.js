// Leaving the page would lose the chosen files, so links of the form open another tab. Back here, the form knows what
// was created there: a namespace, a signing key.

/** @param {HTMLFormElement} form @param {() => void} [onChange] */
export function refreshOnReturn(form, onChange = () => {}) {
  let isAway = false;
  form.addEventListener("click", ({ target }) => { isAway ||= Boolean(target.closest("a[target=_blank]")); });
  document.addEventListener("visibilitychange", async () => {
    if (!isAway || document.hidden) return;
    isAway = false;
    const answer = await fetch(location.href, { redirect: "manual" }).catch(() => null);
    if (!answer?.ok) return; // signed out meanwhile: sending says so
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const [signers, current] = [fresh, form].map((part) => part.querySelector("[data-signers]"));
    if (signers && current) current.replaceWith(signers);
    offerNamespaces(form.elements.namespace, fresh.querySelector("form[data-publish], form[data-provider-publish]"));
    onChange();
  });
}

/** @param {HTMLSelectElement | undefined} select @param {HTMLFormElement | null} fresh */
function offerNamespaces(select, fresh) {
  const known = new Set([...(select?.options ?? [])].map(({ value }) => value));
  const created = [...(fresh?.elements.namespace?.options ?? [])].map(({ value }) => value).filter((value) => value && !known.has(value));
  select?.append(...created.map((value) => new Option(value, value)));
  if (created.length === 1) [select.value] = created;
}
