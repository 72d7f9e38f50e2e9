/* Light or dark: as the system says, until the user chooses. */

import { element, fill, icon } from "./element.js";

const CHOICE = "tallybayes-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function chosen() {
  return localStorage.getItem(CHOICE) ?? (system.matches ? "dark" : "light");
}

/* A button that switches between light and dark. */
export function themeSwitch() {
  const button = element("button", { type: "button", class: "icon" });
  const apply = () => {
    const theme = chosen();
    document.documentElement.dataset.theme = theme;
    const other = theme === "dark" ? "light" : "dark";
    button.setAttribute("aria-label", `Switch to ${other} colours`);
    button.title = `Switch to ${other} colours`;
    fill(button, icon(theme === "dark" ? "sun" : "moon"));
  };
  button.addEventListener("click", () => {
    localStorage.setItem(CHOICE, chosen() === "dark" ? "light" : "dark");
    apply();
  });
  system.addEventListener("change", apply);
  apply();
  return button;
}
