// Names the fields that select2 draws: it does not take over the label of the <select> behind each.

function nameFields(root) {
  for (const select of root.querySelectorAll("select.admin-autocomplete")) {
    const drawn = select.nextElementSibling?.querySelector(".select2-selection");
    const value = drawn?.querySelector(".select2-selection__rendered");
    if (!value) continue;
    drawn.id = `${select.id}_drawn`;
    drawn.setAttribute("aria-label", select.getAttribute("aria-label") ?? select.labels[0].textContent.trim());
    drawn.setAttribute("aria-labelledby", `${drawn.id} ${value.id}`);
    value.setAttribute("aria-labelledby", drawn.id);
  }
}

// Both run after the handlers of Django's autocomplete.js, which draw the fields.
window.django?.jQuery?.(() => nameFields(document));
document.addEventListener("formset:added", (event) => nameFields(event.target));
