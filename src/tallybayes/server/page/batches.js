/* Rows that wait for a label, by model. They are kept in the storage of the tab, so that a reload loses nothing. */

const LIMIT = 2_000_000;  // characters of the storage that a batch may take

export class Batches {
  constructor() {
    this.byModel = new Map();
    this.given = new Map();
  }

  examples(session) { return this.given.get(session.name) ?? []; }

  /* The rows that the server was started with become the first batch. */
  async loadExamples(session) {
    if (this.given.has(session.name)) return;
    const found = await session.api.get(`${session.base}/examples`).catch(() => ({ rows: [] }));
    this.given.set(session.name, found.rows);
    if (!this.of(session).length && !sessionStorage.getItem(this.place(session))) this.add(session, found.rows);
  }

  place(session) { return `tallybayes-batch-${session.name}`; }

  /* The entries of a model: {id, row, state: "open" | "done" | "skipped", label, event}. */
  of(session) {
    if (!this.byModel.has(session.name)) {
      let found = [];
      try { found = JSON.parse(sessionStorage.getItem(this.place(session)) ?? "[]"); } catch { /* damaged: begin anew */ }
      this.byModel.set(session.name, found);
    }
    return this.byModel.get(session.name);
  }

  add(session, rows) {
    const entries = this.of(session), first = Math.max(0, ...entries.map((entry) => entry.id)) + 1;
    rows.forEach((row, i) => entries.push({ id: first + i, row, state: "open", label: null, event: null }));
    this.save(session);
  }

  clear(session) {
    this.byModel.set(session.name, []);
    this.save(session);
  }

  save(session) {
    const text = JSON.stringify(this.of(session));
    try { if (text.length <= LIMIT) sessionStorage.setItem(this.place(session), text); } catch { /* the storage is full: memory has them */ }
  }
}
