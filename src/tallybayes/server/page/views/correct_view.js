/* Correct: work through a batch, the most doubtful row first, with the keyboard alone. Nothing leaves it on an error. */

import { doubt } from "../logic/evidence.js";
import { percent, plural } from "../logic/numbers.js";
import { shownValue, titleOf } from "../logic/row_values.js";
import { answerPanel } from "../widgets/answer_panel.js";
import { coloured, element, fill } from "../widgets/element.js";
import { acceptFiles, fileButton } from "../widgets/file_drop.js";
import { notify, problemBlock } from "../widgets/problem.js";
import { teachBar } from "../widgets/teach_bar.js";

const SCORED = 1000;  // rows of one request
const ORDER = "The most doubtful row comes first. Every label you give is learned at once, and the rows that remain are judged anew.";
const LISTED = 60;  // rows in the list

/* The view of a model: {element, key, leave}. */
export function correctView(session, batches) {
  const entries = () => batches.of(session);
  const teach = teachBar(session, teachLabel, "What is it?");
  const moves = element("div", { class: "row-of moves" },
    button("Previous", "k", () => move(-1)), button("Next", "j", () => move(1)), button("Skip", "s", skip), button("Undo", "u", undo));
  teach.element.append(moves);
  const panel = answerPanel(session, teach.element);
  const trouble = element("div"), values = element("dl", { class: "values" });
  const row = element("section", { class: "card row-card", "aria-label": "The row" }, values, panel.words);
  const list = element("ol", { class: "queue" }), progress = element("div"), last = element("div", { class: "changes", hidden: true, role: "status" });
  const work = element("div", { class: "stack" }, last, trouble, panel.answer, row, panel.why);
  const empty = emptyCard();
  const side = element("section", { class: "card queue-card", "aria-label": "Rows of the batch" }, progress, list);
  const columns = element("div", { class: "correct", hidden: true }, side, work);
  const add = element("div", { class: "row-of" }, fileButton("Add rows from a file", take), element("button", { type: "button", class: "quiet", on: { click: clear } }, "Empty the batch"));
  const order = element("p", { role: "status" }, ORDER);
  const page = element("div", {},
    element("div", { class: "head" }, element("div", {}, element("h1", { tabindex: "-1" }, `Correct ${session.name}`),
      order), add),
    empty, columns);
  acceptFiles(page, take);
  let current = null, latest = 0, busy = false;
  const scores = new Map();  // probabilities by entry

  function open() { return entries().filter((entry) => entry.state === "open"); }

  function inOrder() {
    return open().sort((x, y) => (scores.get(y.id)?.doubt ?? 2) - (scores.get(x.id)?.doubt ?? 2) || x.id - y.id);
  }

  /* Score all open rows again, then show the list; the current row stays unless it is done. */
  async function refresh({ keep = true } = {}) {
    latest += 1;
    const own = latest;
    try {
      if (!await score(open(), own)) return;
      order.textContent = ORDER;
      fill(trouble);
    } catch (error) {
      if (own !== latest) return;
      order.textContent = "Not all rows could be judged: their order is not yet by doubt.";
      fill(trouble, problemBlock(error));
    }
    if (!keep || !current || current.state !== "open") current = inOrder()[0] ?? null;
    paintList();
    await paintRow();
  }

  /* Score rows, some at a time, and say how far it is; false if something newer has begun. */
  async function score(rows, own) {
    for (let from = 0; from < rows.length; from += SCORED) {
      if (from && own === latest) order.textContent = `Judging the rows: ${from.toLocaleString("en")} of ${rows.length.toLocaleString("en")} ...`;
      const part = rows.slice(from, from + SCORED), found = await session.predict(part.map((entry) => session.row(entry.row)));
      if (own !== latest) return false;
      part.forEach((entry, i) => scores.set(entry.id, { p: found.probabilities[i], label: found.predictions[i], doubt: doubt(found.probabilities[i]) }));
    }
    return own === latest;
  }

  function paintList() {
    const all = entries(), done = all.filter((entry) => entry.state === "done").length, skipped = all.filter((entry) => entry.state === "skipped").length;
    empty.hidden = all.length > 0;
    columns.hidden = all.length === 0;
    add.hidden = all.length === 0;
    const bar = element("progress", { max: all.length, value: done + skipped, "aria-label": "progress" });
    fill(progress, element("div", { class: "queue-head" }, element("h2", {}, `${done + skipped} of ${all.length}`), element("span", { class: "soft small" }, skipped ? `${skipped} skipped` : "")), bar);
    fill(list, inOrder().slice(0, LISTED).map((entry) => {
      const score = scores.get(entry.id);
      return element("li", {}, element("button", { type: "button", class: "queue-row", "aria-current": entry === current ? "true" : null, on: { click: () => { current = entry; paintList(); paintRow(); } } },
        element("span", { class: "queue-title" }, titleOf(entry.row, session.fields, session.label)),
        score ? element("span", { class: "queue-answer small" }, coloured(element("span", { class: "class-dot", "aria-hidden": "true" }), session.place(score.label)), `${score.label ?? "no answer"} ${percent(Math.max(...score.p))}`) : null));
    }));
  }

  async function paintRow() {
    const shown = current;
    row.hidden = !shown;
    if (!shown) {
      panel.answer.hidden = panel.why.hidden = true;
      if (entries().length) fill(trouble, finished());
      return;
    }
    paintValues(shown);
    try {
      const known = session.row(shown.row), explanation = await session.explain(known);
      if (shown !== current) return;
      panel.update(explanation);
      panel.refineFlip(known).catch(() => {});  // the sentence about columns stays
    } catch (error) {
      if (shown === current && error.name !== "AbortError") fill(trouble, problemBlock(error));
    }
  }

  function paintValues(entry) {
    const texts = new Set(session.fields.filter((field) => field.kind === "text").map((field) => field.name));
    const shown = Object.entries(entry.row).filter(([name, value]) => !texts.has(name) && shownValue(value) !== "");
    values.hidden = !shown.length;
    fill(values, shown.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, shownValue(value).slice(0, 400)))));
  }

  async function teachLabel(label) {
    if (!current || busy) return;
    const entry = current, known = session.row(entry.row), before = scores.get(entry.id);
    busy = true;
    try {
      const place = session.place(label), was = before?.p[place] ?? 0;
      const applied = await session.learn(known, label);
      Object.assign(entry, { state: "done", label, event: applied.event });
      batches.save(session);
      fill(trouble);
      teach.paint();
      const again = await session.predict([known]);
      const now = again.probabilities[0][again.classes.findIndex((one) => String(one) === String(label))];
      fill(last, element("span", {}, titleOf(entry.row, session.fields, session.label).slice(0, 60), " is ", element("b", {}, String(label)), ": ", element("b", {}, percent(was)), " before, ", element("b", {}, percent(now)), " now."),
        element("button", { type: "button", class: "slim", on: { click: undo } }, "Undo ", element("kbd", { "aria-hidden": "true" }, "u")));
      last.hidden = false;
    } catch (error) {
      fill(trouble, problemBlock(error));  // the row stays where it is
      return;
    } finally {
      busy = false;
    }
    await refresh({ keep: false });
  }

  async function undo() {
    const event = session.taught.at(-1);
    if (event === undefined || busy) { if (!busy) notify("There is no correction of this tab to undo."); return; }
    busy = true;
    try {
      await session.undo(event);
      const entry = entries().find((one) => one.event === event);
      if (entry) { Object.assign(entry, { state: "open", label: null, event: null }); current = entry; }
      batches.save(session);
      last.hidden = true;
      notify("The correction was taken back.");
    } catch (error) {
      fill(trouble, problemBlock(error));
      return;
    } finally {
      busy = false;
    }
    await refresh();
  }

  function skip() {
    if (!current) return;
    const order = inOrder(), at = order.indexOf(current);
    current.state = "skipped";
    batches.save(session);
    current = order[at + 1] ?? inOrder()[0] ?? null;
    paintList();
    paintRow();
  }

  function move(step) {
    const order = inOrder();
    if (!order.length) return;
    current = order[Math.min(Math.max(order.indexOf(current) + step, 0), order.length - 1)];
    paintList();
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    paintRow();
  }

  async function take(content, name, type) {
    try {
      const found = await session.read(content, name, type);
      batches.add(session, found.rows);
      for (const note of found.notes ?? []) notify(note, { seconds: 12 });
      notify(`${plural(found.rows.length, "row")} added${found.truncated ? ": the file has more" : ""}.`);
      await refresh();
    } catch (error) {
      fill(trouble, problemBlock(error));
      columns.hidden = false;
    }
  }

  function clear() { batches.clear(session); scores.clear(); current = null; last.hidden = true; fill(trouble); paintList(); }

  function finished() {
    const skipped = entries().filter((entry) => entry.state === "skipped");
    const again = () => { for (const entry of skipped) entry.state = "open"; batches.save(session); fill(trouble); refresh({ keep: false }); };
    return element("div", { class: "card empty" }, element("p", {}, "All rows of the batch are done."),
      skipped.length ? element("button", { type: "button", on: { click: again } }, `Look at the ${plural(skipped.length, "skipped row")} again`) : null);
  }

  function emptyCard() {
    return element("section", { class: "card empty", hidden: true }, element("h2", {}, "No rows are waiting"),
      element("p", {}, "Drop a CSV file or mails here, or open a file. Rows stay in this tab until you teach their labels."),
      fileButton("Open a file", take, { className: "main" }));
  }

  const stop = session.onChange(({ own }) => { if (!own) refresh(); });
  refresh();
  return {
    element: session.canTeach ? page : element("div", { class: "card empty" }, element("h1", { tabindex: "-1" }, "Correct"), element("p", {}, session.label === null ? "The label of this model has no name, so rows cannot be taught here." : "This server is read-only: it answers, but does not learn.")),
    key(event) {
      if (!session.canTeach || !columns.isConnected) return false;
      const actions = { j: () => move(1), k: () => move(-1), s: skip, u: undo };
      if (/^[1-9]$/.test(event.key)) teach.teachNumber(Number(event.key));
      else if (actions[event.key]) actions[event.key]();
      else return false;
      return true;
    },
    leave() { stop(); latest += 1; },
  };
}

function button(text, key, run) {
  return element("button", { type: "button", class: "slim", on: { click: run } }, text, element("kbd", { "aria-hidden": "true" }, key));
}
