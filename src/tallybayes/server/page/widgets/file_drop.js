/* Files that are dropped on an area or chosen in a dialog, and tables that are pasted there. */

import { element } from "./element.js";

/* Let an area take files and pasted text: `take(content, name, type)` is called with each. */
export function acceptFiles(area, take) {
  let depth = 0;
  const isFile = (event) => [...(event.dataTransfer?.types ?? [])].some((type) => type === "Files" || type === "text/plain");
  area.addEventListener("dragenter", (event) => { if (isFile(event)) { depth += 1; area.classList.add("dropping"); } });
  area.addEventListener("dragleave", () => { depth = Math.max(0, depth - 1); if (!depth) area.classList.remove("dropping"); });
  area.addEventListener("dragover", (event) => { if (isFile(event)) event.preventDefault(); });
  area.addEventListener("drop", async (event) => {
    event.preventDefault();
    depth = 0;
    area.classList.remove("dropping");
    const text = event.dataTransfer.getData("text/plain");
    if (event.dataTransfer.files.length) for (const file of [...event.dataTransfer.files]) await take(file, file.name, file.type);
    else if (text) await take(text, "", "text/plain");
  });
  area.addEventListener("paste", (event) => {
    if (event.target.closest("input, textarea")) return;
    const file = event.clipboardData.files[0], text = event.clipboardData.getData("text/plain");
    if (file) take(file, file.name, file.type);
    else if (text.trim()) take(text, "", "text/plain");
  });
}

/* A button that opens files. */
export function fileButton(text, take, { className = "", multiple = true } = {}) {
  const input = element("input", { type: "file", multiple, class: "unseen", tabindex: "-1", "aria-hidden": "true" });
  input.addEventListener("change", async () => {
    for (const file of [...input.files]) await take(file, file.name, file.type);
    input.value = "";
  });
  const button = element("button", { type: "button", class: className, on: { click: () => input.click() } }, text);
  return element("span", {}, button, input);
}
