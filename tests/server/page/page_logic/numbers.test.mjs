/* Numbers as text: run by node's test runner, from tests/server/test_page_modules.py. */
import assert from "node:assert/strict";
import { test } from "node:test";

const { DECIBANS, ago, brief, count, digits, oddsFactor, percent, plural, signed } = await import(`${process.env.PAGE}/logic/numbers.js`);

test("a factor of ten is ten decibans", () => assert.ok(Math.abs(Math.log(10) * DECIBANS - 10) < 1e-12));

test("a probability is never rounded to certainty", () => {
  assert.equal(percent(0.5), "50.0 %");
  assert.equal(percent(0.99999), "> 99.9 %");
  assert.equal(percent(1e-9), "< 0.1 %");
  assert.equal(percent(1), "100.0 %");
  assert.equal(percent(0), "0.0 %");
  assert.equal(percent(undefined), "–");
});

test("signs are shown, and a rounded zero is positive", () => {
  assert.equal(signed(-3.14), "−3.1");
  assert.equal(signed(-0.01), "+0.0");
  assert.equal(signed(-Infinity), "−∞");
  assert.equal(signed(7, 0), "+7");
});

test("log odds are factors", () => {
  assert.equal(oddsFactor(Math.log(12)), "× 12");
  assert.equal(oddsFactor(-Math.log(2)), "÷ 2");
  assert.equal(oddsFactor(0), "× 1");
  assert.equal(oddsFactor(Math.log(2.1e6)), "× 2.1·10⁶");
  assert.equal(oddsFactor(-Infinity), "÷ ∞");
});

test("counts have separators and nouns", () => {
  assert.equal(count(12345), "12,345");
  assert.equal(plural(1, "row"), "1 row");
  assert.equal(plural(2, "row"), "2 rows");
  assert.equal(brief(1234), "1,234");
  assert.equal(digits(0.123456), "0.1235");
  assert.equal(digits(null), "–");
});

test("times are told relative to now", () => {
  const now = Date.parse("2026-04-02T12:00:00Z");
  assert.equal(ago("2026-04-02T11:59:58Z", now), "now");
  assert.equal(ago("2026-04-02T11:59:20Z", now), "40 s ago");
  assert.equal(ago("2026-04-02T10:00:00Z", now), "2 h ago");
  assert.equal(ago("nonsense", now), "");
});
