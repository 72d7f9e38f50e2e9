/* API: examples with the address of this server, this model, and a row that it understands. */

import { codeExamples } from "../logic/code_examples.js";
import { element, fill } from "../widgets/element.js";
import { notify } from "../widgets/problem.js";

/* The view of a model: {element}. */
export function apiView(session, batches) {
  const place = element("div", { class: "stack" });

  async function load() {
    let row = batches.examples(session)[0] ?? null;
    if (!row) row = (await session.api.get(`${session.base}/sample?n=1&seed=1`).catch(() => ({ rows: [] }))).rows[0] ?? {};
    const known = session.row(row);
    const short = Object.fromEntries(Object.entries(known).map(([name, value]) => [name, typeof value === "string" ? value.split("\n")[0].slice(0, 80) : value]));
    const examples = codeExamples({ address: location.origin, model: session.name, row: short, label: session.label, answer: session.classes[0] ?? "label", needsKey: session.api.needsKey });
    fill(place, ["curl", "Python", "JavaScript"].map((language) => element("section", { class: "card", "aria-label": language }, element("h2", {}, language),
      examples.filter((one) => one.language === language && (session.canTeach || one.title !== "Learn a correction")).map((one) => element("div", { class: "snippet" },
        element("div", { class: "card-head tight" }, element("h3", {}, one.title), element("button", { type: "button", class: "slim", "aria-label": `copy: ${language}, ${one.title}`, on: { click: () => copy(one.code) } }, "Copy")),
        element("pre", { tabindex: "0", role: "group", "aria-label": `${language}: ${one.title}` }, element("code", {}, one.code)))))));
  }

  load();
  return {
    element: element("div", {}, element("div", { class: "head" }, element("div", {}, element("h1", { tabindex: "-1" }, `API of ${session.name}`),
      element("p", {}, "All of it is described at ", element("a", { href: "/docs" }, "/docs"), ". The Open Inference Protocol (/v2) and MLflow's /invocations work as well."))), place),
  };
}

async function copy(text) {
  try { await navigator.clipboard.writeText(text); notify("Copied.", { seconds: 2 }); }
  catch { notify("The browser does not allow copying here: select the text instead.", { bad: true }); }
}
