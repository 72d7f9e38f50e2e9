/* Examples of calling the API with the address, the model and a row of the user. */

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/* Python source of plain values. */
export function pythonValue(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}: ${pythonValue(v)}`).join(", ")}}`;
  return JSON.stringify(value);
}

/* The examples by language: [{language, title, code}]. */
export function codeExamples({ address, model, row, label, answer, needsKey }) {
  const url = `${address}/v1/models/${encodeURIComponent(model)}`;
  const labelled = { ...row, [label ?? "label"]: answer };
  const key = needsKey ? ` \\\n  -H "Authorization: Bearer $TALLYBAYES_KEY"` : "";
  const curl = (verb, body, more = "") =>
    `curl -s ${url}/${verb}${key}${more} \\\n  -H 'Content-Type: application/json' \\\n  -d ${quoted(JSON.stringify(body))}`;
  const idempotent = ` \\\n  -H "Idempotency-Key: $(uuidgen)"`;
  const withKey = needsKey ? `, key=os.environ["TALLYBAYES_KEY"]` : "";
  const headers = needsKey ? `{ "Content-Type": "application/json", Authorization: \`Bearer \${key}\` }` : `{ "Content-Type": "application/json" }`;
  return [
    { language: "curl", title: "Predict", code: curl("predict", { rows: [row] }) },
    { language: "curl", title: "Learn a correction", code: curl("learn", { rows: [labelled] }, idempotent) },
    { language: "curl", title: "A whole CSV file", code: `curl -s ${url}/predict${key} \\\n  -H 'Content-Type: text/csv' --data-binary @new.csv` },
    {
      language: "Python", title: "The client of this package",
      code: [
        ...(needsKey ? ["import os", ""] : []),
        "from tallybayes.client import Client", "",
        `client = Client(${JSON.stringify(address)}${withKey}, model=${JSON.stringify(model)})`,
        `row = ${pythonValue(row)}`,
        "print(client.predict([row]))",
        "print(client.explain_as_dicts([row])[0])",
        `learned = client.learn([{**row, ${JSON.stringify(label ?? "label")}: ${pythonValue(answer)}}])`,
        "client.undo(learned.event)",
      ].join("\n"),
    },
    {
      language: "JavaScript", title: "fetch",
      code: [
        `const answer = await fetch(${JSON.stringify(`${url}/predict`)}, {`,
        `  method: "POST",`,
        `  headers: ${headers},`,
        `  body: JSON.stringify({ rows: [${JSON.stringify(row)}] }),`,
        `});`,
        `console.log((await answer.json()).predictions);`,
      ].join("\n"),
    },
  ];
}
