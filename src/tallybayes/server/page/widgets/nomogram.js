/* A nomogram: classify a row by hand. A ruler for every column shows what each value adds to the log odds. */

import { odds } from "../logic/evidence.js";
import { DECIBANS, day, digits, signed } from "../logic/numbers.js";
import { contribution, prepared, probabilities, score } from "../logic/nomogram_sum.js";
import { colouredPair, drawing, element, fill, newId } from "./element.js";
import { probabilityBars } from "./probability_bars.js";

const HEIGHT = 34, SHOWN = 12;

/* The nomogram of a model, from the answer of the API. */
export function nomogram(given, place) {
  const data = prepared(given), n = data.classes.length;
  const common = [...data.prior.keys()].sort((x, y) => data.prior[y] - data.prior[x]);
  let [a, b] = [common[0], common[1]];
  const selects = ["for the class", "against the class"].map((name) => element("select", { "aria-label": `nomogram ${name}` }, data.classes.map((label, c) => element("option", { value: c }, label))));
  const bars = probabilityBars(place), sum = element("output", { class: "number" });
  const rulers = data.rulers.slice(0, SHOWN).map((ruler) => rulerRow(ruler, n, () => paint()));
  const list = element("div", { class: "rulers" }, rulers.map((ruler) => ruler.element));
  const clear = element("button", { type: "button", class: "slim", on: { click: () => { for (const ruler of rulers) ruler.clear(); paint(); } } }, "Set all to missing");
  selects.forEach((select, which) => select.addEventListener("change", () => {
    const chosen = selects.map((one) => Number(one.value));
    if (chosen[0] === chosen[1]) chosen[1 - which] = (chosen[which] + 1) % n;
    [a, b] = chosen;
    paint();
  }));

  function paint() {
    selects[0].value = String(a);
    selects[1].value = String(b);
    const logs = score(data), p = probabilities(data, logs);
    const reach = Math.max(...data.rulers.flatMap((ruler) => ruler.adds.map((adds) => Math.abs(odds(adds, a, b)))).filter(Number.isFinite), 0.1);
    for (const ruler of rulers) ruler.paint(a, b, reach);
    colouredPair(list, place(data.classes[a]), place(data.classes[b]));
    bars.update(data.classes, p);
    sum.textContent = `${signed(odds(logs, a, b) * DECIBANS)} decibans for ${data.classes[a]}, of which the prior ${signed(odds(data.prior, a, b) * DECIBANS)}`;
    sum.dataset.p = p[a];
  }
  paint();
  const more = data.rulers.length - SHOWN + data.others;
  return element("div", { class: "nomogram" },
    element("div", { class: "card-head" }, element("div", { class: "versus" }, element("span", { class: "soft" }, "for"), selects[0], element("span", { class: "soft" }, "against"), selects[1]), clear),
    list,
    more > 0 ? element("p", { class: "soft small" }, `${more} more columns are not shown and count as missing.`) : null,
    element("div", { class: "nomogram-sum" }, element("p", {}, sum), bars.element));
}

/* One ruler: a control for the value, and its place on the scale of log odds. */
function rulerRow(ruler, n, changed) {
  const id = newId("ruler"), svg = drawing("svg", { "aria-hidden": "true" });
  const adds = element("output", { class: "adds number" }), control = controls[ruler.kind === "curve" ? "steps" : ruler.kind](ruler, id, changed);
  const made = element("div", { class: "ruler" }, control.element, svg, adds);
  return {
    element: made,
    clear() { ruler.at = null; control.show(); },
    paint(a, b, reach) {
      const own = odds(contribution(ruler, n), a, b);
      const x = (value) => `${(50 + 48 * Math.max(-1, Math.min(1, value / reach))).toFixed(2)}%`;  // of the width
      const marks = ruler.adds.map((parts) => odds(ruler.kind === "words" ? parts.map((part, c) => part + ruler.empty[c]) : parts, a, b));
      fill(svg,
        drawing("line", { class: "axis", x1: x(Math.min(...marks, 0)), x2: x(Math.max(...marks, 0)), y1: HEIGHT / 2, y2: HEIGHT / 2 }),
        drawing("line", { class: "zero", x1: "50%", x2: "50%", y1: 4, y2: HEIGHT - 4 }),
        marks.map((value) => drawing("line", { class: "tick", x1: x(value), x2: x(value), y1: HEIGHT / 2 - 4, y2: HEIGHT / 2 + 4 })),
        drawing("circle", { class: ruler.at === null ? "knob missing" : own < 0 ? "knob minus" : "knob plus", cx: x(own), cy: HEIGHT / 2, r: 7 }));
      adds.textContent = signed(own * DECIBANS);
    },
  };
}

const controls = {
  choice(ruler, id, changed) {
    const select = element("select", { id }, element("option", { value: "" }, "missing"), ruler.marks.map((mark, i) => element("option", { value: i }, mark)));
    select.addEventListener("change", () => { ruler.at = select.value === "" ? null : Number(select.value); changed(); });
    return { element: element("div", { class: "set" }, element("label", { for: id }, ruler.name), select), show() { select.value = ""; } };
  },
  steps(ruler, id, changed) {
    const places = (ruler.inside ?? ruler.marks).filter((mark) => mark !== null && Number.isFinite(mark));
    const slider = element("input", { type: "range", id, min: 0, max: places.length - 1, step: 1, value: Math.floor(places.length / 2), dataset: { empty: "" } });
    const value = element("span", { class: "soft small number" }, "missing"), text = ruler.dates ? day : digits;
    slider.addEventListener("input", () => {
      ruler.at = places[Number(slider.value)];
      delete slider.dataset.empty;
      value.textContent = text(ruler.at);
      slider.setAttribute("aria-valuetext", value.textContent);
      changed();
    });
    slider.setAttribute("aria-valuetext", "missing");
    return {
      element: element("div", { class: "set" }, element("div", { class: "field-head" }, element("label", { for: id }, ruler.name), value), slider),
      show() { slider.dataset.empty = ""; value.textContent = "missing"; slider.setAttribute("aria-valuetext", "missing"); },
    };
  },
  words(ruler, id, changed) {
    const boxes = ruler.marks.map((mark, i) => {
      const box = element("input", { type: "checkbox", value: i });
      box.addEventListener("change", () => {
        const chosen = boxes.filter((one) => one.querySelector("input").checked).map((one) => Number(one.querySelector("input").value));
        ruler.at = chosen.length ? chosen : null;
        changed();
      });
      return element("label", { class: "chip" }, box, mark);
    });
    return {
      element: element("fieldset", { class: "set field" }, element("legend", {}, ruler.name + (ruler.approximate ? " (words add up approximately)" : "")), element("div", { class: "chips" }, boxes)),
      show() { for (const box of boxes) box.querySelector("input").checked = false; },
    };
  },
};

