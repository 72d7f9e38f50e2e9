/* Texts of a row with their words marked by evidence. */

import { markedPieces } from "../logic/evidence.js";
import { DECIBANS, signed } from "../logic/numbers.js";
import { element } from "./element.js";

const LEAST = 0.06;  // share of the strongest word below which a word is not marked
const STRONGEST = 0.55;  // opacity of the strongest mark: text stays readable

/* A block for every text column of an explanation, for class a against class b. */
export function markedTexts(explanation, a, b) {
  return Object.entries(explanation.words ?? {}).filter(([name, words]) => words.some((word) => word.at.length) && explanation.values[name]).map(([name, words]) => {
    const pieces = markedPieces(String(explanation.values[name]), words, a, b);
    const strongest = Math.max(...pieces.map((piece) => Math.abs(piece.logOdds ?? 0)), 1e-9);
    const parts = pieces.map((piece) => {
      const share = Math.abs(piece.logOdds ?? 0) / strongest;
      if (piece.logOdds === null || share < LEAST) return piece.text;
      const mark = element("mark", { class: piece.logOdds > 0 ? "plus" : "minus", title: `${signed(piece.logOdds * DECIBANS)} decibans` }, piece.text);
      mark.style.setProperty("--strength", String((STRONGEST * share).toFixed(3)));
      return mark;
    });
    return element("section", { class: "marked" }, element("h3", {}, name),
      element("div", { class: "words", tabindex: "0", role: "group", "aria-label": `${name}, words marked by evidence` }, parts));
  });
}

/* What the colours mean. */
export function wordKey(explanation, a, b) {
  return element("p", { class: "word-key" },
    element("span", {}, element("span", { class: "swatch plus", "aria-hidden": "true" }), `for ${explanation.classes[a]}`),
    element("span", {}, element("span", { class: "swatch minus", "aria-hidden": "true" }), `for ${explanation.classes[b]}`),
    element("span", {}, "the stronger the colour, the stronger the evidence"));
}
