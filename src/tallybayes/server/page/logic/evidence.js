/* An explanation as the log odds of one class against another: the prior, the columns, the words, and their sum. */

const finite = (x) => (x === null || x === undefined ? -Infinity : x);

/* Log odds from two natural logs; two impossible classes have none. */
export function odds(parts, a, b) {
  const own = finite(parts[a]), other = finite(parts[b]);
  return own === -Infinity && other === -Infinity ? 0 : own - other;
}

/* The classes to compare: the answer and the most probable other class, as indices. */
export function sides(explanation) {
  const p = explanation.probabilities;
  const order = [...p.keys()].sort((x, y) => p[y] - p[x]);
  const answer = explanation.classes.findIndex((label) => label === explanation.predicted);
  const best = answer >= 0 ? answer : order[0];
  return [best, order.find((c) => c !== best) ?? best];
}

/* The prior first, then the columns, the strongest first: {name, value, logOdds}. */
export function contributions(explanation, a, b) {
  const columns = Object.entries(explanation.log_evidence).map(([name, parts]) => ({
    name, value: explanation.values[name], logOdds: odds(parts, a, b),
  }));
  columns.sort((x, y) => Math.abs(y.logOdds) - Math.abs(x.logOdds));
  return [{ name: "", value: null, logOdds: odds(explanation.log_prior, a, b) }, ...columns];
}

/* The log odds of the whole row, before calibration. */
export function total(explanation, a, b) {
  return odds(explanation.log_score, a, b);
}

/* A text in pieces: {text, logOdds} with null where a piece has no evidence.

   Spans count characters (code points). What an n-gram adds is divided equally among its characters, so that
   overlapping n-grams can be shown in one text. */
export function markedPieces(text, words, a, b) {
  const signs = Array.from(text);
  const adds = new Float64Array(signs.length + 1);
  const ends = new Map();  // start of a word -> end of the shortest word that starts there
  for (const word of words) {
    const value = odds(word.log_evidence, a, b);
    for (const [start, stop] of word.at) {
      const share = value / word.at.length / Math.max(stop - start, 1);
      for (let i = start; i < stop && i < signs.length; i++) adds[i] += share;
      ends.set(start, Math.min(stop, ends.get(start) ?? stop));
    }
  }
  const pieces = [];
  let at = 0;
  for (const start of [...ends.keys()].sort((x, y) => x - y)) {
    const stop = Math.min(ends.get(start), signs.length);
    if (start < at || stop <= start) continue;
    if (start > at) pieces.push({ text: signs.slice(at, start).join(""), logOdds: null });
    let sum = 0;
    for (let i = start; i < stop; i++) sum += adds[i];
    pieces.push({ text: signs.slice(start, stop).join(""), logOdds: sum });
    at = stop;
  }
  if (at < signs.length) pieces.push({ text: signs.slice(at).join(""), logOdds: null });
  return pieces;
}

/* What would change the answer, as the parts of a sentence. */
export function flipParts(flip) {
  if (!flip) return null;
  const names = flip.words ?? flip.columns;
  return { names, areWords: Boolean(flip.words), label: flip.label };
}

/* The fewest words of a text whose absence should change the answer: {words, text}, the text without them; or null.

   Words are taken out by what they add for the answer against its strongest rival. Whether the answer changes is for
   the model to say, because words may depend on each other. */
export function wordsToRemove(explanation, column, most = 12) {
  const [a, b] = sides(explanation);
  if (a === b || !explanation.values[column]) return null;
  let left = total(explanation, a, b);
  const strongest = (explanation.words?.[column] ?? []).filter((word) => word.word && word.at.length)
    .map((word) => ({ ...word, logOdds: odds(word.log_evidence, a, b) })).sort((x, y) => y.logOdds - x.logOdds);
  const gone = [];
  for (const word of strongest.slice(0, most)) {
    if (word.logOdds <= 0) break;
    gone.push(word);
    left -= word.logOdds;
    if (left < 0) {
      const signs = Array.from(String(explanation.values[column]));
      for (const [start, stop] of gone.flatMap((one) => one.at)) signs.fill(" ", start, stop);
      return { words: gone.map((one) => one.word), text: signs.join("") };
    }
  }
  return null;
}

/* How doubtful a row is, from 0 (certain) to 1: one minus the lead of the best class. */
export function doubt(probabilities) {
  const sorted = [...probabilities].sort((x, y) => y - x);
  return sorted.length > 1 ? 1 - (sorted[0] - sorted[1]) : 0;
}
