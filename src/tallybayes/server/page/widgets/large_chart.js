/* A larger chart of a column in a dialog, drawn by Vega; its script is loaded with the first chart. */

import { element } from "./element.js";
import { problemBlock } from "./problem.js";

let loading = null;

function vega() {
  loading ??= new Promise((resolve, reject) => {
    const script = element("script", { src: "/page/vega.js" });
    script.addEventListener("load", () => resolve(window.vegaEmbed));
    script.addEventListener("error", () => { loading = null; reject(new Error("the script of the charts cannot be loaded")); });
    document.head.append(script);
  });
  return loading;
}

/* Open the chart of a column; it is drawn on a canvas, because the policy of the page allows no style attributes. */
export async function showLargeChart(session, column) {
  const place = element("div", { class: "large-chart", role: "img", "aria-label": `distribution of ${column.name} in each class` }, element("p", { class: "soft" }, "Loading the chart"));
  const dialog = element("dialog", { class: "wide", "aria-labelledby": "chart-title" }, element("h2", { id: "chart-title" }, column.name), place,
    element("form", { method: "dialog" }, element("div", { class: "row-of" }, element("button", { class: "main" }, "Close"))));
  let view = null;
  dialog.addEventListener("close", () => { view?.finalize(); dialog.remove(); });
  document.body.append(dialog);
  dialog.showModal();
  try {
    const [embed, spec] = await Promise.all([vega(), session.api.get(`${session.base}/chart?column=${encodeURIComponent(column.name)}`)]);
    if (!dialog.open) return;
    view = await embed(place, spec, { renderer: "canvas", actions: false, ast: true, tooltip: false, defaultStyle: false, config: colours() });
    place.dataset.drawn = "true";
  } catch (error) { place.replaceWith(problemBlock(error)); }
}

/* The colours of the page, light or dark. */
function colours() {
  const style = getComputedStyle(document.documentElement), of = (name) => style.getPropertyValue(name).trim();
  const axis = { labelColor: of("--soft"), titleColor: of("--soft"), gridColor: of("--line"), domainColor: of("--edge"), tickColor: of("--edge"), labelFontSize: 13, titleFontSize: 13 };
  return { background: of("--card"), axis, view: { stroke: null }, legend: { labelColor: of("--ink"), titleColor: of("--soft"), labelFontSize: 13, orient: "top" }, text: { color: of("--ink") }, font: "system-ui, sans-serif" };
}
