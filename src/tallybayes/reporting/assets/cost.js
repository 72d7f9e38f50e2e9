"use strict";
/* The mean cost per row against the threshold of a class, and the command that sets the threshold. */
(() => {
  const state = window.tallyThreshold;
  if (!state) return;
  const byId = (id) => document.getElementById(id);
  const NS = "http://www.w3.org/2000/svg", height = 190, left = 52, bottom = 40, top = 12, right = 14;
  const fields = { fp: byId("cost-fp"), fn: byId("cost-fn") };

  function draw(name, attributes, text) {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function cost(field) {
    const given = field.valueAsNumber, valid = Number.isFinite(given) && given >= 0;
    field.setAttribute("aria-invalid", String(!valid));
    return valid ? given : 1;
  }

  /* The mean cost of every threshold. */
  function curve() {
    const one = state.chosen(), n = one.above[0] + one.others[0], fp = cost(fields.fp), fn = cost(fields.fn);
    return one.above.map((tp, i) => (fp * one.others[i] + fn * (one.above[0] - tp)) / n);
  }

  /* The threshold of least cost; of equal ones that in the middle of the longest run. */
  function best(costs) {
    const least = Math.min(...costs);
    let found = [0, -1], start = null;
    costs.forEach((value, i) => {
      if (value > least) { start = null; return; }
      if (start === null) start = i;
      if (i - start > found[1] - found[0]) found = [start, i];
    });
    if (found[1] < found[0]) return costs.indexOf(least);
    return (found[0] + found[1]) >> 1;
  }

  function paint(costs, least) {
    const place = byId("cost-chart"), width = Math.max(place.clientWidth, 240), now = state.position();
    const most = Math.max(...costs) || 1, last = costs.length - 1;
    const x = (i) => left + i / last * (width - left - right);
    const y = (value) => top + (1 - value / most) * (height - top - bottom);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", height, "aria-hidden": "true" });
    for (const share of [0, 0.5, 1]) {
      svg.append(draw("line", { class: "grid-line", x1: left, x2: width - right, y1: y(share * most), y2: y(share * most) }),
        draw("text", { x: left - 6, y: y(share * most) + 4, "text-anchor": "end" }, state.brief(share * most)));
    }
    const marks = width < 420 ? [0.001, 0.1, 0.5, 0.9, 0.999] : [0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999];
    for (const mark of marks) {
      const i = state.thresholds.findIndex((value) => value >= mark - 1e-9);
      if (i >= 0) svg.append(draw("text", { x: x(i), y: height - bottom + 16, "text-anchor": "middle" }, String(mark)));
    }
    svg.append(draw("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "threshold; mean cost per row"));
    svg.append(draw("path", { class: "cost-line", d: "M" + costs.map((value, i) => `${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join("L") }));
    svg.append(draw("line", { class: "cost-now", x1: x(now), x2: x(now), y1: top, y2: height - bottom }),
      draw("circle", { class: "cost-least", cx: x(least), cy: y(costs[least]), r: 6 }));
    place.replaceChildren(svg);
  }

  /* A word for the shell. */
  function quoted(word) {
    return /^[\w./:+,%@-]+$/.test(word) && !word.startsWith("-") ? word : `'${word.replaceAll("'", "'\\''")}'`;
  }

  function show() {
    const costs = curve(), least = best(costs), now = state.position(), t = state.thresholds;
    paint(costs, least);
    byId("cost-summary").textContent =
      `Mean cost per row: ${state.brief(costs[now])} at ${state.digits(t[now])}, least ${state.brief(costs[least])} at ${state.digits(t[least])}; ` +
      `${state.brief(costs[0])} if every row were predicted as the class, ` +
      `${state.brief(cost(fields.fn) * state.chosen().above[0] / (state.chosen().above[0] + state.chosen().others[0]))} if none were.`;
    const name = state.chosen().name;
    byId("decide-line").textContent =
      `tally decide ${quoted(state.model)} --positive${name.startsWith("-") ? "=" : " "}${quoted(name)} --threshold ${Number(t[now].toPrecision(6))} --in-place`;
  }

  for (const field of Object.values(fields)) field.addEventListener("input", show);
  byId("cost-best").addEventListener("click", () => state.move(best(curve())));
  byId("decide-copy").addEventListener("click", async () => {
    const line = byId("decide-line");
    getSelection().selectAllChildren(line);  // can be copied by hand where the browser forbids it
    try { await navigator.clipboard.writeText(line.textContent); byId("decide-copy").textContent = "copied"; } catch { /* selected */ }
  });
  state.listeners.push(show);
  new ResizeObserver(show).observe(byId("cost-chart").parentElement);
  show();
})();
