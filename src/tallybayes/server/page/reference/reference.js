// Draws the OpenAPI document of this server, with a form to try every route. Nothing is loaded from elsewhere.

const METHODS = ["get", "post", "put", "delete"];
const document_ = await (await fetch("/openapi.json")).json();
const listed = await fetch("/v1/models");  // refused without a key: then the examples have no name
const first = listed.ok ? (await listed.json()).models[0]?.name : undefined;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") made.textContent = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// Text with words in backquotes as code.
function prose(text, attributes = {}) {
  const parts = text.split("`").map((part, i) => (i % 2 ? element("code", { text: part }) : part));
  return element("p", attributes, ...parts);
}

function named(path) {
  return first === undefined ? path : path.replace("{model}", encodeURIComponent(first));
}

function resolved(part) {
  if (!part || !part.$ref) return part;
  return part.$ref.slice(2).split("/").reduce((found, key) => found[key], document_);
}

// A schema as a short type: object, list of number, "a" or "b".
function typeOf(schema) {
  const own = resolved(schema) ?? {};
  if (own.enum) return own.enum.map((value) => JSON.stringify(value)).join(" or ");
  if ("const" in own) return JSON.stringify(own.const);
  const parts = own.anyOf ?? own.oneOf;
  if (parts) return [...new Set(parts.map(typeOf))].join(" or ");
  if (own.type === "array") return `list of ${typeOf(own.items)}`;
  return own.type ?? "any value";
}

// The properties of a schema as rows of a table: name, type, meaning.
function propertiesOf(schema, prefix = "", depth = 0) {
  const own = resolved(schema) ?? {};
  const rows = [];
  for (const part of own.allOf ?? own.anyOf ?? own.oneOf ?? []) rows.push(...propertiesOf(part, prefix, depth));
  if (own.type === "array" && depth < 3) rows.push(...propertiesOf(own.items, `${prefix}[].`, depth + 1));
  for (const [name, property] of Object.entries(own.properties ?? {})) {
    const full = `${prefix}${name}`.replace(".[]", "[]");
    if (rows.some((row) => row[0] === full)) continue;
    rows.push([full, typeOf(property), resolved(property)?.description ?? ""]);
    if (depth < 3) rows.push(...propertiesOf(property, `${full}.`, depth + 1).map(([n, t, d]) => [n.replace(".[]", "[]"), t, d]));
  }
  return rows.filter((row, i) => rows.findIndex((other) => other[0] === row[0]) === i);
}

function table(head, rows) {
  const header = element("tr", {}, ...head.map((text) => element("th", { scope: "col", text })));
  const lines = rows.map(([first, ...others]) =>
    element("tr", {}, element("td", {}, element("code", { text: first })), ...others.map((text) => element("td", { text }))));
  return element("table", {}, element("thead", {}, header), element("tbody", {}, ...lines));
}

function folded(title, ...children) {
  return element("details", {}, element("summary", { text: title }), ...children);
}

function curl(method, path, operation) {
  const body = resolved(operation.requestBody)?.content ?? {};
  const [kind, own] = Object.entries(body)[0] ?? [];
  const lines = [`curl -X ${method.toUpperCase()} ${location.origin}${named(path)}`];
  if (kind) lines.push(`  -H 'Content-Type: ${kind}'`);
  if (own?.example !== undefined) lines.push(`  -d '${JSON.stringify(own.example).replaceAll("'", "'\\''")}'`);
  else if (kind) lines.push("  --data-binary @FILE");
  return lines.join(" \\\n");
}

