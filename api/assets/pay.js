// Follows one payment: the countdown, the status, and a fresh page when something has changed.
// The server renders everything; without this script the page is reloaded by hand.
(() => {
  "use strict";
  // A request may be held until something changes: at most so many of one browser, which opens six
  // connections to a host, and all other pages of the checkout need theirs.
  const HOLD = 40, HOLD_CONFIRMING = 3, HELD_MAX = 3, SOON = 300, SOON_MAX = 10;
  const POLL = 3000, ENDED = 10000, LATER = 6000, LATER_AFTER = 300000, HIDDEN = 15000, LIMIT = 10000, WORST = 30000, STAY = 3;
  const find = (selector) => document.querySelector(selector);
  const started = performance.now();
  // The server's numbers are of the moment of its answer, and this script may begin much later.
  const [arrival] = performance.getEntriesByType("navigation");
  let answered = arrival && arrival.responseStart > 0 ? arrival.responseStart : started;
  let main = find("#checkout");
  let ends, timer, polling = false, failed = 0, said = "", mark = "", holding = null, changes = 0;
  let canHold = "locks" in navigator && "any" in AbortSignal;

  const ended = () => !["choosing", "paying", "confirming", "closing"].includes(main.dataset.phase);
  // Money may still come to the address of what was not paid, and its buyer waits here for a word.
  const settled = () => ["paid", "overpaid"].includes(main.dataset.phase);
  const announce = (text) => { const place = find("#announce"); if (place.textContent !== text) place.textContent = text; };

  // Times in the buyer's own zone, which the server does not know: it writes UTC.
  const LOCAL = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" };
  const localize = () => {
    const language = document.documentElement.lang;
    const format = new Intl.DateTimeFormat(language === "ar" ? "ar-u-nu-latn" : language, LOCAL);
    for (const one of main.querySelectorAll("time.at")) one.textContent = format.format(new Date(one.dateTime));
  };

  // The server says how many seconds are left; our clock only counts them.
  const setClock = (seconds) => { ends = answered + seconds * 1000; tick(); };
  const tick = () => {
    const clock = find("#countdown");
    if (!clock) return;
    const left = Math.max(0, Math.round((ends - performance.now()) / 1000));
    const two = (number) => String(number).padStart(2, "0");
    const hours = Math.floor(left / 3600);
    clock.textContent = (hours ? hours + ":" : "") + two(Math.floor(left / 60) % 60) + ":" + two(left % 60);
    find("#timer").classList.toggle("soon", left <= 60);
    // A screen reader hears of five minutes and of one, not of every second.
    const minutes = left <= 60 ? 1 : left <= 300 ? 5 : 0;
    if (minutes && said !== minutes && left > 0) {
      said = minutes;
      announce(minutes === 1 ? main.dataset.minute : main.dataset.minutes);
    }
    if (left === 0 && !clock.dataset.over) { clock.dataset.over = "1"; schedule(1500); }
  };

  const keyOf = (s) => [s.status, s.is_draft, s.amount_received, s.amount_unconfirmed, s.confirmations,
    s.cancellable, s.seconds_left > 0, (s.happened || []).map((one) => one.kind + one.tx_hash).join(",")].join("|");

  // Replaces the page's content by what the server renders now; focus and the chosen code stay.
  const renew = async () => {
    const answer = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(LIMIT) });
    if (!answer.ok) throw new Error(answer.status);
    answered = performance.now();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("#checkout");
    if (!fresh) throw new Error("no page");
    const focused = document.activeElement && document.activeElement.id;
    const code = find("input[name=code]:checked");
    const before = main.dataset.phase;
    const opened = [...document.querySelectorAll("details[open][id]")].map((one) => one.id);
    main.replaceWith(fresh);
    main = fresh;
    localize();
    for (const id of opened) if (find("#" + id)) find("#" + id).open = true;
    document.title = page.title;
    const again = code && find("#" + code.id);
    if (again) again.checked = true;
    if (focused && find("#" + focused)) find("#" + focused).focus({ preventScroll: true });
    if (before !== main.dataset.phase) {
      const heading = find("#state, h1");
      if (heading) announce(heading.textContent);
      scrollTo({ top: 0 });
    } else {
      const arrived = find(".happened") || find(".arrived, .progress");
      if (arrived) announce(arrived.textContent.replace(/\s+/g, " ").trim());
    }
    setClock(Number(main.dataset.left));
    leave();
  };

  // Back to the shop once it is over: after a while that is shown, only while the buyer looks, and
  // not against the buyer's wish. A buyer who comes back by the back button stays.
  const cameBack = Boolean(arrival) && arrival.type === "back_forward";
  let leaving = 0, looked = 0;
  const stay = () => {
    const place = find("#leaving");
    clearInterval(leaving);
    leaving = -1;
    if (!place || place.hidden) return;
    const focused = place.contains(document.activeElement);
    place.hidden = true;
    if (focused) find("#return").focus();
  };
  const leave = () => {
    const place = find("#leaving");
    // Whoever has to write to the shop needs the reference that stands here.
    if (find(".reference")) return stay();
    if (!place || leaving || cameBack) return;
    // A buyer whose machine was slow has had the page for that long, and still needs a moment to stay.
    const late = (performance.now() - answered) / 1000;
    let left = Math.max(STAY, Number(place.dataset.seconds) - late);
    const show = () => { find("#leaving-left").textContent = Math.max(0, Math.ceil(left)); };
    looked = performance.now();
    place.hidden = false;
    show();
    // Once, and the number not at all: a screen reader must not count along.
    announce(find("#state").textContent + " " + find("#leaving-text").textContent);
    leaving = setInterval(() => {
      const place = find("#leaving");
      if (!place) return stay();
      place.hidden = false;
      const now = performance.now();
      if (!document.hidden) left -= (now - looked) / 1000;
      looked = now;
      show();
      if (document.hidden || left > 0) return;
      stay();
      location.assign(find("#return").href);
    }, 1000);
  };

  // One question, answered when something has changed since the last answer, or after a while.
  // Confirmations are counted by blocks, of which no row of the payment tells.
  const hold = async () => {
    const left = Math.ceil((ends - performance.now()) / 1000);
    const most = main.dataset.phase === "confirming" ? HOLD_CONFIRMING : HOLD;
    const seconds = left > 0 ? Math.min(most, left + 1) : most;
    // Neither blocks nor the deadline change what is shown: without news no view is needed.
    const bare = most === HOLD && seconds === HOLD;
    const headers = bare ? { "if-none-match": '"' + mark + '"' } : {};
    holding = new AbortController();
    if (document.hidden) holding.abort("hidden");
    const signal = AbortSignal.any([holding.signal, AbortSignal.timeout(seconds * 1000 + LIMIT)]);
    try {
      return await fetch(main.dataset.status + "?since=" + mark + "&wait=" + seconds, { cache: "no-store", headers, signal });
    } finally {
      holding = null;
    }
  };
  const ask = async () => {
    for (let place = 0; canHold && mark && !document.hidden && !ended() && place < HELD_MAX; place += 1) {
      try {
        const answer = await navigator.locks.request("gateway-follow-" + place, { ifAvailable: true }, (lock) => lock && hold());
        if (answer) return answer;
      } catch (error) {
        // A frame without an origin of its own has no locks.
        if (!error || error.name !== "SecurityError") throw error;
        canHold = false;
      }
    }
    return fetch(main.dataset.status, { cache: "no-store", signal: AbortSignal.timeout(LIMIT) });
  };
  const stopHolding = (why) => { if (holding) holding.abort(why); };
  // After sleep or without a connection the clock and the page may both be old: an answer at once.
  const askAnew = () => {
    mark = "";
    stopHolding("again");
    poll();
  };

  // The next question follows a change at once, and an answer that was held. A server that holds
  // none is asked as often as before.
  const pause = (usual, asked, changed) => {
    if (!canHold || !mark) return usual;
    if (changed === "first" || (changed && ++changes <= SOON_MAX)) return SOON;
    return Math.max(0, usual - (performance.now() - asked));
  };

  const poll = async () => {
    clearTimeout(timer);
    if (polling) return;
    polling = true;
    const usual = performance.now() - started > LATER_AFTER ? LATER : POLL;
    let wait = usual;
    try {
      const asked = performance.now();
      const answer = await ask();
      if (answer.status === 429) {
        wait = 1000 * (Number(answer.headers.get("retry-after")) || 60);
      } else if (answer.status === 304) {
        answered = performance.now();
        wait = pause(usual, asked, false);
      } else {
        if (!answer.ok) throw new Error(answer.status);
        answered = performance.now();
        const before = mark;
        mark = (answer.headers.get("etag") || "").replace(/[^0-9a-f]/g, "");
        const status = await answer.json();
        wait = pause(usual, asked, before ? mark !== before : "first");
        if (keyOf(status) !== main.dataset.key) await renew();
        else setClock(status.seconds_left);
        document.dispatchEvent(new CustomEvent("gateway:status", { detail: status }));
      }
      failed = 0;
      find("#offline").textContent = "";
    } catch (error) {
      // What the last answer told may not be on the page yet.
      mark = "";
      if (error === "again") wait = 0;
      else if (error !== "hidden") {
        failed += 1;
        wait = Math.min(WORST, POLL * 2 ** (failed - 1));
        if (failed > 1) find("#offline").textContent = find("#offline").dataset.text;
      }
    }
    polling = false;
    if (settled()) return;
    if (ended()) wait = Math.max(wait, ENDED);
    schedule(document.hidden ? Math.max(wait, HIDDEN) : wait);
  };
  const schedule = (wait) => { clearTimeout(timer); timer = setTimeout(poll, wait); };

  const copy = async (button) => {
    const text = button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A browser that has no clipboard for pages, or refuses it: the old way, by a selection.
      const field = document.createElement("textarea");
      field.value = text;
      field.className = "unseen";
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
      button.focus();
    }
    const label = button.firstElementChild;
    button.dataset.label ||= label.textContent;
    label.textContent = main.dataset.copied;
    button.classList.add("done");
    announce(main.dataset.copied);
    setTimeout(() => {
      label.textContent = button.dataset.label;
      button.classList.remove("done");
      announce("");
    }, 2000);
  };

  // A code that fills the screen, for a camera at some distance. Its button says how to go back; a
  // tap anywhere, Escape and leaving by the keyboard do so too.
  const resize = (code, large) => {
    const button = code.querySelector(".enlarge"), label = button.firstElementChild;
    button.dataset.open ||= label.textContent;
    code.classList.toggle("large", large);
    label.textContent = large ? button.dataset.close : button.dataset.open;
    return button;
  };
  const enlarge = (code) => resize(code, !code.matches(".large")).focus();

  document.documentElement.classList.add("scripted");
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".copy");
    const code = event.target.closest(".qr.large") || (event.target.closest(".enlarge") && event.target.closest(".qr"));
    if (code) enlarge(code);
    else if (button) copy(button);
    if (event.target.closest("#stay, .copy, summary")) stay();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    // The first Escape closes the large code, not the dialog that may hold this page.
    if (find(".qr.large")) {
      event.stopImmediatePropagation();
      enlarge(find(".qr.large"));
    } else stay();
  });
  // What has the focus must not be covered.
  document.addEventListener("focusin", (event) => {
    const code = find(".qr.large");
    if (code && !code.contains(event.target)) resize(code, false);
  });
  // Two taps on one button are one wish.
  document.addEventListener("submit", (event) => {
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "1";
  });
  // The answer to a form that was refused stands at the form's address, which nobody can ask again.
  const own = new URL(main.dataset.page, location.href);
  if (own.pathname !== location.pathname) history.replaceState(null, "", own);
  localize();
  setClock(Number(main.dataset.left));
  setInterval(tick, 1000);
  // The time of a hidden tab is not a buyer's time to look, and its clock ticks seldom.
  document.addEventListener("visibilitychange", () => { looked = performance.now(); });
  leave();
  document.addEventListener("gateway:ask", askAnew);
  if (ended()) return poll();
  // The first answer tells the mark of what the page shows, the next question waits for another.
  schedule(canHold && !document.hidden ? 0 : POLL);
  // After sleep, on a page from the back button's cache, and when the connection is back: at once.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stopHolding("hidden");
    else askAnew();
  });
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    for (const form of document.forms) delete form.dataset.sent;
    poll();
  });
  addEventListener("online", askAnew);
  addEventListener("offline", () => stopHolding("offline"));
})();
