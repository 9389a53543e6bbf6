// What the dashboard does beyond plain links and forms: regions that renew themselves, search while
// typing, buttons that copy, keys. Every page works without this script.
(() => {
  "use strict";
  const FRONT = 3000, HIDDEN = 15000, WORST = 60000, LIMIT = 10000, TYPING = 250;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const find = (selector) => document.querySelector(selector);
  const say = (text) => { const place = find("#said"); if (place) place.textContent = text; };

  // Puts the regions marked data-live of a fresh copy of this page in the place of ours. One in
  // which somebody writes stays; open parts and the focus are kept.
  const nameOf = (element) => element.id ? "#" + CSS.escape(element.id)
    : element.getAttribute("href") ? `a[href="${CSS.escape(element.getAttribute("href"))}"]` : null;
  const renew = (html) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const old of all("[data-live]")) {
      const fresh = old.id && page.getElementById(old.id);
      const focused = old.contains(document.activeElement) ? document.activeElement : null;
      if (!fresh || (focused && focused.matches("input,select,textarea"))) continue;
      const open = all("details[id][open]", old).map((part) => part.id);
      const again = focused && nameOf(focused);
      old.replaceWith(document.adoptNode(fresh));
      for (const id of open) { const part = document.getElementById(id); if (part) part.open = true; }
      const target = again && fresh.querySelector(again);
      if (target) target.focus({ preventScroll: true });
      prepare(fresh);
    }
  };

  // Polls ask for this very page, with a mark by which they count as no use of the session, and
  // cost a line each while nothing has changed.
  let timer, tag = "", failed = 0, over = false;
  const poll = async () => {
    clearTimeout(timer);
    if (over || !find("[data-live]")) return;
    let wait = document.hidden ? HIDDEN : FRONT;
    const asked = location.href;
    try {
      const headers = { "x-live": "1" };
      if (tag) headers["if-none-match"] = tag;
      const answer = await fetch(asked, { headers, cache: "no-store", redirect: "manual", signal: AbortSignal.timeout(LIMIT) });
      if (answer.type === "opaqueredirect" || answer.status === 401 || answer.status === 403) return end();
      if (answer.status !== 304) {
        if (!answer.ok) throw new Error(answer.status);
        const html = await answer.text();
        if (asked === location.href) { tag = answer.headers.get("etag") || ""; renew(html); }
      }
      failed = 0;
      stale(false);
    } catch {
      failed += 1;
      wait = Math.max(wait, Math.min(WORST, FRONT * 2 ** failed));
      if (failed > 1) stale(true);
    }
    timer = setTimeout(poll, wait);
  };
  const stale = (is) => { const place = find("#stale"); if (place) place.hidden = !is; };
  const end = () => {
    over = true;
    const place = find("#ended");
    if (place) place.hidden = false;
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });

  // Search while typing: a form marked data-search, whose answer is a page with the same regions.
  let typed = 0;
  const search = async (form) => {
    const mine = ++typed;
    const url = new URL(form.action);
    for (const [name, value] of new FormData(form)) if (value) url.searchParams.set(name, value);
    try {
      const answer = await fetch(url, { cache: "no-store", redirect: "manual", signal: AbortSignal.timeout(LIMIT) });
      if (answer.type === "opaqueredirect") return end();
      if (!answer.ok) return;
      const html = await answer.text();
      if (mine !== typed) return;
      history.replaceState(null, "", url);
      tag = "";
      renew(html);
      const count = find("[data-count]");
      if (count) say(count.textContent);
    } catch { /* The button of the form still works. */ }
  };
  let pause;
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-search]");
    if (!form || !event.target.matches("input[type=search]")) return;
    clearTimeout(pause);
    pause = setTimeout(search, TYPING, form);
  });

  // A button behind each element marked data-copy, and each secret that is shown once.
  const copy = async (button, text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = document.createElement("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
      button.focus();
    }
    button.textContent = "Copied";
    say("Copied");
    setTimeout(() => { button.textContent = "Copy"; say(""); }, 2000);
  };
  const prepare = (from) => {
    for (const element of all("[data-copy],code.once", from)) {
      if (element.dataset.copy === "ready") continue;
      element.dataset.copy = "ready";
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.setAttribute("aria-label", "Copy " + (element.dataset.what || "this"));
      button.addEventListener("click", () => copy(button, element.textContent.trim()));
      element.after(" ", button);
    }
  };

  // Keys, unless somebody writes or has turned them off (WCAG 2.1.4).
  const OFF = "gateway-keys-off";
  const off = () => { try { return localStorage.getItem(OFF) === "1"; } catch { return false; } };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || off()) return;
    if (event.target.closest("input,select,textarea,[contenteditable]")) return;
    if (event.key === "/") {
      const field = find("input[type=search]");
      const elsewhere = document.body.dataset.search;
      if (!field && !elsewhere) return;
      event.preventDefault();
      if (field) { field.focus(); field.select(); } else location.assign(elsewhere);
    } else if (event.key === "?") {
      event.preventDefault();
      location.assign("/help");
    }
  });
  const box = find("#keys");
  if (box) {
    box.closest("[hidden]")?.removeAttribute("hidden");
    box.checked = !off();
    box.addEventListener("change", () => {
      try { if (box.checked) localStorage.removeItem(OFF); else localStorage.setItem(OFF, "1"); } catch { /* Not kept then. */ }
    });
  }
  if (location.hash === "#search") find("input[type=search]")?.focus();
  // A menu that is open is in the way of the page that it led to.
  addEventListener("pageshow", () => { for (const menu of all("details.menu[open]")) menu.open = false; });

  prepare(document);
  timer = setTimeout(poll, FRONT);
})();
