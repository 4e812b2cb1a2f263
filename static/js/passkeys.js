// Forms with data-passkey: pressing the button asks an authenticator and sends its answer. Without scripts they stay hidden.

const known = window.PublicKeyCredential?.parseRequestOptionsFromJSON !== undefined;
const WORDS = {
  InvalidStateError: "This device already has a passkey for your account.",
  NotAllowedError: "Cancelled or timed out. Try again.",
  SecurityError: "Passkeys do not work on an IP address. On this machine, open Larder as localhost.",
};

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (!known) continue;
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(form);
  });
}

async function ask(form) {
  const said = form.querySelector("[data-passkey-problem]");
  said.textContent = "";
  try {
    const answer = await fetch(form.dataset.passkey, { headers: { Accept: "application/json" } });
    const options = await answer.json();
    if (options.confirm) {
      location.assign(options.confirm);
      return;
    }
    if (!answer.ok) throw new Error();
    const credential = await credentialFor(form.hasAttribute("data-passkey-new"), options);
    form.elements.credential.value = JSON.stringify(credential);
    form.submit();
  } catch (error) {
    said.textContent = WORDS[error.name] ?? "Something went wrong. Reload the page and try again.";
  }
}

function credentialFor(isNew, options) {
  return isNew
    ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
}
