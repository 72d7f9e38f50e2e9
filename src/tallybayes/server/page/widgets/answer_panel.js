/* The answer to one row: the verdict, a bar per class, what would change it, and the evidence behind it. */

import { flipParts, wordsToRemove } from "../logic/evidence.js";
import { percent } from "../logic/numbers.js";
import { coloured, colouredPair, element, fill } from "./element.js";
import { evidenceTable } from "./evidence_table.js";
import { markedTexts, wordKey } from "./marked_text.js";
import { probabilityBars } from "./probability_bars.js";

/* A panel in parts: {answer, why, words, peek, update}; `peek` is a short form for narrow screens. `extra` is put below the bars: the buttons that teach a label. */
export function answerPanel(session, extra = null) {
  const verdict = element("p", { class: "verdict" }), bars = probabilityBars((label) => session.place(label));
  const flip = element("p", { class: "flip" }), change = element("div", { class: "changes", hidden: true });
  const spoken = element("p", { class: "unseen", "aria-live": "polite" });
  const note = element("p", { class: "soft small bar-note" }), words = element("div", { class: "marked-texts" });
  const place = (label) => session.place(label), table = evidenceTable(place, () => paintWords());
  const answer = element("section", { class: "card", "aria-label": "Answer" }, verdict, bars.element, note, change, flip, extra, spoken);
  const why = element("section", { class: "card", "aria-label": "Why" }, table.element);
  const peek = element("button", { type: "button", class: "peek", on: { click: () => answer.scrollIntoView({ block: "start" }) } });
  answer.hidden = why.hidden = words.hidden = peek.hidden = true;  // until there is an answer
  let current = null, speaking = 0;

  function paintWords() {
    const [a, b] = table.pair(), texts = markedTexts(current, a, b);
    colouredPair(words, place(current.classes[a]), place(current.classes[b]));
    words.hidden = !texts.length;
    fill(words, texts.length ? [wordKey(current, a, b), ...texts] : []);
  }

  return {
    answer, why, words, peek,
    get explanation() { return current; },
    /* Show an explanation; `before` are the probabilities by label before a change. */
    update(explanation, before = null) {
      current = explanation;
      answer.hidden = peek.hidden = false;
      why.hidden = explanation.classes.length < 2;
      const { classes, probabilities, predicted } = explanation;
      const best = classes.findIndex((label) => label === predicted);
      const p = best >= 0 ? probabilities[best] : Math.max(...probabilities);
      fill(verdict,
        coloured(element("span", { class: "label-name" }, predicted === null ? "no answer" : String(predicted)), predicted === null ? 7 : session.place(predicted)),
        element("span", { class: "sure" }, percent(p)));
      fill(peek, coloured(element("span", { class: "class-dot", "aria-hidden": "true" }), predicted === null ? 7 : session.place(predicted)),
        element("strong", {}, predicted === null ? "no answer" : String(predicted)), element("span", { class: "number" }, percent(p)), element("span", { class: "soft small" }, "why?"));
      bars.update(classes, probabilities, explanation.interval ?? null, before);
      note.textContent = [explanation.interval ? "Lines: 95 % credible intervals, from the number of rows learned." : "", before ? "Dotted: before the correction." : ""].join(" ").trim();
      note.hidden = !note.textContent;
      fill(flip, flipSentence(explanation));
      change.hidden = true;
      table.update(explanation);
      if (classes.length > 1) paintWords(); else words.hidden = true;
      clearTimeout(speaking);
      speaking = setTimeout(() => { spoken.textContent = `${predicted === null ? "No answer" : predicted}, ${percent(p)}`; }, 900);
    },
    /* Look for words whose absence would change the answer, and ask the model whether it does. */
    async refineFlip(row) {
      const shown = current;
      for (const column of Object.keys(shown.words ?? {})) {
        const found = wordsToRemove(shown, column);
        if (!found) continue;
        const [label] = (await session.predict([{ ...row, [column]: found.text }])).predictions;
        if (shown !== current) return;
        if (label !== shown.predicted) { fill(flip, flipSentence({ flip: { words: found.words, columns: [column], label } })); return; }
      }
    },
    /* What a change has done to the answer. */
    showChange(...parts) { fill(change, ...parts); change.hidden = false; },
  };
}

function flipSentence(explanation) {
  const parts = flipParts(explanation.flip);
  if (!parts) return ["No set of missing columns would change the answer."];
  const names = parts.names.map((name, i) => [i === 0 ? "" : i === parts.names.length - 1 ? " and " : ", ", element("b", {}, name)]).flat();
  const then = parts.label === null ? [" there would be no answer."] : [" it would be ", element("b", {}, String(parts.label)), "."];
  return [parts.areWords ? `Without the word${parts.names.length > 1 ? "s" : ""} ` : "Without ", ...names, ...then];
}
