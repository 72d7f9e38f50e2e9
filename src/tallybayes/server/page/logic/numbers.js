/* Numbers, odds and times as text. */

export const DECIBANS = 10 / Math.log(10);  // in one nat: a factor of ten in the odds is ten decibans

/* A probability in percent; never rounded to 0 % or 100 %. */
export function percent(p) {
  if (!Number.isFinite(p)) return "–";
  const value = 100 * p;
  if (p < 1 && value >= 99.95) return "> 99.9 %";
  if (p > 0 && value < 0.05) return "< 0.1 %";
  return `${value.toFixed(1)} %`;
}

/* A number with its sign; a true minus sign. */
export function signed(x, digits = 1) {
  if (!Number.isFinite(x)) return x > 0 ? "+∞" : "−∞";
  const text = Math.abs(x).toFixed(digits);
  return (x < 0 && Number(text) !== 0 ? "−" : "+") + text;
}

/* Natural log odds as a factor of the odds: × 12, ÷ 3.1. */
export function oddsFactor(logOdds) {
  if (!Number.isFinite(logOdds)) return logOdds > 0 ? "× ∞" : "÷ ∞";
  const factor = Math.exp(Math.abs(logOdds));
  const sign = logOdds < 0 ? "÷" : "×";
  if (factor < 1.005) return "× 1";
  return `${sign} ${brief(factor)}`;
}

/* A positive number with about two digits, large ones in powers of ten. */
export function brief(x) {
  if (x === 0) return "0";
  if (x >= 1e6) {
    const power = Math.floor(Math.log10(x));
    return `${(x / 10 ** power).toFixed(1)}·10${superscript(power)}`;
  }
  if (x >= 100) return Math.round(x).toLocaleString("en");
  return String(Number(x.toPrecision(2)));
}

function superscript(n) {
  return String(n).replace(/[-0-9]/g, (sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] ?? "⁻");
}

/* A whole or fractional count, with separators. */
export function count(n) {
  return Number(n).toLocaleString("en", { maximumFractionDigits: 2 });
}

/* One row, 2 rows. */
export function plural(n, noun) {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/* A number for a table: at most so many significant digits. */
export function digits(x, n = 4) {
  return typeof x === "number" && Number.isFinite(x) ? String(Number(x.toPrecision(n))) : "–";
}

/* Days since 1970 as a date. */
export function day(days) {
  return Math.abs(days) < 1e8 ? new Date(Math.round(days) * 86400000).toISOString().replace(/T.*/, "") : digits(days);
}

/* How long ago a time was, or the time itself after a day. */
export function ago(time, now = Date.now()) {
  const at = typeof time === "number" ? time * 1000 : Date.parse(time);
  if (!Number.isFinite(at)) return "";
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(at).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
}
