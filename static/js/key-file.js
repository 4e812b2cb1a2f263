// Copies the text of a chosen file into the field beside it: nothing is uploaded. Without scripts the field remains.

const MOST = 200_000;

for (const input of document.querySelectorAll("[data-key-file]")) {
  input.addEventListener("change", async () => {
    const [file] = input.files;
    const field = document.getElementById(input.dataset.keyFile);
    if (!file || !field) return;
    input.setCustomValidity(file.size > MOST ? "This file is too large for a public key." : "");
    if (!input.reportValidity()) return;
    field.value = await file.text();
    field.focus();
  });
}
