/* Stream: how good the answers were just before each correction was learned; live, by server-sent events. */

import { count, digits, percent } from "../logic/numbers.js";
import { coloured, element, fill } from "../widgets/element.js";
import { eventHead, eventRows } from "../widgets/event_list.js";
import { lineChart } from "../widgets/line_chart.js";
import { notify, problemBlock } from "../widgets/problem.js";

const RECENT = 8, PAUSE = 250;

/* The view of a model: {element, key, leave}. */
export function streamView(session) {
  const facts = element("dl", { class: "facts" }), drift = element("div"), shares = element("section", { class: "card", "aria-label": "Class shares" });
  const accuracy = lineChart({ title: "Accuracy", format: (x) => percent(x), from: 0, to: 1 });
  const loss = lineChart({ title: "Log loss", format: (x) => digits(x, 3), from: 0 });
  const recent = element("tbody"), trouble = element("div");
  let waiting = 0, isShown = true;

  async function load() {
    try {
      const [stream, log] = await Promise.all([session.api.get(`${session.base}/stream`), session.api.get(`${session.base}/events?limit=${RECENT}`)]);
      if (!isShown) return;
      fill(trouble);
      paint(stream, log.events);
    } catch (error) { if (isShown) fill(trouble, problemBlock(error)); }
  }

  function paint(stream, events) {
    const judged = (stream.windows ?? []).find((one) => one.window === null);
    fill(facts, distinct(stream.windows ?? []).map((one) => fact(one.window === null ? "accuracy, all rows" : `accuracy, last ${count(one.window)} rows`,
      one.accuracy === null ? "–" : percent(one.accuracy), one.log_loss === null ? "no corrections yet" : `log loss ${digits(one.log_loss, 3)}`)),
    fact("rows judged, then learned", count(stream.rows ?? judged?.rows ?? 0), `${count(stream.events ?? session.info.events ?? 0)} events in the log`),
    stream.rate ? fact("rows per second", digits(stream.rate.rows_per_second ?? 0, 3), `${digits(stream.rate.events_per_second ?? 0, 3)} events per second`) : null);
    const points = (key) => (stream.series ?? []).filter((one) => typeof one[key] === "number").map((one) => ({ x: one.event, y: one[key] }));
    accuracy.update(points("accuracy"));
    loss.update(points("log_loss"));
    fill(drift, (stream.drift ?? []).length ? element("section", { class: "card warn-card", role: "status", "aria-label": "Drift" }, element("h2", {}, "The data may have changed"), element("ul", { class: "plain-list" }, stream.drift.map((one) => element("li", {}, element("b", {}, one.what), one.text ? `: ${one.text}` : "", one.since ? ` (since event ${one.since})` : "")))) : null);
    shares.hidden = !stream.class_shares;
    if (stream.class_shares) paintShares(stream.class_shares);
    fill(recent, eventRows(session, events, session.info.read_only ? null : undo, { details: false }));
  }

  function paintShares({ recent: now, model }) {
    fill(shares, element("h2", {}, "Class shares"), element("p", { class: "soft small" }, "Bar: recent corrections. Line: the whole model."),
      element("ul", { class: "bars" }, session.classes.slice(0, 12).map((label, c) => {
        const bar = element("div", { class: "bar-fill" }), mark = element("div", { class: "before-mark" });
        bar.style.width = `${100 * (now?.[c] ?? 0)}%`;
        mark.style.left = `${100 * (model?.[c] ?? 0)}%`;
        return coloured(element("li", {}, element("span", { class: "name" }, element("span", { class: "class-dot", "aria-hidden": "true" }), String(label)),
          element("div", { class: "track", title: `model: ${percent(model?.[c] ?? 0)}` }, bar, mark), element("span", { class: "p" }, typeof now?.[c] === "number" ? percent(now[c]) : "–")), c);
      })));
  }

  async function undo(event) {
    try { await session.undo(event); notify(`Event ${event} was taken back.`); } catch (error) { fill(trouble, problemBlock(error)); }
  }

  const stop = session.onChange(() => { clearTimeout(waiting); waiting = setTimeout(load, PAUSE); });
  const beat = setInterval(load, 15_000);
  load();
  return {
    element: element("div", { class: "stack" },
      element("div", { class: "head flush" }, element("div", {}, element("h1", { tabindex: "-1" }, `Stream of ${session.name}`), element("p", {}, "Every correction is judged by the model before it is learned: these are its answers to rows that it had not seen."))),
      trouble, facts, drift, element("div", { class: "two even" }, element("section", { class: "card", "aria-label": "Accuracy" }, accuracy.element), element("section", { class: "card", "aria-label": "Log loss" }, loss.element)),
      element("div", { class: "two" }, shares, element("section", { class: "card", "aria-label": "Recent events" }, element("h2", {}, "Recent events"), element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "recent events, table" }, element("table", { class: "events" }, eventHead(), recent))))),
    leave() { isShown = false; stop(); clearTimeout(waiting); clearInterval(beat); },
  };
}

/* The windows that hold different rows: while there are fewer than 100, all windows are the same. */
function distinct(windows) {
  return windows.filter((one, i) => i === 0 || one.rows > windows[i - 1].rows);
}

function fact(name, value, small = "") {
  return element("div", {}, element("dt", {}, name), element("dd", {}, value, small ? element("small", {}, small) : null));
}
