// Narrows the list of currencies to what is typed, and says what of it cannot be chosen and why.
(() => {
  "use strict";
  const LAST = "gateway-last", REFUSED_SHOWN = 3;
  const field = document.querySelector("#search");
  if (!field) return;
  const ways = [...document.querySelectorAll(".way")];
  const refused = [...document.querySelectorAll(".no-way")];
  const found = document.querySelector("#found");
  // A space that does not break stays one: it holds an amount and its currency together.
  const told = (one) => one.textContent.replace(/[ \n]+/g, " ").trim();
  const narrow = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = (one) => words.every((word) => one.dataset.words.includes(word));
    let count = 0;
    for (const way of ways) {
      const fits = fitting(way);
      way.hidden = !fits && !way.querySelector(":checked");
      if (fits) count += 1;
    }
    for (const coin of document.querySelectorAll(".coin")) coin.hidden = !coin.querySelector(".way:not([hidden])");
    // What is folded away is searched too.
    const more = document.querySelector("#more");
    if (more) {
      if (words.length) more.open = true;
      more.hidden = !more.querySelector(".way:not([hidden])");
      // Its number is that of the whole list.
      more.querySelector("summary").hidden = words.length > 0;
    }
    // A browser says nothing about a choice that it cannot point at.
    document.querySelector(".go").hidden = ways.every((way) => way.hidden);
    for (const one of refused) one.hidden = !fitting(one);
    const missed = words.length ? refused.filter(fitting) : [];
    const counted = field.dataset.count.replace("{count}", count);
    if (words.length === 0) found.textContent = "";
    else if (missed.length === 0) found.textContent = count === 0 ? field.dataset.none : counted;
    else {
      const ends = missed.length > REFUSED_SHOWN ? " …" : "";
      const why = field.dataset.refused + ": " + missed.slice(0, REFUSED_SHOWN).map(told).join("; ") + ends;
      found.textContent = count === 0 ? why : counted + ". " + why;
    }
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
  // What this browser chose the last time comes first. Nobody is told of it, and it chooses nothing.
  const form = document.querySelector(".choose");
  try {
    const last = ways.find((way) => way.querySelector("input").value === localStorage.getItem(LAST));
    if (last) {
      last.parentNode.prepend(last);
      document.querySelector(".intro").after(last.closest(".coin"));
    }
    form.addEventListener("submit", () => {
      const chosen = form.querySelector("input:checked");
      if (chosen) localStorage.setItem(LAST, chosen.value);
    });
  } catch { /* A browser that keeps nothing for frames. */ }
  narrow();
})();
