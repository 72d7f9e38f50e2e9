/* Elements from names, attributes and children. Text is always text, never HTML. */

/* An HTML element. `on` holds listeners, `dataset` data attributes; false and null leave an attribute out. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/* An SVG element. */
export function drawing(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [type, listener] of Object.entries(value)) made.addEventListener(type, listener);
    else if (key === "dataset") Object.assign(made.dataset, value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/* Replace all children. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return parent;
}

/* Set the colours of two classes that are compared: the custom properties --plus and --minus. */
export function colouredPair(made, a, b) {
  made.style.setProperty("--plus", `var(--class-${Math.min(a, 7)})`);
  made.style.setProperty("--minus", `var(--class-${Math.min(b, 7)})`);
  return made;
}

/* Set the colour of a class: the custom property --own. */
export function coloured(made, position) {
  made.style.setProperty("--own", `var(--class-${Math.min(position, 7)})`);
  return made;
}

let last = 0;
/* A new id for a label and what it labels. */
export function newId(prefix) {
  last += 1;
  return `${prefix}-${last}`;
}

const ICONS = {
  sun: "M12 4V2M12 22v-2M4 12H2M22 12h-2M6 6 4.600 4.600M19.400 19.400 18 18M6 18l-1.400 1.400M19.400 4.600 18 6M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8",
  moon: "M20 14.500A8.500 8.500 0 1 1 9.500 4a7 7 0 0 0 10.500 10.500",
  key: "M14.500 9.500a5 5 0 1 0-3 4.600L13.500 16H16v2.500h2.500V21H21v-3.500l-6.900-6.900M8.500 9.500v.01",
  help: "M9.200 9a3 3 0 1 1 4.300 2.700c-.9.500-1.500 1.200-1.500 2.300M12 17.500v.01M12 2.500a9.500 9.500 0 1 0 0 19 9.500 9.500 0 0 0 0-19",
};
/* A small picture for a button. */
export function icon(name) {
  return drawing("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, drawing("path", { d: ICONS[name] }));
}
