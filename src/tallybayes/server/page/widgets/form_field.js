/* One field of the form for a row: {element, get, set, fail}, by the kind of the column. */

import { element, fill, newId } from "./element.js";
import { count, digits } from "../logic/numbers.js";
import { flagValue, shownValue, tagList, typedValue } from "../logic/row_values.js";

const SHOWN_TAGS = 24;  // chips that are shown before the user asks for more

/* A field for a column; `changed` is called after every change by the user. */
export function formField(column, changed) {
  const made = (FIELDS[column.kind] ?? typedField)(column, changed);
  const wrong = element("span", { class: "wrong", id: newId("wrong"), hidden: true });
  made.element.append(wrong);
  return {
    ...made, name: column.name,
    fail(text) {
      wrong.textContent = text ?? "";
      wrong.hidden = !text;
      for (const input of made.inputs) {
        if (text) { input.setAttribute("aria-invalid", "true"); input.setAttribute("aria-describedby", wrong.id); }
        else { input.removeAttribute("aria-invalid"); input.removeAttribute("aria-describedby"); }
      }
    },
  };
}

function head(column, id, hint) {
  return element("div", { class: "field-head" }, element("label", { for: id }, column.name), hint ? element("span", { class: "hint" }, hint) : null);
}

function numberField(column, changed) {
  const id = newId("field"), [low, high] = column.range ?? [null, null];
  const number = element("input", { type: "text", inputmode: "decimal", id, autocomplete: "off", placeholder: "missing" });
  const step = column.whole ? 1 : high === null ? "any" : Number(((high - low) / 200).toPrecision(2));
  const slider = high === null ? null : element("input", {
    type: "range", min: low, max: high, step, value: (low + high) / 2, "aria-label": `${column.name}, slider`, dataset: { empty: "" },
  });
  const follow = () => {
    const value = typedValue("number", number.value);
    const isNumber = typeof value === "number";
    if (slider && isNumber) slider.value = String(value);
    if (slider) { if (isNumber) delete slider.dataset.empty; else slider.dataset.empty = ""; }
  };
  number.addEventListener("input", () => { follow(); changed(); });
  slider?.addEventListener("input", () => { number.value = String(Number(Number(slider.value).toPrecision(12))); follow(); changed(); });
  const hint = high === null ? null : `${digits(low)} to ${digits(high)} seen`;
  return {
    element: element("div", { class: "field" }, head(column, id, hint), slider ? element("div", { class: "number-pair" }, number, slider) : number),
    inputs: [number],
    get: () => typedValue("number", number.value),
    set(value) { number.value = value === null || value === undefined ? "" : String(value); follow(); },
  };
}

function choiceField(column, changed) {
  const id = newId("field"), list = newId("choices");
  const input = element("input", { type: "text", id, list, autocomplete: "off", placeholder: "missing", on: { input: changed } });
  const options = column.values.map(({ value, rows }) => element("option", { value: shownValue(value) }, plainRows(rows)));
  const few = column.values.length > 0 && column.values.length <= 7;
  const buttons = few ? element("div", { class: "chips", role: "group", "aria-label": `frequent values of ${column.name}` }) : null;
  const paint = () => buttons && fill(buttons, column.values.map(({ value, rows }) => {
    const text = shownValue(value), chosen = input.value.trim() === text;
    const box = element("input", { type: "checkbox", title: plainRows(rows) });
    box.checked = chosen;
    box.addEventListener("change", () => { input.value = chosen ? "" : text; paint(); changed(); focusBox(text); });
    return element("label", { class: "chip" }, box, text);
  }));
  const focusBox = (text) => [...buttons.querySelectorAll("label")].find((one) => one.textContent === text)?.querySelector("input").focus();
  input.addEventListener("input", paint);
  paint();
  const byText = new Map(column.values.map(({ value }) => [shownValue(value), value]));
  return {
    element: element("div", { class: "field" }, head(column, id, column.values.length ? `${count(column.values.length)} values seen` : null),
      input, element("datalist", { id: list }, options), buttons),
    inputs: [input],
    get() { const text = input.value.trim(); return text === "" ? undefined : byText.get(text) ?? text; },
    set(value) { input.value = shownValue(value); paint(); },
  };
}

