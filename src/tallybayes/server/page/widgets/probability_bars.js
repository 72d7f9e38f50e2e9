/* A bar for the probability of every class, with its credible interval and, after a change, where it was before. */

import { coloured, element, fill } from "./element.js";
import { percent } from "../logic/numbers.js";

const SHOWN = 8;  // classes that are shown, the most probable

/* Bars that are updated in place: {element, update}. */
export function probabilityBars(place) {
  const list = element("ul", { class: "bars" });
  const more = element("p", { class: "soft small" });
  const rows = new Map();
  const holder = element("div", {}, list, more);

  function rowFor(label) {
    if (!rows.has(label)) {
      const fillBar = element("div", { class: "bar-fill" }), whisker = element("div", { class: "whisker", hidden: true });
      const before = element("div", { class: "before-mark", hidden: true }), value = element("span", { class: "p" });
      const item = coloured(element("li", {},
        element("span", { class: "name" }, element("span", { class: "class-dot", "aria-hidden": "true" }), element("span", {}, label)),
        element("div", { class: "track", "aria-hidden": "true" }, fillBar, before, whisker), value), place(label));
      rows.set(label, { item, fillBar, whisker, before, value });
    }
    return rows.get(label);
  }

  return {
    element: holder,
    update(classes, probabilities, interval = null, beforehand = null) {
      const names = classes.map(String);
      const first = [...names.keys()].sort((x, y) => probabilities[y] - probabilities[x]).slice(0, SHOWN);
      const kept = names.length > SHOWN ? first : [...names.keys()];
      fill(list, kept.map((c) => {
        const row = rowFor(names[c]), p = probabilities[c];
        row.fillBar.style.width = `${100 * p}%`;
        row.value.textContent = percent(p);
        row.whisker.hidden = !interval;
        if (interval) {
          const [low, high] = interval[c];
          row.whisker.style.left = `${100 * low}%`;
          row.whisker.style.width = `${100 * Math.max(high - low, 0)}%`;
          row.item.title = `95 % credible interval: ${percent(low)} to ${percent(high)}`;
        }
        const was = beforehand?.[names[c]];
        row.before.hidden = was === undefined;
        if (was !== undefined) row.before.style.left = `${100 * was}%`;
        return row.item;
      }));
      more.textContent = names.length > kept.length ? `and ${names.length - kept.length} less probable classes` : "";
      more.hidden = !more.textContent;
    },
  };
}
