/* A small picture of a column per class: steps or curves of a number, bars of values, or the strongest words. */

import { coloured, drawing, element } from "./element.js";
import { DECIBANS, digits, percent, signed } from "../logic/numbers.js";

const WIDTH = 300, HEIGHT = 110, WORDS = 6, VALUES = 7;

/* The picture of a column, or null if it has none. */
export function columnPicture(column, place) {
  const picture = column.picture;
  if (!picture || !picture.rows.length) return null;
  if (picture.kind === "words") return words(picture, place);
  if (picture.kind === "values") return values(picture, place);
  return plot(column, picture, place);
}

/* Lines of steps or a density: one for every class, in its colour and with dashes of its own. */
function plot(column, picture, place) {
  const bend = picture.logarithmic ? (x) => Math.sign(x) * Math.log1p(Math.abs(x) / picture.logarithmic) : (x) => x;
  const edges = picture.rows.flatMap((row) => [row.x, row.x2 ?? row.x]);
  const low = Math.min(...edges), high = Math.max(...edges), top = Math.max(...picture.rows.map((row) => row.p), 0), bottom = Math.min(...picture.rows.map((row) => row.p), 0);
  const x = (value) => ((bend(value) - bend(low)) / (bend(high) - bend(low) || 1)) * WIDTH;
  const y = (p) => HEIGHT - 4 - ((p - bottom) / (top - bottom || 1)) * (HEIGHT - 10);
  const lines = picture.classes.map((name) => {
    const rows = picture.rows.filter((row) => row.class === name && row.of === undefined);
    const points = rows.flatMap((row) => (row.x2 === undefined ? [[x(row.x), y(row.p)]] : [[x(row.x), y(row.p)], [x(row.x2), y(row.p)]]));
    const at = points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ");
    const ground = y(Math.max(bottom, 0)).toFixed(1);
    const area = points.length ? drawing("polygon", { class: "area", points: `${points[0][0].toFixed(1)},${ground} ${at} ${points.at(-1)[0].toFixed(1)},${ground}` }) : null;
    return coloured(drawing("g", { class: `dash-${place(name) % 4}` }, area, drawing("polyline", { class: "line", points: at })), place(name));
  });
  return element("figure", { class: "picture" },
    drawing("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${picture.what} of ${column.name} by class`, preserveAspectRatio: "none" },
      drawing("line", { class: "axis", x1: 0, x2: WIDTH, y1: y(Math.max(bottom, 0)), y2: y(Math.max(bottom, 0)) }), lines),
    element("div", { class: "ends" }, element("span", {}, digits(low)), element("span", {}, picture.what), element("span", {}, digits(high))));
}

/* For every value a bar of each class. */
function values(picture, place) {
  const names = [...new Set(picture.rows.map((row) => row.value))].slice(0, VALUES);
  const most = Math.max(...picture.rows.map((row) => Math.abs(row.p)), 1e-9), isShare = picture.what === "share of the class";
  const lines = names.map((value) => element("div", { class: "value-row" }, element("span", { class: "value-name", title: value }, value || "(empty)"),
    element("div", { class: "value-bars" }, picture.classes.map((name) => {
      const p = picture.rows.find((row) => row.value === value && row.class === name)?.p ?? 0;
      const bar = coloured(element("div", { class: "value-bar", title: `${name}: ${isShare ? percent(p) : digits(p)}` }), place(name));
      bar.style.width = `${(100 * Math.abs(p)) / most}%`;
      return bar;
    }))));
  return element("figure", { class: "picture" }, lines, element("figcaption", { class: "ends" }, picture.note || picture.what));
}

/* The words with the strongest evidence for each class. */
function words(picture, place) {
  const most = Math.max(...picture.rows.map((row) => Math.abs(row.lead)), 1e-9);
  const columns = picture.classes.map((name) => {
    const own = picture.rows.filter((row) => row.class === name).slice(0, WORDS);
    return coloured(element("div", {}, element("h4", {}, element("span", { class: "class-dot", "aria-hidden": "true" }), ` ${name}`),
      element("ol", { class: "word-list" }, own.map((row) => {
        const bar = element("span", { class: "word-bar", "aria-hidden": "true" });
        bar.style.width = `${(100 * Math.abs(row.lead)) / most}%`;
        return element("li", {}, bar, element("span", { class: "word" }, row.word), element("span", { class: "soft number" }, signed(row.lead * DECIBANS, 0)));
      }))), place(name));
  });
  return element("figure", { class: "picture" }, element("div", { class: "word-columns" }, columns), element("figcaption", { class: "ends" }, "decibans against the other classes"));
}

/* The colours of the classes. */
export function classKey(classes, place) {
  return element("ul", { class: "class-key" }, classes.map((name) => coloured(element("li", {}, element("span", { class: "class-dot", "aria-hidden": "true" }), String(name)), place(name))));
}
