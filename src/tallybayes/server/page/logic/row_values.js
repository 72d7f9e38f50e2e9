/* Values of a row: from what was typed to what is sent, and back. */

/* The value of a field by what was typed; undefined if it has none, an Error if it has no meaning. */
export function typedValue(kind, text, separator = "|") {
  const trimmed = text.trim();
  if (kind === "text") return text === "" ? undefined : text;
  if (trimmed === "") return undefined;
  if (kind === "number" || kind === "count") return typedNumber(trimmed);
  if (kind === "tags") return trimmed.split(separator).map((tag) => tag.trim()).filter(Boolean).join(separator);
  if (kind === "bag") return typedBag(trimmed);
  return trimmed;
}

/* A number; a decimal comma is understood where there is no point. */
export function typedNumber(text) {
  const plain = /^[-+]?\d+,\d+$/.test(text) ? text.replace(",", ".") : text;
  const value = Number(plain);
  return Number.isFinite(value) ? value : new Error(`expected a number, got "${text}"`);
}

/* Amounts by name: "red: 2, blue" is {red: 2, blue: 1}. */
export function typedBag(text) {
  const bag = {};
  for (const part of text.split(",").map((one) => one.trim()).filter(Boolean)) {
    const [, name, amount] = /^(.*?)(?:\s*:\s*([-+.\d]+))?$/.exec(part);
    bag[name] = amount === undefined ? 1 : Number(amount);
  }
  return bag;
}

/* A value as text for a field or a table; empty if it is missing, also all parts of a list. */
export function shownValue(value) {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) {
    const parts = value.map(shownValue);
    return parts.some(Boolean) ? parts.map((part) => part || "(missing)").join(", ") : "";
  }
  if (typeof value === "object") return Object.entries(value).map(([key, part]) => `${key}: ${shownValue(part)}`).join(", ");
  return String(value);
}

/* Whether a flag is true, false or missing, whichever way it is written. */
export function flagValue(value) {
  if (value === null || value === undefined || value === "") return undefined;
  if (typeof value === "boolean") return value;
  if (typeof value === "number") return value !== 0;
  const word = String(value).trim().toLowerCase();
  if (["true", "yes", "y", "t", "1", "on"].includes(word)) return true;
  return ["false", "no", "n", "f", "0", "off"].includes(word) ? false : undefined;
}

/* The tags of a value that is a list or a text with separators. */
export function tagList(value, separator = "|") {
  if (value === null || value === undefined) return [];
  const parts = Array.isArray(value) ? value : String(value).split(separator);
  return parts.map((tag) => String(tag).trim()).filter(Boolean);
}

/* The row with the columns that the model uses, without missing values. */
export function rowOf(given, fields) {
  const row = {};
  for (const { name } of fields) if (given[name] !== null && given[name] !== undefined) row[name] = given[name];
  return row;
}

/* A short title of a row: a subject, a name or an id if it has one, else its first values. */
export function titleOf(row, fields, label) {
  for (const key of ["subject", "title", "name", "file", "id"]) if (row[key]) return shownValue(row[key]);
  const names = Object.keys(row).filter((name) => name !== label);
  const shown = names.map((name) => shownValue(row[name])).filter(Boolean).slice(0, 3).join(" · ");
  return shown.slice(0, 90) || "(an empty row)";
}
