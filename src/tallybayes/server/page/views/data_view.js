/* Data: the log of events with filters, the rows of each, undo, and export. */

import { element, fill, newId } from "../widgets/element.js";
import { eventHead, eventRows } from "../widgets/event_list.js";
import { notify, problemBlock } from "../widgets/problem.js";

const PAGE = 50, KINDS = ["learn", "forget", "undo", "calibrate", "decide", "replace"];

/* The view of a model: {element, leave}. */
export function dataView(session) {
  const kind = select("kind", [["", "all kinds"], ...KINDS.map((one) => [one, one])]);
  const who = input("who", "text"), since = input("since", "datetime-local"), until = input("until", "datetime-local");
  const body = element("tbody"), more = element("button", { type: "button", hidden: true, on: { click: () => load(false) } }, "Show older events");
  const trouble = element("div"), told = element("p", { class: "soft small", role: "status" });
  let shown = [], latest = 0;

  /* Load the newest events, or those before the oldest that is shown. */
  async function load(anew = true) {
    latest += 1;
    const own = latest, query = new URLSearchParams({ limit: String(PAGE) });
    if (kind.control.value) query.set("kind", kind.control.value);
    if (who.control.value.trim()) query.set("who", who.control.value.trim());
    if (!anew && shown.length) query.set("before", String(Math.min(...shown.map((event) => event.event))));
    try {
      const found = await session.api.get(`${session.base}/events?${query}`);
      if (own !== latest) return;
      const events = [...found.events].sort((x, y) => y.event - x.event);
      shown = anew ? events : [...shown, ...events];
      fill(trouble);
      more.hidden = events.length < PAGE;
      paint();
    } catch (error) { if (own === latest) fill(trouble, problemBlock(error)); }
  }

  function paint() {
    const from = since.control.value ? Date.parse(since.control.value) : -Infinity, to = until.control.value ? Date.parse(until.control.value) : Infinity;
    const time = (event) => (typeof event.time === "number" ? event.time * 1000 : Date.parse(event.time));
    const kept = shown.filter((event) => !(time(event) < from) && !(time(event) > to));
    fill(body, eventRows(session, kept, session.info.read_only ? null : undo));
    told.textContent = kept.length ? `${kept.length} events${more.hidden ? "" : ", the newest"}` : "No events.";
  }

  async function undo(event) {
    try { await session.undo(event); notify(`Event ${event} was taken back.`); } catch (error) { fill(trouble, problemBlock(error)); }
  }

  const save = () => session.api.save(`${session.base}/events.parquet`, `${session.name}-events.parquet`).catch((error) => fill(trouble, problemBlock(error)));
  for (const { control } of [kind, who]) control.addEventListener("input", () => load());
  for (const { control } of [since, until]) control.addEventListener("input", paint);
  const stop = session.onChange(() => load());
  load();
  return {
    element: element("div", { class: "stack" },
      element("div", { class: "head flush" }, element("div", {}, element("h1", { tabindex: "-1" }, `Data of ${session.name}`), element("p", {}, "Every change is an event in a log on disk. Any of them can be taken back exactly, however old.")),
        element("button", { type: "button", on: { click: save } }, "Export as Parquet")),
      element("section", { class: "card", "aria-label": "Events" }, element("div", { class: "filters" }, [kind, who, since, until].map((one) => one.element)), trouble, told,
        element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "events, table" }, element("table", { class: "events" }, eventHead(), body)), element("p", {}, more))),
    leave: stop,
  };
}

function select(name, options) {
  const id = newId("filter"), control = element("select", { id }, options.map(([value, text]) => element("option", { value }, text)));
  return { control, element: element("div", { class: "field" }, element("label", { for: id }, name), control) };
}

function input(name, type) {
  const id = newId("filter"), control = element("input", { type, id, autocomplete: "off" });
  return { control, element: element("div", { class: "field" }, element("label", { for: id }, name), control) };
}
