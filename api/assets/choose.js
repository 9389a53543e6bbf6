// Narrows the list of currencies to what is typed.
(() => {
  "use strict";
  const field = document.querySelector("#search");
  if (!field) return;
  const ways = [...document.querySelectorAll(".way")];
  const found = document.querySelector("#found");
  const narrow = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const way of ways) {
      const fits = words.every((word) => way.dataset.words.includes(word));
      way.hidden = !fits && !way.querySelector(":checked");
      if (fits) count += 1;
    }
    for (const coin of document.querySelectorAll(".coin")) coin.hidden = !coin.querySelector(".way:not([hidden])");
    // What is folded away is searched too.
    const more = document.querySelector("#more");
    if (more) {
      if (words.length) more.open = true;
      more.hidden = !more.querySelector(".way:not([hidden])");
    }
    found.textContent = words.length === 0 ? "" : count === 0 ? field.dataset.none : field.dataset.count.replace("{count}", count);
  };
  field.addEventListener("input", narrow);
  // Enter chooses the only one that is left; it must not send the form with another.
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const left = ways.filter((way) => !way.hidden);
    if (left.length === 1) {
      left[0].querySelector("input").checked = true;
      document.querySelector(".go button").focus();
    }
  });
  narrow();
})();
