// Passkeys: asks the authenticator, writes its answer into the form, and sends that as any other form.
"use strict";
(() => {
  const bytes = (text) =>
    Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const text = (buffer) =>
    buffer ? btoa(String.fromCharCode(...new Uint8Array(buffer)))
      .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "") : "";
  const named = (list) =>
    list.split(" ").filter((id) => id !== "").map((id) => ({ type: "public-key", id: bytes(id) }));

  const create = async (data) => {
    const made = await navigator.credentials.create({ publicKey: {
      challenge: bytes(data.challenge),
      rp: { id: data.site, name: "Gateway" },
      user: { id: bytes(data.user), name: data.userName, displayName: data.userName },
      pubKeyCredParams: [{ type: "public-key", alg: -7 }],
      excludeCredentials: named(data.credentials),
      authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
      attestation: "none",
      timeout: 240000,
    } });
    const { clientDataJSON, getAuthenticatorData } = made.response;
    return { client_data: clientDataJSON, authenticator_data: getAuthenticatorData.call(made.response) };
  };
  const get = async (data) => {
    const used = await navigator.credentials.get({ publicKey: {
      challenge: bytes(data.challenge),
      rpId: data.site,
      allowCredentials: named(data.credentials),
      userVerification: "required",
      timeout: 240000,
    } });
    const { clientDataJSON, authenticatorData, signature, userHandle } = used.response;
    return {
      credential_id: used.rawId, client_data: clientDataJSON, authenticator_data: authenticatorData, signature,
      user_handle: userHandle,
    };
  };
  const why = (error) => {
    if (error.name === "InvalidStateError") return "This device has a passkey of your account already.";
    if (error.name === "NotAllowedError") return "Nothing was confirmed. Try again, or use another way.";
    return "This browser could not use a passkey here (" + error.name + "). Use another way.";
  };
  const send = async (form) => {
    const [button, problem] = [form.querySelector("button"), form.querySelector("[data-problem]")];
    button.disabled = true;
    problem.hidden = true;
    try {
      const answer = await (form.dataset.passkey === "create" ? create : get)(form.dataset);
      for (const [name, value] of Object.entries(answer)) form.elements[name].value = text(value);
      form.submit();
    } catch (error) {
      problem.textContent = why(error);
      problem.hidden = false;
      button.disabled = false;
    }
  };
  if (typeof PublicKeyCredential !== "function" || !navigator.credentials) return;
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.closest("[data-passkeys]").hidden = false;
    form.addEventListener("submit", (event) => { event.preventDefault(); send(form); });
  }
  // A browser keeps the button as it was when somebody comes back to the page.
  addEventListener("pageshow", () => {
    for (const button of document.querySelectorAll("form[data-passkey] button")) button.disabled = false;
  });
})();
