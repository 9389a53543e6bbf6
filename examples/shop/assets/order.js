// The buyer's side of the shop: the widget in the page, and the order's state on the shop's own server.
(() => {
  "use strict";
  const mount = document.querySelector("#pay");
  const log = document.querySelector("#log");
  const note = (name) => (detail) => {
    const line = document.createElement("li");
    line.textContent = detail.status ? `${name}: ${detail.status}, ${detail.amountReceived ?? 0} of ${detail.amountDue ?? "?"} received` : name;
    log.append(line);
  };
  GatewayWidget.open({
    paymentId: mount.dataset.paymentId, mount,
    onLoad: note("onLoad"), onPartial: note("onPartial"), onSuccess: note("onSuccess"),
    onExpired: note("onExpired"), onCancel: note("onCancel"), onClose: note("onClose"),
  });
  // A callback is a hint; the order is paid when our server has a webhook that verifies.
  const ask = async () => {
    const { told } = await (await fetch(`/order/${mount.dataset.number}/state`)).json();
    if (told) document.querySelector("#told").textContent = told;
    else setTimeout(ask, 1000);
  };
  ask();
})();
