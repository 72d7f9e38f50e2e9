/* The form for a row: a field for every column; the row is read at any time, mistakes are shown at their fields. */

import { element } from "./element.js";
import { formField } from "./form_field.js";

const SHOWN = 40;  // fields that are shown at once; more are behind a button

/* A form: {element, row, set, fail, clear}; `changed` is called after every change by the user. */
export function rowForm(columns, changed) {
  const fields = columns.map((column) => formField(column, changed));
  const holder = element("div", { class: "fields" }, fields.slice(0, SHOWN).map((field) => field.element));
  if (fields.length > SHOWN) {
    const more = element("details", {}, element("summary", {}, `${fields.length - SHOWN} more columns`),
      element("div", { class: "fields" }, fields.slice(SHOWN).map((field) => field.element)));
    holder.append(more);
  }
  return {
    element: holder,
    /* The row, without missing values; null if a field cannot be read. */
    row() {
      const row = {};
      let isValid = true;
      for (const field of fields) {
        const value = field.get();
        field.fail(value instanceof Error ? value.message : null);
        if (value instanceof Error) isValid = false;
        else if (value !== undefined) row[field.name] = value;
      }
      return isValid ? row : null;
    },
    set(row) { for (const field of fields) field.set(row[field.name]); },
    /* Show an error of the API at its field; returns whether there is one. */
    fail(column, text) {
      const field = fields.find((one) => one.name === column);
      field?.fail(text);
      return Boolean(field);
    },
    clear() { for (const field of fields) field.set(undefined); },
  };
}