function tryForm(method, path, operation) {
  const parameters = (operation.parameters ?? []).map(resolved).filter((one) => one.in !== "header");
  const content = resolved(operation.requestBody)?.content ?? {};
  const fields = new Map();
  const form = element("form", { class: "try" });
  for (const one of parameters) {
    const field = element("input", { name: one.name, placeholder: one.description ?? "" });
    if (one.name === "model" && first !== undefined) field.value = first;
    fields.set(one, field);
    form.append(element("label", { text: `${one.name}${one.required ? "" : " (optional)"}` }, field));
  }
  let body = null;
  const textual = Object.entries(content).filter(([, own]) => own.schema?.format !== "binary");
  const kind = element("select", {}, ...textual.map(([name]) => element("option", { text: name })));
  if (textual.length) {
    const example = (name) => (typeof content[name].example === "string" ? content[name].example : JSON.stringify(content[name].example ?? {}, null, 2));
    body = element("textarea", { spellcheck: "false" });
    body.value = example(textual[0][0]);
    kind.addEventListener("change", () => { body.value = example(kind.value); });
    form.append(element("label", { text: "Content type" }, kind), element("label", { text: "Body" }, body));
  }
  const output = element("pre", { class: "hidden", "aria-live": "polite" });
  form.append(element("div", {}, element("button", { text: "Send" })), output);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    let target = path;
    const query = new URLSearchParams();
    for (const [one, field] of fields) {
      if (one.in === "path") target = target.replace(`{${one.name}}`, encodeURIComponent(field.value));
      else if (field.value !== "") query.set(one.name, field.value);
    }
    const headers = {};
    const key = document.getElementById("key").value;
    if (key) headers.Authorization = `Bearer ${key}`;
    if (body) headers["Content-Type"] = kind.value;
    output.classList.remove("hidden");
    output.textContent = "...";
    try {
      const answer = await fetch(query.size ? `${target}?${query}` : target, { method: method.toUpperCase(), headers, body: body?.value });
      const text = await answer.text();
      let shown = text;
      try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* not JSON: as it is */ }
      output.textContent = `${answer.status} ${answer.statusText}\n\n${shown}`;
    } catch (error) {
      output.textContent = String(error);
    }
  });
  return form;
}

function route(path, method, operation) {
  const id = operation.operationId;
  const parameters = (operation.parameters ?? []).map(resolved);
  const body = resolved(operation.requestBody);
  const statuses = Object.entries(operation.responses).map(([status, own]) => [status, own.description, Object.keys(own.content ?? {}).join(", ")]);
  const answer = Object.values(operation.responses["200"]?.content ?? operation.responses["201"]?.content ?? {})[0];
  const made = element("section", { class: "route", id, "aria-labelledby": `${id}-title` },
    element("h3", { id: `${id}-title` }, element("span", { class: `method ${method.toUpperCase()}`, text: method.toUpperCase() }), path),
    element("p", { class: "summary", text: operation.summary }),
    operation.description ? prose(operation.description) : null,
    element("pre", { text: curl(method, path, operation) }));
  if (parameters.length) made.append(folded("Parameters", table(["name", "in", "meaning"], parameters.map((one) => [one.name, one.in, one.description ?? ""]))));
  if (body) {
    const formats = element("p", { text: `Formats: ${Object.keys(body.content).join(", ")}` });
    const schema = body.content["application/json"]?.schema;
    made.append(folded("Request", formats, schema ? table(["key", "type", "meaning"], propertiesOf(schema)) : null));
  }
  if (answer?.schema && propertiesOf(answer.schema).length) made.append(folded("Answer", table(["key", "type", "meaning"], propertiesOf(answer.schema))));
  made.append(folded("Status codes", table(["status", "meaning", "format"], statuses)));
  if (!Object.keys(operation.responses["200"]?.content ?? {}).includes("text/event-stream")) made.append(folded("Try it", tryForm(method, path, operation)));
  return made;
}

function draw() {
  document.getElementById("version").textContent = document_.info.version;
  document.getElementById("about").replaceWith(...document_.info.description.split("\n\n").map((part) => prose(part)));
  const groups = new Map();
  for (const [path, item] of Object.entries(document_.paths)) {
    for (const method of METHODS.filter((name) => name in item)) {
      const tag = item[method].tags?.[0] ?? "Other";
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push([path, method, item[method]]);
    }
  }
  const main = document.getElementById("routes");
  const contents = document.getElementById("contents");
  for (const [tag, routes] of groups) {
    const links = routes.map(([path, method, operation]) =>
      element("li", { "data-words": `${path} ${operation.summary}`.toLowerCase() },
        element("a", { href: `#${operation.operationId}`, title: `${method.toUpperCase()} ${path}`, text: operation.summary })));
    contents.append(element("h2", { text: tag }), element("ul", {}, ...links));
    main.append(element("h2", { text: tag }), ...routes.map((one) => route(...one)));
  }
  document.getElementById("filter").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase();
    for (const link of contents.querySelectorAll("li")) link.classList.toggle("hidden", !link.dataset.words.includes(words));
    for (const section of main.querySelectorAll(".route")) section.classList.toggle("hidden", !section.textContent.toLowerCase().includes(words));
  });
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

draw();
