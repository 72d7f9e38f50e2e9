/* The page: addresses like #/try/pets, the model chooser, tabs, theme, key, and the keyboard. */

import { Api } from "./api.js";
import { Batches } from "./batches.js";
import { ModelSession } from "./model_session.js";
import { count } from "./logic/numbers.js";
import { apiView } from "./views/api_view.js";
import { correctView } from "./views/correct_view.js";
import { dataView } from "./views/data_view.js";
import { modelView } from "./views/model_view.js";
import { streamView } from "./views/stream_view.js";
import { tryView } from "./views/try_view.js";
import { askForKey, shortcutsAreOn, showShortcuts } from "./widgets/dialogs.js";
import { element, fill, icon } from "./widgets/element.js";
import { problemBlock } from "./widgets/problem.js";
import { themeSwitch } from "./widgets/theme_switch.js";

const VIEWS = {
  try: ["Try", tryView, "t"], correct: ["Correct", correctView, "c"], model: ["Model", modelView, "m"],
  stream: ["Stream", streamView, "s"], data: ["Data", dataView, "d"], api: ["API", apiView, "a"],
};
const byId = (id) => document.getElementById(id);
const api = new Api(), batches = new Batches();
let asking = null;
api.askForKey = () => (asking ??= askForKey(api).finally(() => { asking = null; }));

let models = [], session = null, view = null, unfollow = null, going = false, goneAt = 0, showing = 0;

function address() {
  const [, name = "try", model = ""] = location.hash.split("/");
  return { name: VIEWS[name] ? name : "try", model: decodeURIComponent(model) };
}

function hashOf(name, model) { return `#/${name}/${encodeURIComponent(model)}`; }

async function begin() {
  fill(byId("tools"), keyButton(), element("button", { type: "button", class: "icon shortcuts-button", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)", on: { click: showShortcuts } }, icon("help")), themeSwitch());
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });  // the address stays
  await loadModels();
  addEventListener("hashchange", () => show(true));
  await show(false);
}

function keyButton() {
  return element("button", { type: "button", class: "icon", "aria-label": "Key", title: "Give a key", on: { click: async () => { if (await api.askForKey()) { await loadModels(); session = null; show(true); } } } }, icon("key"));
}

async function loadModels() {
  models = (await api.get("/v1/models")).models;
}

async function show(focus) {
  showing += 1;
  const own = showing, wanted = address(), main = byId("main");
  const model = models.find((one) => one.name === wanted.model)?.name ?? models[0]?.name;
  try {
    if (model === undefined) { fill(main, element("div", { class: "card empty" }, element("h1", {}, "No models"), element("p", {}, "This server has no model that you may see."))); return; }
    if (wanted.model !== model) { history.replaceState(null, "", hashOf(wanted.name, model)); }
    if (session?.name !== model) {
      unfollow?.();
      const next = await new ModelSession(api, model).load();
      await batches.loadExamples(next);
      if (own !== showing) return;
      session = next;
      unfollow = session.follow((on) => { live = on; paintStatus(); });
      session.onChange(paintStatus);
    }
    view?.leave?.();
    paintFrame(wanted.name, model);
    view = VIEWS[wanted.name][1](session, batches);
    fill(main, view.element);
    document.title = `${VIEWS[wanted.name][0]} · ${model} · tallybayes`;
    if (focus) { scrollTo(0, 0); main.querySelector("h1")?.focus({ preventScroll: true }); }
    document.documentElement.dataset.shown = `${wanted.name}/${model}`;
  } catch (error) {
    view = null;
    fill(main, problemBlock(error), element("p", {}, element("button", { type: "button", on: { click: () => { session = null; restart(); } } }, "Try again")));
  }
}

async function restart() {
  try { await loadModels(); await show(true); } catch (error) { fill(byId("main"), problemBlock(error)); }
}

function paintFrame(name, model) {
  fill(byId("tabs"), Object.entries(VIEWS).filter(([key]) => key !== "correct" || session.canTeach || name === "correct").map(([key, [title]]) => element("a", { href: hashOf(key, model), "aria-current": key === name ? "page" : null }, title)));
  if (models.length > 1) {
    const select = element("select", { id: "model-choice", on: { change: () => { location.hash = hashOf(address().name, select.value); } } }, models.map((one) => element("option", { value: one.name, selected: one.name === model }, one.name)));
    fill(byId("chooser"), element("label", { for: "model-choice", class: "soft" }, "model"), select);
  } else fill(byId("chooser"), element("span", { class: "soft small" }, "model"), element("strong", {}, model));
  paintStatus();
}

let live = false;
function paintStatus() {
  if (!session) return;
  const { rows, version, read_only: readOnly } = session.info;
  fill(byId("status"), readOnly ? element("span", {}, "read-only") : null, element("span", { class: "number" }, `${count(rows)} rows`), element("span", { class: "number" }, `version ${version}`),
    element("span", { class: "live", dataset: { state: live ? "on" : "off" } }, live ? "live" : "not connected"));
}

document.addEventListener("keydown", (event) => {
  if (!shortcutsAreOn() || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const inField = event.target.closest?.("input:not([type=checkbox], [type=radio], [type=range]), textarea, select, [contenteditable]");
  if (inField) { if (event.key === "Escape") event.target.blur(); return; }
  if (going && Date.now() - goneAt < 1500) {
    going = false;
    const found = Object.entries(VIEWS).find(([, [, , key]]) => key === event.key);
    if (found) { location.hash = hashOf(found[0], session.name); event.preventDefault(); return; }
  }
  if (event.key === "?") showShortcuts();
  else if (event.key === "g") { going = true; goneAt = Date.now(); }
  else if (view?.key?.(event)) event.preventDefault();
});

begin().catch((error) => fill(byId("main"), problemBlock(error), element("p", {}, element("button", { type: "button", on: { click: () => location.reload() } }, "Try again"))));
