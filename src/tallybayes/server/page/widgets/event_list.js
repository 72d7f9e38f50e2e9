/* Events of the log as a table, each with its rows and a button that takes it back. */

import { ago, count } from "../logic/numbers.js";
import { shownValue } from "../logic/row_values.js";
import { element, fill } from "./element.js";
import { problemBlock } from "./problem.js";

const COLUMNS = 12, ROWS = 50;

/* Rows of a table for events; `undo(event)` takes one back, null where that is not allowed. */
export function eventRows(session, events, undo, { details = true } = {}) {
  return events.flatMap((event) => {
    const inside = element("td", { colspan: 6 }), more = element("tr", { class: "event-details", hidden: true }, inside);
    const toggle = element("button", { type: "button", class: "quiet slim", "aria-expanded": "false", "aria-label": `rows of event ${event.event}` }, "Rows");
    toggle.addEventListener("click", async () => {
      more.hidden = !more.hidden;
      toggle.setAttribute("aria-expanded", String(!more.hidden));
      if (!more.hidden && !inside.childElementCount) {
        try { fill(inside, rowTable((await session.api.get(`${session.base}/events/${event.event}`)).data)); }
        catch (error) { fill(inside, problemBlock(error)); }
      }
    });
    const state = event.undone_by ? `taken back by ${event.undone_by}` : event.undoes ? `takes back ${event.undoes}` : "";
    const canUndo = undo && !event.undone_by && !event.undoes && ["learn", "forget"].includes(event.kind);
    const line = element("tr", { class: event.undone_by ? "undone" : "", dataset: { event: event.event } },
      element("td", { class: "n" }, String(event.event)),
      element("td", {}, element("span", { class: `kind kind-${event.kind}` }, event.kind), state ? element("small", { class: "soft block" }, state) : null),
      element("td", { class: "n" }, count(event.rows ?? 0)),
      element("td", {}, event.who || "–"),
      element("td", {}, element("time", { datetime: String(event.time), title: String(event.time) }, ago(event.time))),
      element("td", { class: "n" }, element("span", { class: "row-of end" }, details && event.rows ? toggle : null,
        canUndo ? element("button", { type: "button", class: "slim", "aria-label": `undo event ${event.event}`, on: { click: () => undo(event.event) } }, "Undo") : null)));
    return details ? [line, more] : [line];
  });
}

/* The head of a table of events. */
export function eventHead() {
  return element("thead", {}, element("tr", {},
    ...["event", "kind", "rows", "who", "when"].map((name) => element("th", { scope: "col", class: name === "event" || name === "rows" ? "n" : "" }, name)),
    element("th", { scope: "col" }, element("span", { class: "unseen" }, "actions"))));
}

/* Rows of data as a table. */
export function rowTable(rows) {
  const list = Array.isArray(rows) ? rows : [];
  if (!list.length) return element("p", { class: "soft" }, "This event has no rows.");
  const names = [...new Set(list.slice(0, ROWS).flatMap((row) => Object.keys(row)))].slice(0, COLUMNS);
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "rows of the event" },
    element("table", { class: "row-table" }, element("thead", {}, element("tr", {}, names.map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, list.slice(0, ROWS).map((row) => element("tr", {}, names.map((name) => element("td", {}, shownValue(row[name]).slice(0, 200))))))),
    list.length > ROWS ? element("p", { class: "soft small" }, `the first ${ROWS} of ${count(list.length)} rows`) : null);
}
