// The language of the examples: one choice for all of them, kept for the next visit.
(() => {
  "use strict";
  const KEY = "docs-language";

  const choose = (language) => {
    for (const one of document.querySelectorAll(".switch > input")) {
      if (one.value === language) one.checked = true;
    }
  };

  // A browser may forbid a page to keep anything; the choice then lasts as long as the page.
  try {
    choose(localStorage.getItem(KEY));
  } catch {}

  document.addEventListener("change", (event) => {
    const one = event.target;
    if (!one.matches(".switch > input")) return;
    // The other examples change their heights too: the chosen one stays where it is.
    const before = one.getBoundingClientRect().top;
    choose(one.value);
    scrollBy(0, one.getBoundingClientRect().top - before);
    try {
      localStorage.setItem(KEY, one.value);
    } catch {}
  });
})();
