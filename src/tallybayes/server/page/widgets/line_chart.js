/* A line over events, with its last value; values as a table for those who do not see it. */

import { drawing, element, fill } from "./element.js";

const USUAL = 560, HEIGHT = 190, LEFT = 46, RIGHT = 12, TOP = 12, BOTTOM = 26;

/* A chart that is updated in place: {element, update(points: [{x, y}])}. */
export function lineChart({ title, format, from = null, to = null }) {
  const svg = drawing("svg", { height: HEIGHT, role: "img" });
  const now = element("strong", { class: "chart-now number" });
  const body = element("tbody");
  const table = element("details", {}, element("summary", {}, "Values as a table"),
    element("div", { class: "scroll short" }, element("table", {}, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "event"), element("th", { scope: "col", class: "n" }, title))), body)));
  const made = element("figure", { class: "chart" }, element("figcaption", { class: "card-head" }, element("h2", {}, title), now), svg, table);
  let shown = [];
  const draw = () => fill(svg, marks(shown, format, from, to, svg.clientWidth || USUAL));
  new ResizeObserver(draw).observe(made);
  return {
    element: made,
    update(points) {
      shown = points;
      now.textContent = points.length ? format(points.at(-1).y) : "no events yet";
      svg.setAttribute("aria-label", points.length ? `${title} over ${points.length} points, at last ${format(points.at(-1).y)}` : `${title}: no events yet`);
      draw();
      fill(body, points.slice(-100).reverse().map((point) => element("tr", {}, element("td", {}, String(point.x)), element("td", { class: "n" }, format(point.y)))));
      table.hidden = !points.length;
    },
  };
}

function marks(points, format, from, to, width) {
  const ys = points.map((point) => point.y);
  const low = from ?? Math.min(0, ...ys), high = to ?? niceTop(Math.max(...ys, 0.1));
  const first = points[0]?.x ?? 0, last = Math.max(points.at(-1)?.x ?? 1, first + 1);
  const x = (value) => LEFT + ((value - first) / (last - first)) * (width - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - ((Math.min(Math.max(value, low), high) - low) / (high - low || 1)) * (HEIGHT - TOP - BOTTOM);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => low + share * (high - low));
  const grid = ticks.map((tick) => [
    drawing("line", { class: "grid-line", x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }),
    drawing("text", { x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end" }, format(tick).replace(".0 %", " %")),
  ]).flat();
  const path = points.map((point) => `${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`).join(" ");
  const ends = points.length ? [drawing("text", { x: LEFT, y: HEIGHT - 6 }, `event ${first}`), drawing("text", { x: width - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, `event ${points.at(-1).x}`)] : [];
  const dot = points.length ? [drawing("circle", { class: "chart-dot", cx: x(points.at(-1).x), cy: y(points.at(-1).y), r: 4 })] : [];
  return [...grid, ...ends, drawing("polyline", { class: "chart-line", points: path }), ...dot];
}

function niceTop(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 2, 5, 10].find((step) => step * unit >= value);
}
