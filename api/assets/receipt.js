// The receipt's button. Without this script the browser's own menu prints and saves.
(() => {
  "use strict";
  const button = document.querySelector("#print");
  button.hidden = false;
  button.addEventListener("click", () => print());
})();