function plainRows(rows) { return rows === null || rows === undefined ? "" : `${count(rows)} rows`; }

function flagField(column, changed) {
  const name = newId("flag");
  const inputs = ["yes", "no", "missing"].map((value) => element("input", { type: "radio", name, value, on: { change: changed } }));
  inputs[2].checked = true;
  return {
    element: element("fieldset", { class: "field" }, element("legend", {}, column.name),
      element("div", { class: "segments" }, inputs.map((input) => element("label", {}, input, input.value)))),
    inputs: [],
    get: () => (inputs[2].checked ? undefined : inputs[0].checked),
    set(value) { const flag = flagValue(value); inputs[flag === undefined ? 2 : flag ? 0 : 1].checked = true; },
  };
}

function tagsField(column, changed) {
  const id = newId("tags"), separator = column.separator ?? "|";
  const chosen = new Set();
  const known = column.values.map(({ value }) => shownValue(value));
  const chips = element("div", { class: "chips" });
  const entry = element("input", { type: "text", id, autocomplete: "off", placeholder: "another one" });
  const list = newId("tag-list");
  entry.setAttribute("list", list);
  const paint = () => {
    const first = known.slice(0, SHOWN_TAGS);
    const all = [...first, ...[...chosen].filter((tag) => !first.includes(tag))];
    fill(chips, all.map((tag) => {
      const box = element("input", { type: "checkbox" });
      box.checked = chosen.has(tag);
      box.addEventListener("change", () => { if (box.checked) chosen.add(tag); else chosen.delete(tag); changed(); });
      return element("label", { class: "chip" }, box, tag);
    }));
  };
  const add = () => {
    for (const tag of tagList(entry.value, separator)) chosen.add(tag);
    entry.value = "";
    paint();
    changed();
  };
  entry.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); add(); } });
  paint();
  return {
    element: element("fieldset", { class: "field" }, element("legend", {}, column.name), chips,
      element("div", { class: "chip-entry" }, element("label", { for: id, class: "unseen" }, `another value of ${column.name}`), entry,
        element("datalist", { id: list }, known.slice(SHOWN_TAGS).map((tag) => element("option", { value: tag }))),
        element("button", { type: "button", on: { click: add } }, "Add"))),
    inputs: [entry],
    get: () => (chosen.size ? [...chosen].join(separator) : undefined),
    set(value) { chosen.clear(); for (const tag of tagList(value, separator)) chosen.add(tag); paint(); },
  };
}

function textField(column, changed) {
  const id = newId("field"), short = column.name === "subject" || column.name === "title";
  const box = short
    ? element("input", { type: "text", id, autocomplete: "off", on: { input: changed } })
    : element("textarea", { id, rows: 9, on: { input: changed } });
  return {
    element: element("div", { class: "field" }, head(column, id, null), box),
    inputs: [box],
    get: () => typedValue("text", box.value),
    set(value) { box.value = shownValue(value); },
  };
}

/* Dates, bags, and kinds that this page does not know. */
function typedField(column, changed) {
  const id = newId("field"), hint = { date: "2026-04-01 12:30", bag: "red: 2, blue" }[column.kind];
  const input = element("input", { type: "text", id, autocomplete: "off", placeholder: "missing", on: { input: changed } });
  return {
    element: element("div", { class: "field" }, head(column, id, hint ? `such as ${hint}` : null), input),
    inputs: [input],
    get: () => typedValue(column.kind, input.value),
    set(value) { input.value = shownValue(value); },
  };
}

const FIELDS = {
  number: numberField, count: numberField, category: choiceField, order: choiceField, flag: flagField, tags: tagsField, text: textField,
};
