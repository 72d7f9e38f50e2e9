/* The evidence of every column for one class against another: bars, decibans and odds; the prior first, the sum last. */

import { contributions, sides, total } from "../logic/evidence.js";
import { DECIBANS, oddsFactor, signed } from "../logic/numbers.js";
import { shownValue } from "../logic/row_values.js";
import { colouredPair, element, fill, newId } from "./element.js";

const SHOWN = 14;  // columns that are shown one by one

/* A table that follows the answer, or a pair of classes that the user picks: {element, update, pair}. */
export function evidenceTable(place, picked) {
  const body = element("tbody"), holder = element("div");
  const selects = ["for", "against"].map((name) => element("select", { "aria-label": `evidence ${name} the class` }));
  const versus = element("div", { class: "versus" }, element("span", { class: "soft" }, "for"), selects[0], element("span", { class: "soft" }, "against"), selects[1]);
  const caption = element("caption", { class: "unseen" });
  const table = element("table", { class: "evidence" }, caption,
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "column"), element("th", { scope: "col" }, element("span", { class: "unseen" }, "bar")),
      element("th", { scope: "col", class: "n", title: "ten decibans are a factor of ten in the odds" }, "decibans"), element("th", { scope: "col", class: "n odds" }, "odds"))), body);
  const id = newId("why");
  fill(holder, element("div", { class: "card-head" }, element("h2", { id }, "Why"), versus), table);
  let explanation = null, chosen = null;

  selects.forEach((select, which) => select.addEventListener("change", () => {
    chosen = selects.map((one) => Number(one.value));
    if (chosen[0] === chosen[1]) chosen[1 - which] = [...explanation.classes.keys()].find((c) => c !== chosen[which]);
    paint();
    picked?.();
  }));

  function pair() {
    const n = explanation.classes.length;
    return chosen && chosen[0] < n && chosen[1] < n ? chosen : sides(explanation);
  }

  function paint() {
    const [a, b] = pair();
    selects.forEach((select, which) => {
      fill(select, explanation.classes.map((label, c) => element("option", { value: c }, String(label))));
      select.value = String([a, b][which]);
    });
    const parts = contributions(explanation, a, b), sum = total(explanation, a, b);
    const reach = Math.max(...[...parts.map((part) => part.logOdds), sum].filter(Number.isFinite).map(Math.abs), 1e-9);
    const shown = parts.slice(0, SHOWN + 1), rest = parts.slice(SHOWN + 1);
    const lines = shown.map((part) => line(part.name || "prior", part.name ? shownValue(part.value) || "(missing)" : "of the classes", part.logOdds, reach));
    if (rest.length) lines.push(line(`${rest.length} more columns`, "", rest.reduce((value, part) => value + part.logOdds, 0), reach));
    fill(body, lines, line("sum", "", sum, reach, "total"));
    colouredPair(table, place(explanation.classes[a]), place(explanation.classes[b]));
    caption.textContent = `Evidence for ${explanation.classes[a]} against ${explanation.classes[b]}`;
  }

  return {
    element: holder,
    pair: () => pair(),
    update(given) { explanation = given; holder.hidden = given.classes.length < 2; if (!holder.hidden) paint(); },
  };
}

function line(name, value, logOdds, reach, kind = "") {
  const share = Number.isFinite(logOdds) ? Math.abs(logOdds) / reach : 1;
  const bar = element("span", { class: logOdds < 0 ? "minus" : "plus" });
  bar.style.width = `${Math.max(50 * share, logOdds === 0 ? 0 : 0.6)}%`;
  return element("tr", { class: kind },
    element("th", { scope: "row", class: "what" }, name, value ? element("small", {}, value) : null),
    element("td", {}, element("div", { class: "diverging", "aria-hidden": "true" }, bar)),
    element("td", { class: "n" }, signed(logOdds * DECIBANS)), element("td", { class: "n odds" }, oddsFactor(logOdds)));
}
