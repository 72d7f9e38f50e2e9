/* Errors of the API near their cause, and short notices. */

import { element } from "./element.js";

/* An error as a block: what was expected, what was given, and a hint. */
export function problemBlock(error) {
  const facts = [["expected", error.expected], ["got", error.got], ["column", error.column], ["row", error.row], ["hint", error.hint]];
  const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return element("div", { class: "problem", role: "alert" },
    element("strong", {}, error.title || "Something went wrong"),
    known.length
      ? element("dl", {}, known.map(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]))
      : element("p", {}, error.detail || error.message || ""));
}

/* One line of an error, for a field. */
export function problemLine(error) {
  const main = error.expected ? `expected ${error.expected}${error.got ? `, got ${error.got}` : ""}` : error.detail || error.message;
  return error.hint ? `${main}; ${error.hint}` : main;
}

/* A short message at the edge of the page, with at most one action. */
export function notify(text, { action = null, bad = false, seconds = 6 } = {}) {
  const place = document.getElementById("notices");
  const made = element("div", { class: bad ? "notice bad" : "notice" }, element("span", {}, text));
  const close = () => made.remove();
  if (action) made.append(element("button", { type: "button", on: { click: () => { close(); action.run(); } } }, action.text));
  while (place.children.length > 2) place.firstChild.remove();
  place.append(made);
  setTimeout(close, seconds * 1000);
  return close;
}
