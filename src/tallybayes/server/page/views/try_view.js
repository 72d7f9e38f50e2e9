/* Try: a form for a row; the answer and the reasons while you type; the right label with one click or key. */

import { percent, plural } from "../logic/numbers.js";
import { titleOf } from "../logic/row_values.js";
import { answerPanel } from "../widgets/answer_panel.js";
import { element, fill } from "../widgets/element.js";
import { acceptFiles, fileButton } from "../widgets/file_drop.js";
import { notify, problemBlock, problemLine } from "../widgets/problem.js";
import { rowForm } from "../widgets/row_form.js";
import { teachBar } from "../widgets/teach_bar.js";

const PAUSE = 120;  // milliseconds after the last key until the server is asked

const remembered = new Map();  // the row that was being edited, by model

/* The view of a model: {element, key, leave}. */
export function tryView(session, batches) {
  const form = rowForm(session.fields, () => ask(PAUSE));
  const teach = teachBar(session, teachLabel);
  const panel = answerPanel(session, teach.element);
  const words = element("section", { class: "card words-card", "aria-label": "Words" }, panel.words);
  const trouble = element("div"), picker = element("div", { class: "row-of", hidden: true });
  const paste = pasteBox((text) => take(text, "", "text/plain"));
  const actions = element("div", { class: "row-of" },
    fileButton("Open a file", take, { className: "slim" }),
    element("button", { type: "button", class: "slim", "aria-expanded": "false", on: { click: (event) => paste.toggle(event.currentTarget) } }, "Paste a row"),
    element("button", { type: "button", class: "slim", on: { click: sample } }, "Sample a row"),
    element("button", { type: "button", class: "slim", on: { click: () => { picker.hidden = true; form.clear(); ask(0); } } }, "Clear"));
  const card = element("section", { class: "card", "aria-label": "The row" },
    element("div", { class: "card-head" }, element("h2", {}, "The row"), actions), paste.element, picker, trouble, form.element,
    element("p", { class: "soft small drop-hint" }, "A CSV file, a table or a mail can also be dropped here."), panel.peek);
  acceptFiles(card, take);

  let waiting = 0, latest = 0, abort = null, rows = [], at = 0;

  /* Ask for the answer after a pause; answers that are overtaken by a newer question are dropped. */
  function ask(pause, before = null) {
    forget();
    session.api.waiting(1);
    return new Promise((resolve) => {
      waiting = setTimeout(async () => {
        const row = form.row();
        if (row === null) { forget(); resolve(false); return; }
        remembered.set(session.name, row);
        latest += 1;
        const own = latest;
        abort?.abort();
        abort = new AbortController();
        try {
          const asked = session.explain(row, abort.signal);
          forget();
          const explanation = await asked;
          if (own !== latest) return;
          fill(trouble);
          panel.update(explanation, before);
          panel.refineFlip(row).catch(() => {});  // the sentence about columns stays
          resolve(true);
        } catch (error) {
          if (error.name === "AbortError" || own !== latest) return;
          if (!(error.column && form.fail(error.column, problemLine(error)))) fill(trouble, problemBlock(error));
          resolve(false);
        }
      }, pause);
    });
  }

  /* Drop the question that waits to be asked, if there is one. */
  function forget() {
    if (waiting) session.api.waiting(-1);
    clearTimeout(waiting);
    waiting = 0;
  }

  async function teachLabel(label) {
    const row = form.row();
    if (row === null) return;
    const { classes, probabilities } = panel.explanation ?? { classes: [], probabilities: [] };  // none: nothing was learned
    const before = Object.fromEntries(classes.map((one, c) => [String(one), probabilities[c]]));
    try {
      const applied = await session.learn(row, label);
      if (await ask(0, before)) {
        const now = panel.explanation, place = now.classes.findIndex((one) => String(one) === String(label));
        panel.showChange(
          element("span", {}, "Learned ", element("b", {}, String(label)), ": its probability was ", element("b", {}, percent(before[String(label)] ?? 0)),
            " and is now ", element("b", {}, percent(now.probabilities[place])), "."),
          element("button", { type: "button", class: "slim", on: { click: () => undo(applied.event) } }, "Undo ", element("kbd", { "aria-hidden": "true" }, "u")));
      }
    } catch (error) {
      fill(trouble, problemBlock(error));
    }
  }

  async function undo(event) {
    if (event === undefined) return;
    try {
      await session.undo(event);
      notify(`Event ${event} was taken back: the model is exactly what it was without it.`);
      await ask(0);
    } catch (error) {
      fill(trouble, problemBlock(error));
    }
  }

  async function take(content, name, type) {
    try {
      const found = await session.read(content, name, type);
      if (!found.rows.length) throw Object.assign(new Error("there are no rows in it"), { title: "Nothing to read" });
      fill(trouble);
      rows = found.rows;
      showRow(0);
      for (const note of found.notes ?? []) notify(note, { seconds: 12 });
      if (name) notify(`${name}: ${plural(rows.length, "row")}${found.truncated ? ", the first of more" : ""}`);
    } catch (error) {
      fill(trouble, problemBlock(error));
    }
  }

  function showRow(number) {
    at = (number + rows.length) % rows.length;
    form.set(rows[at]);
    ask(0);
    picker.hidden = rows.length < 2;
    if (picker.hidden) return;
    fill(picker,
      element("button", { type: "button", class: "slim", "aria-label": "previous row", on: { click: () => showRow(at - 1) } }, "‹"),
      element("span", { class: "small number" }, `row ${at + 1} of ${rows.length}: ${titleOf(rows[at], session.fields, session.label)}`),
      element("button", { type: "button", class: "slim", "aria-label": "next row", on: { click: () => showRow(at + 1) } }, "›"),
      session.canTeach ? element("button", { type: "button", class: "slim", on: { click: () => { batches.add(session, rows); location.hash = `#/correct/${encodeURIComponent(session.name)}`; } } }, "Work through all of them") : null);
  }

  async function sample() {
    try {
      const found = await session.api.get(`${session.base}/sample?n=1&seed=${Math.floor(Math.random() * 1e9)}`);
      picker.hidden = true;
      form.set(found.rows[0]);
      await ask(0);
    } catch (error) {
      const examples = batches.examples(session);
      if (!examples.length) { fill(trouble, problemBlock(error)); return; }
      form.set(examples[Math.floor(Math.random() * examples.length)]);
      await ask(0);
    }
  }

  const stop = session.onChange(({ own }) => { teach.paint(); if (!own) ask(PAUSE); });
  form.set(remembered.get(session.name) ?? batches.examples(session)[0] ?? {});
  ask(0);
  return {
    element: element("div", {},
      element("div", { class: "head" }, element("div", {}, element("h1", { tabindex: "-1" }, `Try ${session.name}`),
        element("p", {}, session.canTeach ? "Fill in what is known. Missing values are fine. If the answer is wrong, teach the right one." : "Fill in what is known. Missing values are fine."))),
      element("div", { class: "two try" }, card, element("div", { class: "stack" }, panel.answer, panel.why), words)),
    key(event) {
      if (/^[1-9]$/.test(event.key)) teach.teachNumber(Number(event.key));
      else if (event.key === "u" && session.canTeach) undo(session.taught.at(-1));
      else return false;
      return true;
    },
    leave() { stop(); forget(); abort?.abort(); },
  };
}

function pasteBox(take) {
  const area = element("textarea", { rows: 3, "aria-label": "A row as JSON, CSV or TSV, with the names of its columns", placeholder: '{"column": "value"} or two lines of CSV' });
  const box = element("div", { class: "paste", hidden: true }, area,
    element("div", { class: "row-of" }, element("button", { type: "button", class: "main slim", on: { click: () => take(area.value) } }, "Read it")));
  return {
    element: box,
    toggle(button) { box.hidden = !box.hidden; button.setAttribute("aria-expanded", String(!box.hidden)); if (!box.hidden) area.focus(); },
  };
}
