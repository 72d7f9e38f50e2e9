/* Model: what it has learned, column by column; what matters most; a nomogram; settings, staleness and download. */

import { count, digits, percent, plural } from "../logic/numbers.js";
import { classKey, columnPicture } from "../widgets/column_picture.js";
import { coloured, element, fill } from "../widgets/element.js";
import { showLargeChart } from "../widgets/large_chart.js";
import { nomogram } from "../widgets/nomogram.js";
import { notify, problemBlock } from "../widgets/problem.js";

const SHOWN = 24;  // columns with a card; more are behind a button

/* The view of a model: {element, leave}. */
export function modelView(session) {
  const facts = element("dl", { class: "facts" }), classes = element("section", { class: "card", "aria-label": "Classes" });
  const important = element("section", { class: "card", "aria-label": "What matters most" }), settings = element("section", { class: "card", "aria-label": "Settings" });
  const columns = element("div", { class: "grid" }), rulers = element("section", { class: "card", "aria-label": "Nomogram" });
  const place = (label) => session.place(label);
  const download = element("button", { type: "button", on: { click: () => session.api.save(`${session.base}/download`, `${session.name}.tally`).catch((error) => notify(error.message, { bad: true })) } }, "Download the model");

  function paint() {
    const { info } = session;
    fill(facts, fact("rows learned", count(info.rows)), fact("classes", count(session.classes.length)), fact("columns", count(info.columns)),
      fact("version", count(info.version), info.version ? "the last event" : "as it was fitted"));
    const counts = info.class_counts;
    const most = Math.max(...counts, 1), total = counts.reduce((x, y) => x + y, 0) || 1;
    fill(classes, element("h2", {}, info.label ? `Classes of ${info.label}` : "Classes"), element("ul", { class: "bars" }, session.classes.slice(0, 12).map((label, c) => {
      const bar = element("div", { class: "bar-fill" });
      bar.style.width = `${(100 * counts[c]) / most}%`;
      return coloured(element("li", {}, element("span", { class: "name" }, element("span", { class: "class-dot", "aria-hidden": "true" }), String(label)),
        element("div", { class: "track", "aria-hidden": "true" }, bar), element("span", { class: "p", title: percent(counts[c] / total) }, count(counts[c]))), c);
    })), session.classes.length > 12 ? element("p", { class: "soft small" }, `and ${session.classes.length - 12} more`) : null);
    fill(settings, element("h2", {}, "Settings"), settingsList(info));
  }

  async function load() {
    paint();
    try { session.columns = await session.api.get(`${session.base}/columns`); paintColumns(); } catch (error) { fill(columns, problemBlock(error)); }
    try { paintImportance(await session.api.get(`${session.base}/importance`)); } catch (error) { fill(important, element("h2", {}, "What matters most"), problemBlock(error)); }
    try {
      const data = await session.api.get(`${session.base}/nomogram`);
      rulers.hidden = data.classes.length < 2 || !data.rulers.length;
      if (!rulers.hidden) fill(rulers, element("h2", {}, "Nomogram"), element("p", { class: "soft" }, "Classify by hand: set values, and add up what each of them contributes. Marks show what other values would add."), nomogram(data, place));
    } catch (error) { fill(rulers, element("h2", {}, "Nomogram"), problemBlock(error)); }
  }

  function paintColumns(all = false) {
    const shown = all ? session.fields : session.fields.slice(0, SHOWN);
    fill(columns, shown.map((column) => element("article", { class: "card column-card" },
      element("div", { class: "card-head" }, element("h3", {}, column.name), element("span", { class: "row-of" }, element("span", { class: "badge" }, column.family.split(":")[0]), larger(column))),
      columnPicture(column, place) ?? element("p", { class: "soft small" }, "no picture for this kind of column"),
      element("p", { class: "soft small reason" }, column.reason, column.weight === null ? "" : `; weight ${digits(column.weight, 3)}`))),
    session.fields.length > shown.length ? element("button", { type: "button", on: { click: () => paintColumns(true) } }, `Show all ${session.fields.length} columns`) : null,
    session.columns.excluded.length ? element("article", { class: "card column-card" }, element("h3", {}, "Excluded columns"), element("dl", { class: "excluded" }, session.columns.excluded.slice(0, 30).map((one) => element("div", {}, element("dt", {}, one.name), element("dd", {}, one.reason))))) : null);
  }

  function paintImportance(found) {
    const head = element("h2", {}, "What matters most");
    if (!found.columns.length) { fill(important, head, element("p", { class: "soft" }, "The scores of this model are no likelihoods, so rows cannot be drawn from it to measure its columns. The strongest words and values are shown with each column; `tally importance` measures columns on data.")); return; }
    const most = Math.max(...found.columns.map((one) => one.information), 1e-9);
    fill(important, head, element("ul", { class: "bars importance" }, found.columns.slice(0, 12).map((one) => {
      const bar = element("div", { class: "bar-fill" });
      bar.style.width = `${(100 * Math.max(one.information, 0)) / most}%`;
      return element("li", {}, element("span", { class: "name" }, one.column), element("div", { class: "track", "aria-hidden": "true" }, bar), element("span", { class: "p" }, percent(Math.max(one.information, 0) / found.entropy)));
    })), element("p", { class: "soft small" }, `Share of the uncertainty about the class that each column alone removes, on ${plural(found.rows, "row")} drawn from the model.`));
  }

  function larger(column) {
    if (!session.columns.charts || !column.picture) return null;
    return element("button", { type: "button", class: "quiet slim", "aria-label": `larger chart of ${column.name}`, on: { click: () => showLargeChart(session, column) } }, "Larger");
  }

  /* Facts follow every change; pictures and the nomogram only if asked, so that no slider jumps back. */
  const refresh = element("button", { type: "button", hidden: true, on: { click: () => { refresh.hidden = true; load(); } } }, "Update the pictures");
  const stop = session.onChange(() => { paint(); refresh.hidden = false; });
  load();
  return {
    element: element("div", { class: "stack" },
      element("div", { class: "head flush" }, element("div", {}, element("h1", { tabindex: "-1" }, `Model ${session.name}`), classKey(session.classes.slice(0, 12), place)), element("div", { class: "row-of" }, refresh, download)),
      facts, element("div", { class: "thirds" }, classes, important, settings), element("h2", { class: "section-title" }, "Columns"), columns, rulers),
    leave: stop,
  };
}

function fact(name, value, small = "") {
  return element("div", {}, element("dt", {}, name), element("dd", {}, value, small ? element("small", {}, small) : null));
}

/* Decision, calibration and column weights, each with whether it is stale. */
function settingsList(info) {
  const given = info.settings ?? info, stale = new Set(info.stale);
  const lines = [["answer", told(given.decision) || "the most probable class", "decision"], ["calibration", told(given.calibration) || "none", "calibration"], ["column weights", weights(given), "column_weights"]];
  return element("dl", { class: "settings" }, lines.map(([name, text, key]) => element("div", {}, element("dt", {}, name),
    element("dd", {}, text, stale.has(key) ? element("span", { class: "badge warn" }, "stale: fitted before later changes") : null))));
}

function told(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "object") return String(value);
  return Object.entries(value).filter(([, part]) => part !== null && part !== "" && !(typeof part === "object" && !Object.keys(part).length)).map(([key, part]) => `${key.replaceAll("_", " ")} ${typeof part === "object" ? JSON.stringify(part) : part}`).join(", ");
}

function weights(given) {
  const own = given.column_weights;
  if (own && typeof own === "object" && own.fitted_on) return `fitted on ${plural(own.fitted_on, "row")}`;
  return told(own) || "1 for every column";
}
