/* The sum behind a nomogram: the contribution of a position on a ruler, and the probabilities of a sum.
   A module of the page of the server, and of the report, which has it in the script of its nomogram. */

export const log = (values) => values.map((value) => (value === null ? -Infinity : value));

/* The rulers with impossible values as -Infinity, each at "missing". */
export function prepared(data) {
  return {
    ...data,
    prior: log(data.prior),
    rulers: data.rulers.map((ruler) => ({
      ...ruler,
      adds: ruler.adds.map(log),
      empty: ruler.empty && log(ruler.empty),
      missing: ruler.missing && log(ruler.missing),
      at: null,
    })),
  };
}

/* The last step that begins at or below a number; the first one if there is none. */
export function stepOf(edges, x) {
  let low = 0, high = edges.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (edges[middle] === null || edges[middle] <= x) low = middle; else high = middle;
  }
  return low;
}

/* What a ruler adds to the log score at its position, for every class. */
export function contribution(ruler, nClasses) {
  const { at, kind, adds } = ruler;
  if (at === null) return ruler.missing ?? new Array(nClasses).fill(0);
  if (kind === "choice") return adds[at];
  if (kind === "steps") return adds[stepOf(ruler.marks, at)];
  if (kind === "curve") return between(ruler.marks, adds, at);
  if (at.adds) return at.adds;  // a whole text
  return at.reduce((sum, word) => sum.map((value, c) => value + adds[word][c]), ruler.empty);
}

function between(marks, adds, x) {
  const i = stepOf(marks, x);
  if (x <= marks[0] || i + 1 >= marks.length) return adds[i];
  const share = (x - marks[i]) / (marks[i + 1] - marks[i]);
  return share === 0 ? adds[i] : adds[i].map((value, c) => value + share * (adds[i + 1][c] - value));
}

/* the log score of all positions. */
export function score(data) {
  const n = data.classes.length;
  return data.rulers.reduce((sum, ruler) => {
    const own = contribution(ruler, n);
    return sum.map((value, c) => value + own[c]);
  }, data.prior);
}

export function softmax(logs) {
  const top = Math.max(...logs), parts = logs.map((value) => Math.exp(value - top));
  const whole = parts.reduce((x, y) => x + y, 0);
  return parts.map((value) => value / whole);
}

/* P(class | row), calibrated as the model is; the prior if every class is impossible. */
export function probabilities(data, logs) {
  const from = Math.max(...logs) === -Infinity ? data.prior : logs;
  const how = data.calibration;
  if (!how) return softmax(from);
  if (how.temperature) return softmax(from.map((value) => value / how.temperature));
  const p = softmax(from);
  const raised = p.map((value, c) => (how.steps[c] ? interpolated(value, ...how.steps[c]) : value));
  return softmax(raised.map((value) => Math.log(Math.max(value, 1e-12))));
}

function interpolated(x, before, after) {
  const last = before.length - 1, i = stepOf(before, x);
  if (x <= before[0]) return after[0];
  if (i >= last) return after[last];
  return after[i] + ((x - before[i]) / (before[i + 1] - before[i])) * (after[i + 1] - after[i]);
}
