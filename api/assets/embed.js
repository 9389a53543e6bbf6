// Tells the shop's page, and no other, how the payment in this frame stands.
(() => {
  "use strict";
  const main = document.querySelector("#checkout");
  const origin = main.dataset.origin;
  if (!origin || parent === window) return;
  const id = main.dataset.id;
  const tell = (type, more) => parent.postMessage({ source: "gateway-widget", v: 1, type, paymentId: id, ...more }, origin);
  const height = () => tell("height", { height: Math.ceil(document.body.getBoundingClientRect().height) });
  const say = (s) => tell("status", {
    status: s.status, amountDue: s.amount_due, amountReceived: s.amount_received,
    payCurrency: s.pay_currency, redirectUrl: s.redirect_url,
  });
  // The page asks for all: of two who ask, an older answer could come after a newer one.
  const ask = () => document.dispatchEvent(new CustomEvent("gateway:ask"));
  document.addEventListener("gateway:status", (event) => say(event.detail));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") tell("close"); });
  addEventListener("message", (event) => {
    if (event.source !== parent || event.origin !== origin) return;
    if (event.data && event.data.source === "gateway-widget" && event.data.type === "ask") ask();
  });
  new ResizeObserver(height).observe(document.body);
  tell("load");
  ask();
})();
