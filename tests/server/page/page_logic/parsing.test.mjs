/* Values, server-sent events, code examples and the sum of the nomogram: run by node's test runner. */
import assert from "node:assert/strict";
import { test } from "node:test";

const page = process.env.PAGE;
const { flagValue, rowOf, shownValue, tagList, titleOf, typedValue } = await import(`${page}/logic/row_values.js`);
const { EventParser } = await import(`${page}/logic/event_stream.js`);
const { codeExamples, pythonValue } = await import(`${page}/logic/code_examples.js`);
const { prepared, probabilities, score, stepOf } = await import(`${page}/logic/nomogram_sum.js`);

test("numbers are read with a point or a comma, other words are mistakes", () => {
  assert.equal(typedValue("number", " 4.5 "), 4.5);
  assert.equal(typedValue("number", "4,5"), 4.5);
  assert.equal(typedValue("number", ""), undefined);
  assert.ok(typedValue("number", "heavy") instanceof Error);
  assert.ok(typedValue("count", "1/0") instanceof Error);
});

test("texts keep their spaces, tags and bags are cut", () => {
  assert.equal(typedValue("text", " a "), " a ");
  assert.equal(typedValue("tags", "sun| fish |", "|"), "sun|fish");
  assert.deepEqual(typedValue("bag", "red: 2, blue"), { red: 2, blue: 1 });
  assert.deepEqual(tagList(["sun", " fish "]), ["sun", "fish"]);
});

test("flags are read whichever way they are written", () => {
  assert.deepEqual(["true", "No", 1, 0, false, "", null, "perhaps"].map(flagValue), [true, false, true, false, false, undefined, undefined, undefined]);
});

test("a row has the columns of the model that are not missing", () => {
  assert.deepEqual(rowOf({ kilos: 3, name: "Mimi", colour: null }, [{ name: "kilos" }, { name: "colour" }]), { kilos: 3 });
  assert.equal(titleOf({ kilos: 3, subject: "hello" }, [], "pet"), "hello");
  assert.equal(titleOf({ kilos: 3, pet: "cat" }, [], "pet"), "3");
  assert.equal(shownValue({ red: 2 }), "red: 2");
  assert.deepEqual([[null, null], [3, null], [], ["sun", "fish"]].map(shownValue), ["", "3, (missing)", "", "sun, fish"]);
});

test("events arrive whole, however their bytes are cut", () => {
  const text = ": hello\r\n\r\nevent: published\ndata: {\"version\":\ndata: 3}\n\ndata: x\r\r";
  for (let size = 1; size < 9; size++) {
    const found = [], parser = new EventParser((event) => found.push(event));
    for (let at = 0; at < text.length; at += size) parser.push(text.slice(at, at + size));
    parser.push("\n");
    assert.deepEqual(found, [{ name: "published", data: "{\"version\":\n3}" }, { name: "message", data: "x" }], `pieces of ${size}`);
  }
});

test("examples quote what a shell or a language would change", () => {
  const [curl, learn, , python, script] = codeExamples({ address: "http://127.0.0.1:8000", model: "my pets", row: { name: "it's", ok: true }, label: "pet", answer: "cat", needsKey: false });
  assert.match(curl.code, /my%20pets\/predict/);
  assert.match(curl.code, /it'\\''s/);
  assert.match(learn.code, /"pet":"cat"/);
  assert.match(python.code, /"ok": True/);
  assert.match(script.code, /JSON\.stringify/);
  assert.equal(pythonValue({ a: [null, false, 1.5] }), '{"a": [None, False, 1.5]}');
});

test("the sum of the nomogram is that of its rulers, calibrated", () => {
  const data = prepared({
    classes: ["a", "b"], prior: [Math.log(0.5), Math.log(0.5)], calibration: null, others: 0,
    rulers: [
      { name: "x", kind: "steps", marks: [null, 1, 2], adds: [[0, 0], [0, -1], [0, null]] },
      { name: "y", kind: "curve", marks: [0, 10], adds: [[0, 0], [0, -2]] },
      { name: "z", kind: "words", marks: ["w"], empty: [0, 0], adds: [[0, -1]] },
      { name: "m", kind: "choice", marks: ["no", "yes"], adds: [[0, 0], [0, 1]], missing: [0, -0.5] },
    ],
  });
  assert.equal(stepOf([null, 1, 2], 1.5), 1);
  const near = (found, expected) => assert.ok(Math.abs(found - expected) < 1e-12, `${found} is not ${expected}`);
  near(score(data)[1], Math.log(0.5) - 0.5);
  data.rulers[0].at = 1.5;
  data.rulers[1].at = 5;
  data.rulers[2].at = [0];
  data.rulers[3].at = 1;
  near(score(data)[1] - score(data)[0], -1 - 1 - 1 + 1);
  near(probabilities(data, score(data))[0], 1 / (1 + Math.exp(-2)));
  near(probabilities({ ...data, calibration: { temperature: 2 } }, score(data))[0], 1 / (1 + Math.exp(-1)));
  data.rulers[0].at = 3;
  assert.equal(probabilities(data, score(data))[1], 0);
});
