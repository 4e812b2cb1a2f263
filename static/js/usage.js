// Leaves what is empty out of the address that the usage builder makes.

document.getElementById("builder")?.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (!value) formData.delete(name);
});
