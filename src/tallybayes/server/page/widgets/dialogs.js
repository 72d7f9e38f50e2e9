/* The dialog for a key, and the list of keyboard shortcuts. */

import { element } from "./element.js";

/* Ask for a key; resolves to whether one was given. */
export function askForKey(api) {
  return new Promise((resolve) => {
    const input = element("input", { type: "password", id: "key-entry", autocomplete: "off", spellcheck: "false", required: true });
    const cancel = element("button", { type: "button" }, "Cancel");
    const dialog = element("dialog", { "aria-labelledby": "key-title" },
      element("form", { method: "dialog" },
        element("h2", { id: "key-title" }, "This server needs a key"),
        element("p", { class: "soft" }, "It is kept in this tab only, until the tab is closed."),
        element("div", { class: "field" }, element("label", { for: "key-entry" }, "Key"), input),
        api.key ? element("p", { class: "field" }, element("span", { class: "wrong" }, "The key that was given is not known, or does not permit this.")) : null,
        element("div", { class: "row-of" }, cancel, element("button", { class: "main", value: "given" }, "Use this key"))));
    cancel.addEventListener("click", () => dialog.close(""));
    dialog.addEventListener("close", () => {
      const given = dialog.returnValue === "given" && input.value.trim() !== "";
      if (given) api.key = input.value.trim();
      dialog.remove();
      resolve(given);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

const SHORTCUTS = [
  ["1 … 9", "teach the label with this number"], ["u", "undo the last correction"], ["j  k", "next, previous row of the batch"],
  ["s", "skip this row"], ["g then t c m s d a", "go to Try, Correct, Model, Stream, Data, API"], ["?", "this list"],
];

const OFF = "tallybayes-shortcuts-off";

/* Whether single keys do something: those who speak to their computer may turn them off. */
export function shortcutsAreOn() { return localStorage.getItem(OFF) === null; }

/* Show the keyboard shortcuts, and a switch for them. */
export function showShortcuts() {
  if (document.querySelector("dialog[open]")) return;
  const box = element("input", { type: "checkbox", id: "shortcuts-on" });
  box.checked = shortcutsAreOn();
  box.addEventListener("change", () => { if (box.checked) localStorage.removeItem(OFF); else localStorage.setItem(OFF, "off"); });
  const dialog = element("dialog", { "aria-labelledby": "shortcuts-title" },
    element("h2", { id: "shortcuts-title" }, "Keyboard shortcuts"),
    element("dl", { class: "shortcuts" }, SHORTCUTS.map(([keys, does]) => [element("dt", {}, element("kbd", {}, keys)), element("dd", {}, does)])),
    element("p", {}, box, " ", element("label", { for: "shortcuts-on" }, "Use keyboard shortcuts")),
    element("form", { method: "dialog" }, element("div", { class: "row-of" }, element("button", { class: "main" }, "Close"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
