// The till: keys without a round trip, forms that survive a lost line, a page that follows its
// payment, a sound when it is paid. Every page works without this script.
(() => {
  "use strict";
  const POLL = 2500, HIDDEN = 15000, LIMIT = 10000, WORST = 20000;
  const find = (selector) => document.querySelector(selector);
  let main = find("#till");
  let timer, polling = false, sending = false, failed = 0, sound, lamp;
  // Counts forms and pages: an answer that was asked for before the last of them is not shown.
  let turn = 0;

  const announce = (text) => { const place = find("#announce"); if (place.textContent !== text) place.textContent = text; };
  const lost = (is) => { const place = find("#offline"); place.textContent = is ? place.dataset.text : ""; };

  // Two rising tones. A browser plays them only after a touch, which the keypad has had: the forms
  // below keep this document, and so the permission.
  const listen = () => {
    try {
      sound = sound || new AudioContext();
      // "suspended", and after a call or sleep "interrupted" in Safari.
      if (sound.state !== "running") sound.resume();
    } catch { /* No sound, then. */ }
  };
  const ring = () => {
    try { navigator.vibrate?.([120, 60, 120]); } catch { /* Not everywhere. */ }
    if (!sound || sound.state !== "running") return;
    [[660, 0], [990, .16]].forEach(([pitch, after]) => {
      const tone = sound.createOscillator(), volume = sound.createGain(), at = sound.currentTime + after;
      tone.frequency.value = pitch;
      volume.gain.setValueAtTime(.25, at);
      volume.gain.exponentialRampToValueAtTime(.001, at + .3);
      tone.connect(volume).connect(sound.destination);
      tone.start(at);
      tone.stop(at + .3);
    });
  };

  // The screen stays on while a customer pays, where the browser can.
  const light = async () => {
    try {
      if (lamp && lamp.released) lamp = null;
      if (main.dataset.state && !document.hidden) lamp = lamp || await navigator.wakeLock?.request("screen");
      else if (lamp) { lamp.release(); lamp = null; }
    } catch { lamp = null; }
  };

  // Times in the zone of this device, which the server does not know: it writes UTC.
  const LOCAL = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" };
  const localize = () => {
    const language = document.documentElement.lang;
    const format = new Intl.DateTimeFormat(language === "ar" ? "ar-u-nu-latn" : language, LOCAL);
    for (const one of main.querySelectorAll("time.at")) one.textContent = format.format(new Date(one.dateTime));
  };

  // Puts what the server renders in the place of the content.
  const put = (html, url) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const fresh = page.querySelector("#till");
    if (!fresh) { location.assign(url || location.href); return; }
    const before = main.dataset.phase;
    const open = [...document.querySelectorAll("details[id][open]")].map((part) => part.id);
    const code = find("input[name=code]:checked");
    main.replaceWith(fresh);
    main = fresh;
    localize();
    turn += 1;
    document.title = page.title;
    if (url && url !== location.href) history.replaceState(null, "", url);
    for (const id of open) { const part = document.getElementById(id); if (part) part.open = true; }
    const again = code && code.id && document.getElementById(code.id);
    if (again) again.checked = true;
    const phase = main.dataset.phase;
    if (phase !== before) {
      const heading = find("#till [role=alert], #state, #till h1");
      if (heading) announce(heading.textContent);
      scrollTo({ top: 0 });
      if ((phase === "paid" || phase === "overpaid") && before) ring();
    }
    light();
    schedule();
  };

  // Safari before 16 has no AbortSignal.timeout.
  const ask = (url, more) => {
    const limit = new AbortController();
    setTimeout(() => limit.abort(), LIMIT);
    return fetch(url, { cache: "no-store", signal: limit.signal, ...more });
  };

  // A form is sent from here, so that a lost line loses nothing: it stays as it is, and sent again it
  // makes the same charge, by its key.
  const send = async (form, button) => {
    if (sending) return;
    sending = true;
    turn += 1;
    const body = new URLSearchParams(new FormData(form));
    if (button && button.name) body.set(button.name, button.value);
    try {
      const answer = await ask(form.action, { method: "POST", body });
      const html = await answer.text();
      // A proxy's page, or no page at all: the form stays, to be sent again.
      if (answer.status >= 500 && !html.includes('id="till"')) throw new Error(answer.status);
      put(html, answer.redirected ? answer.url : null);
      lost(false);
    } catch {
      lost(true);
    }
    sending = false;
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    event.preventDefault();
    listen();
    send(form, event.submitter);
  });

  // Digits of Arabic and Persian keyboards, and the comma, as the server reads them.
  const plain = (text) => text.replace(/[٠-٩]/g, (digit) => digit.charCodeAt(0) - 0x660)
    .replace(/[۰-۹]/g, (digit) => digit.charCodeAt(0) - 0x6f0).replace(/[,٫]/, ".");
  // The keypad. As the server's, of two decimals and twelve digits before them.
  const press = (text, key) => {
    if (key === "back") return text.slice(0, -1);
    const next = key === "." ? (text === "" ? "0." : text.includes(".") ? text : text + ".") : (text === "0" ? "" : text) + key;
    return /^\d{1,12}(\.\d{0,2})?$/.test(next) ? next : text;
  };
  document.addEventListener("click", (event) => {
    listen();
    const key = event.target.closest(".key");
    if (!key) return;
    event.preventDefault();
    const field = find("#amount");
    field.value = press(plain(field.value), key.value).replace(".", main.dataset.point);
  });
  document.addEventListener("keydown", listen);

  const poll = async () => {
    clearTimeout(timer);
    if (polling || !main.dataset.state) return;
    polling = true;
    const began = turn, here = main.dataset.here;
    try {
      const answer = await ask(main.dataset.state);
      if (!answer.ok) throw new Error(answer.status);
      const { key } = await answer.json();
      if (began === turn && key !== main.dataset.key) {
        const page = await ask(here);
        if (!page.ok) throw new Error(page.status);
        const html = await page.text();
        if (began === turn) put(html);
      }
      failed = 0;
      lost(false);
    } catch {
      failed += 1;
      if (failed > 1) lost(true);
    }
    polling = false;
    schedule();
  };
  const schedule = () => {
    clearTimeout(timer);
    if (!main.dataset.state) return;
    const wait = failed ? Math.min(WORST, POLL * 2 ** failed) : POLL;
    timer = setTimeout(poll, document.hidden ? Math.max(wait, HIDDEN) : wait);
  };

  // After sleep, from the back button's cache, and when the line is back: at once.
  document.addEventListener("visibilitychange", () => { light(); if (!document.hidden) poll(); });
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  addEventListener("online", () => { lost(false); poll(); });
  document.documentElement.classList.add("scripted");
  localize();
  light();
  schedule();
})();
