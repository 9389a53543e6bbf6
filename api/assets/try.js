// Forms that send the operations of the reference to this same server. The key stays in this page's
// memory: it is in no storage, in no address, and gone with the page.
(() => {
  "use strict";
  let key = "";
  let number = 0;
  let loading;

  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  const contract = () => {
    loading ??= fetch("/v1/openapi.json", { credentials: "omit" }).then((answer) => answer.json());
    return loading;
  };

  const find = (document, id) => {
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        if (operation.operationId === id) return { path, method: method.toUpperCase(), operation };
      }
    }
    throw new Error("the contract has no such operation");
  };

  const labelled = (name, note, field) => {
    number += 1;
    field.id = `try-${number}`;
    const label = make("label", { htmlFor: field.id }, make("code", { textContent: name }));
    if (note) label.append(` ${note}`);
    return make("div", { className: "field" }, label, field);
  };

  const keyField = () => {
    const field = make("input", { type: "password", autocomplete: "off", spellcheck: false, value: key });
    field.dataset.tryKey = "";
    field.addEventListener("input", () => {
      key = field.value.trim();
      for (const other of document.querySelectorAll("[data-try-key]")) {
        if (other !== field) other.value = field.value;
      }
    });
    return labelled("x-api-key", "of your sandbox merchant; stays in this page", field);
  };

  const exampleOf = (parameter) => parameter.example ?? parameter.schema?.examples?.[0] ?? "";

  const bodyOf = (operation) => {
    const contents = operation.requestBody?.content;
    if (!contents) return null;
    const type = "application/json" in contents ? "application/json" : Object.keys(contents)[0];
    const example = contents[type].example ?? {};
    const text = typeof example === "string" ? example : JSON.stringify(example, null, 2);
    return { type, text };
  };

  const form = ({ path, method, operation }) => {
    const inputs = [];
    const element = make("form", { className: "try", autocomplete: "off" });
    if (operation.security?.length) element.append(keyField());
    for (const parameter of operation.parameters ?? []) {
      const field = make("input", { type: "text", spellcheck: false, value: exampleOf(parameter) });
      field.required = parameter.in === "path";
      inputs.push({ parameter, field });
      const note = parameter.required ? `${parameter.in}, required` : parameter.in;
      element.append(labelled(parameter.name, note, field));
    }
    const body = bodyOf(operation);
    let area;
    if (body) {
      area = make("textarea", { rows: Math.min(16, body.text.split("\n").length + 1), spellcheck: false, value: body.text });
      element.append(labelled("body", body.type, area));
    }
    element.append(make("button", { type: "submit", textContent: `Send ${method} ${path}` }));
    const output = make("div", { className: "result" });
    output.setAttribute("role", "status");
    element.append(output);
    element.addEventListener("submit", (event) => {
      event.preventDefault();
      send({ path, method, inputs, type: body?.type, text: area?.value, takesKey: operation.security?.length }, output);
    });
    return element;
  };

  const requestOf = ({ path, method, inputs, type, text, takesKey }) => {
    const headers = new Headers();
    const query = new URLSearchParams();
    let address = path;
    for (const { parameter, field } of inputs) {
      const value = field.value.trim();
      if (parameter.in === "path") address = address.replace(`{${parameter.name}}`, encodeURIComponent(value));
      else if (value && parameter.in === "query") query.set(parameter.name, value);
      else if (value && parameter.in === "header") headers.set(parameter.name, value);
    }
    if (takesKey && key) headers.set("x-api-key", key);
    if (text?.trim()) headers.set("content-type", type);
    const asked = query.toString();
    return [
      asked ? `${address}?${asked}` : address,
      { method, headers, body: text?.trim() || undefined, credentials: "omit", cache: "no-store", redirect: "error" },
    ];
  };

  const pretty = (text) => {
    // Laid out by hand and not parsed: numbers keep their digits.
    try {
      JSON.parse(text);
    } catch {
      return text;
    }
    let depth = 0;
    const line = () => `\n${"  ".repeat(depth)}`;
    return text.replace(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+|\s+/g, (token) => {
      if (/^\s/.test(token)) return "";
      if (token === "{" || token === "[") {
        depth += 1;
        return token + line();
      }
      if (token === "}" || token === "]") {
        depth -= 1;
        return line() + token;
      }
      if (token === ",") return token + line();
      return token === ":" ? ": " : token;
    }).replace(/([{[])\s+([}\]])/g, "$1$2");
  };

  const send = async (asked, output) => {
    output.replaceChildren("Sending…");
    let answer;
    let text;
    const started = performance.now();
    try {
      const [address, options] = requestOf(asked);
      answer = await fetch(address, options);
      text = await answer.text();
    } catch (error) {
      output.replaceChildren(`No answer: ${error.message}`);
      return;
    }
    const took = Math.round(performance.now() - started);
    const headers = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    const block = (label, content) => {
      const pre = make("pre", { tabIndex: 0, textContent: content });
      pre.dataset.part = label;
      return [make("p", { className: "kind", textContent: label }), pre];
    };
    output.replaceChildren(
      make("p", {}, make("strong", { className: answer.ok ? "status" : "status error", textContent: answer.status }), ` in ${took} ms`),
      ...block("Headers", headers),
      ...(text ? block("Body", pretty(text)) : []),
    );
  };

  for (const section of document.querySelectorAll("section[data-try]")) {
    const button = make("button", { type: "button", className: "open", textContent: "Try it in the sandbox" });
    button.setAttribute("aria-expanded", "false");
    let shown;
    button.addEventListener("click", async () => {
      if (!shown) {
        try {
          shown = form(find(await contract(), section.id));
        } catch (error) {
          shown = make("p", { textContent: `The contract cannot be read: ${error.message}` });
        }
        shown.hidden = true;
        button.after(shown);
      }
      shown.hidden = !shown.hidden;
      button.setAttribute("aria-expanded", String(!shown.hidden));
      if (!shown.hidden) shown.querySelector("input, textarea, button")?.focus();
    });
    section.querySelector(".curl").after(button);
  }
})();
