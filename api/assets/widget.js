// The shop's side of the hosted checkout. Include it from the checkout's own address:
//   <script src="{checkout_url}/widget/v1.js"></script>
//   GatewayWidget.open({ paymentId, mount, theme, locale, onLoad, onPartial, onSuccess, onExpired, onCancel, onClose })
// or linkId instead of paymentId, which begins with the page of a payment link. Or give any element the attribute
// data-gateway-payment-id or data-gateway-link-id. What it tells is a hint: ship goods on the signed webhook only.
(() => {
  "use strict";
  const script = document.currentScript;
  const base = script.src.replace(/\/widget\/v1\.js.*$/, "");
  const checkout = new URL(script.src).origin;
  const CALLBACKS = { partial: "onPartial", paid: "onSuccess", overpaid: "onSuccess", expired: "onExpired", cancelled: "onCancel" };

  // Titles for screen readers; the payment itself is in the frame, in the buyer's language.
  const WORDS = {
    de: ["Zahlung", "Schließen"], en: ["Payment", "Close"], es: ["Pago", "Cerrar"], fr: ["Paiement", "Fermer"],
    it: ["Pagamento", "Chiudi"], nl: ["Betaling", "Sluiten"], pl: ["Płatność", "Zamknij"], pt: ["Pagamento", "Fechar"],
    tr: ["Ödeme", "Kapat"], ar: ["الدفع", "إغلاق"], zh: ["付款", "关闭"], ja: ["支払い", "閉じる"],
  };
  const wordsOf = (locale) => WORDS[(locale || document.documentElement.lang || navigator.language).slice(0, 2).toLowerCase()] || WORDS.en;

  const style = (element, rules) => { for (const name in rules) element.style[name] = rules[name]; };

  const dialog = (frame, close, [title, shut]) => {
    const box = document.createElement("dialog");
    box.setAttribute("aria-label", title);
    style(box, { padding: "0", border: "0", borderRadius: "1.2rem", inlineSize: "min(100vw, 60rem)", blockSize: "min(100dvh, 58rem)",
      maxInlineSize: "100vw", maxBlockSize: "100dvh", overflow: "hidden", background: "Canvas", display: "grid",
      gridTemplateRows: "auto 1fr", justifyItems: "end" });
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "\u00d7";
    button.setAttribute("aria-label", shut);
    style(button, { inlineSize: "3rem", blockSize: "3rem", padding: "0", border: "0", font: "1.6rem/1 system-ui, sans-serif",
      cursor: "pointer", background: "none", color: "CanvasText", outlineOffset: "-4px" });
    button.addEventListener("click", close);
    box.addEventListener("cancel", (event) => { event.preventDefault(); close(); });
    style(frame, { blockSize: "100%" });
    box.append(button, frame);
    document.body.append(box);
    box.showModal();
    return box;
  };

  const open = (options) => {
    const { linkId, mount, theme, locale } = options;
    let { paymentId } = options;
    if (linkId ? !/^pzl_[0-9a-z]{26}$/i.test(linkId) : !/^pzi_[0-9a-z]{26}$/i.test(paymentId)) {
      throw new TypeError(`GatewayWidget: ${linkId ? "linkId is not a link's id" : "paymentId is not a payment's id"}`);
    }
    if (linkId) paymentId = undefined;
    const query = new URLSearchParams({ origin: location.origin });
    if (theme === "light" || theme === "dark") query.set("theme", theme);
    if (locale) query.set("lang", locale);
    const frame = document.createElement("iframe");
    frame.src = `${base}/embed/${linkId ? `l/${linkId}` : paymentId}?${query}`;
    const words = wordsOf(locale);
    frame.title = words[0];
    frame.allow = "clipboard-write";
    frame.referrerPolicy = "no-referrer";
    style(frame, { border: "0", inlineSize: "100%", display: "block", colorScheme: "auto" });

    let told = "", isOpen = true, loaded = false, box;
    const call = (name, detail) => { if (typeof options[name] === "function") options[name](detail); };
    const close = () => {
      if (!isOpen) return;
      isOpen = false;
      removeEventListener("message", hear);
      frame.remove();
      if (box) box.remove();
      call("onClose", { paymentId });
    };
    const hear = (event) => {
      // Exactly our checkout, exactly our frame: anything else may say what it likes.
      if (event.origin !== checkout || event.source !== frame.contentWindow) return;
      const said = event.data;
      if (!said || said.source !== "gateway-widget" || said.v !== 1) return;
      // The frame of a link shows a payment once its visitor has sent the form, and another one if he begins again.
      if (linkId && said.type === "load" && said.paymentId !== paymentId) { paymentId = said.paymentId; told = ""; loaded = false; }
      if (said.paymentId !== paymentId) return;
      if (said.type === "load" && !loaded) { loaded = true; call("onLoad", { paymentId }); }
      if (said.type === "close" && box) close();
      if (said.type === "height" && !box && Number.isInteger(said.height)) frame.style.blockSize = `${said.height}px`;
      // Once per change: a page that was loaded again says the same again.
      if (said.type === "status" && said.status !== told) {
        told = said.status;
        const { status, amountDue, amountReceived, payCurrency, redirectUrl } = said;
        if (Object.hasOwn(CALLBACKS, status)) call(CALLBACKS[status], { paymentId, status, amountDue, amountReceived, payCurrency, redirectUrl });
      }
    };
    addEventListener("message", hear);
    const place = typeof mount === "string" ? document.querySelector(mount) : mount;
    if (place) { style(frame, { blockSize: "44rem" }); place.append(frame); } else box = dialog(frame, close, words);
    return { close };
  };

  // A button or link with the attribute opens the payment in a dialog.
  document.addEventListener("click", (event) => {
    const element = event.target.closest && event.target.closest("[data-gateway-payment-id],[data-gateway-link-id]");
    if (!element) return;
    event.preventDefault();
    const { gatewayPaymentId: paymentId, gatewayLinkId: linkId } = element.dataset;
    open({ paymentId, linkId });
  });
  globalThis.GatewayWidget = Object.freeze({ open });
})();
