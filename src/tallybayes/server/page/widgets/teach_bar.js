/* Buttons that teach the right label of a row: one for each class, by click or by the keys 1 to 9, or a new label. */

import { coloured, element, fill, newId } from "./element.js";

const BUTTONS = 9;

/* {element, teachNumber}; `teach(label)` is called with the label, in the type of the classes. */
export function teachBar(session, teach, title = "Teach the right label") {
  const buttons = element("div", { class: "row-of" }), id = newId("other");
  const entry = element("input", { type: "text", id, class: "other-label", list: `${id}-labels`, placeholder: "another label", autocomplete: "off" });
  const choices = element("datalist", { id: `${id}-labels` });
  const other = element("form", { class: "row-of" }, element("label", { for: id, class: "unseen" }, "another label"), entry, choices, element("button", {}, "Teach"));
  other.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = entry.value.trim();
    if (!text) return;
    entry.value = "";
    teach(session.classes.find((label) => String(label) === text) ?? typed(text, session.classes));
  });
  const holder = element("div", { class: "teach", hidden: !session.canTeach }, element("h3", {}, title), element("div", { class: "teach-line" }, buttons, other));

  function paint() {
    fill(buttons, session.classes.slice(0, BUTTONS).map((label, i) => element("button",
      { type: "button", class: "teach-button", dataset: { label: String(label) }, on: { click: () => teach(label) } },
      coloured(element("span", { class: "class-dot", "aria-hidden": "true" }), i), String(label), element("kbd", { "aria-hidden": "true" }, String(i + 1)))));
    fill(choices, session.classes.slice(BUTTONS).map((label) => element("option", { value: String(label) })));
  }
  paint();
  return {
    element: holder, paint,
    teachNumber(number) { const label = session.classes[number - 1]; if (label !== undefined && session.canTeach) teach(label); },
  };
}

/* A new label, as a number if all classes are numbers. */
function typed(text, classes) {
  return classes.length && classes.every((label) => typeof label === "number") && Number.isFinite(Number(text)) ? Number(text) : text;
}
