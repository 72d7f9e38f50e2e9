/* Evidence of a row: run by node's test runner. */
import assert from "node:assert/strict";
import { test } from "node:test";

const { contributions, doubt, flipParts, markedPieces, odds, sides, total, wordsToRemove } = await import(`${process.env.PAGE}/logic/evidence.js`);

const explanation = {
  classes: ["cat", "dog", "cow"], predicted: "dog", probabilities: [0.2, 0.7, 0.1], values: { kilos: 9, likes: "walks" },
  log_prior: [-1, -0.5, -2], log_evidence: { kilos: [-2, -1, -3], likes: [-4, -0.1, null] }, log_score: [-7, -1.6, null],
};

test("the answer is compared with the most probable other class", () => assert.deepEqual(sides(explanation), [1, 0]));

test("without an answer the two most probable classes are compared", () => {
  assert.deepEqual(sides({ ...explanation, predicted: null }), [1, 0]);
});

test("the prior comes first, then the strongest column, and they add up to the sum", () => {
  const parts = contributions(explanation, 1, 0);
  assert.deepEqual(parts.map((part) => part.name), ["", "likes", "kilos"]);
  const sum = parts.reduce((value, part) => value + part.logOdds, 0);
  assert.ok(Math.abs(sum - total(explanation, 1, 0)) < 1e-12);
});

test("an impossible class has infinite odds against it, two impossible classes have none", () => {
  assert.equal(odds([0, null], 0, 1), Infinity);
  assert.equal(odds([null, null], 0, 1), 0);
});

test("spans count characters, not the units of UTF-16", () => {
  const words = [{ word: "now", at: [[2, 5]], log_evidence: [0, 2] }];
  assert.deepEqual(markedPieces("😀 now!", words, 1, 0), [{ text: "😀 ", logOdds: null }, { text: "now", logOdds: 2 }, { text: "!", logOdds: null }]);
});

test("what a repeated word adds is divided among its places, and pieces make up the text", () => {
  const words = [{ word: "no", at: [[0, 2], [3, 5]], log_evidence: [1, 0] }, { word: "no no", at: [[0, 5]], log_evidence: [0.5, 0] }];
  const pieces = markedPieces("no no", words, 0, 1);
  assert.equal(pieces.map((piece) => piece.text).join(""), "no no");
  const marked = pieces.filter((piece) => piece.logOdds !== null);
  assert.equal(marked.length, 2);
  assert.ok(marked.every((piece) => Math.abs(piece.logOdds - 0.7) < 1e-12));
});

test("doubt is greatest where two classes are equal", () => {
  assert.equal(doubt([0.5, 0.5]), 1);
  assert.ok(doubt([0.9, 0.1]) < doubt([0.6, 0.4]));
  assert.equal(doubt([1]), 0);
});

test("a flip names words or columns", () => {
  assert.equal(flipParts(null), null);
  assert.deepEqual(flipParts({ columns: ["a"], label: "x" }), { names: ["a"], areWords: false, label: "x" });
  assert.deepEqual(flipParts({ columns: ["text"], words: ["now"], label: null }), { names: ["now"], areWords: true, label: null });
});

test("the fewest words are removed that should change the answer", () => {
  const mail = {
    classes: ["ham", "spam"], predicted: "spam", probabilities: [0.1, 0.9], values: { text: "won a prize, Robin" }, log_score: [-3, -1],
    words: { text: [
      { word: "prize", at: [[6, 11]], log_evidence: [-2, 0] }, { word: "won", at: [[0, 3]], log_evidence: [-0.5, 0] },
      { word: "robin", at: [[13, 18]], log_evidence: [0, -1] }, { word: null, at: [], log_evidence: [-9, 0] },
    ] },
  };
  assert.deepEqual(wordsToRemove(mail, "text"), { words: ["prize", "won"], text: "    a      , Robin" });
  assert.equal(wordsToRemove({ ...mail, log_score: [-30, -1] }, "text"), null);
  assert.equal(wordsToRemove(mail, "subject"), null);
});
