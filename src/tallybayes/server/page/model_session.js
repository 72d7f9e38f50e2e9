/* One model as the views use it: its facts, its columns, and the requests about it. */

import { changeKey } from "./api.js";
import { rowOf } from "./logic/row_values.js";

const PAUSE = 1000;  // milliseconds between two looks at the changes of others, however many there are

export class ModelSession {
  constructor(api, name) {
    this.api = api;
    this.name = name;
    this.base = `/v1/models/${encodeURIComponent(name)}`;
    this.listeners = new Set();
    this.hasIntervals = true;
    this.changing = Promise.resolve();  // ends when the changes of this tab are known
    this.taught = [];  // events of this tab, the latest last: what `u` takes back
  }

  async load() {
    [this.info, this.columns] = await Promise.all([this.api.get(this.base), this.api.get(`${this.base}/columns`)]);
    this.hasIntervals = this.columns.intervals;
    return this;
  }

  get label() { return this.info.label; }
  get classes() { return this.info.classes; }
  get fields() { return this.columns.columns; }
  get canTeach() { return !this.info.read_only && this.label !== null; }

  /* The position of a class, for its colour; classes that are new to the page come last. */
  place(label) {
    const found = this.classes.findIndex((one) => String(one) === String(label));
    return found < 0 ? this.classes.length : found;
  }

  row(given) { return rowOf(given, this.fields); }

  /* The explanation of a row with the interval of its probabilities, where the model has one. */
  async explain(row, signal = null) {
    const body = this.hasIntervals ? { rows: [row], interval: 0.95 } : { rows: [row] };
    return (await this.api.send(`${this.base}/explain`, body, { signal })).explanations[0];
  }

  /* Probabilities of many rows. */
  async predict(rows, signal = null) {
    return this.api.send(`${this.base}/predict`, { rows }, { signal });
  }

  /* Do a change; news of it by server-sent events wait until it is known here. */
  change(work) {
    const done = work();
    this.changing = Promise.allSettled([this.changing, done]);
    return done;
  }

  /* Teach the right label of a row; repeated with the same key if the connection breaks. */
  learn(row, label) { return this.change(() => this.sendLearn(row, label)); }

  async sendLearn(row, label) {
    const options = { headers: { "Idempotency-Key": changeKey() } };
    const body = { rows: [{ ...row, [this.label]: label }] };
    let applied;
    try {
      applied = await this.api.send(`${this.base}/learn`, body, options);
    } catch (error) {
      if (error.status !== 0) throw error;
      applied = await this.api.send(`${this.base}/learn`, body, options);
    }
    this.taught.push(applied.event);
    await this.changed(applied);
    return applied;
  }

  /* Take back an event, however old. */
  undo(event) { return this.change(() => this.sendUndo(event)); }

  async sendUndo(event) {
    const applied = await this.api.send(`${this.base}/undo`, { event }, { headers: { "Idempotency-Key": changeKey() } });
    this.taught = this.taught.filter((one) => one !== event);
    await this.changed(applied);
    return applied;
  }

  /* Read a file or a pasted text as rows. */
  async read(content, name = "", type = "") {
    const path = `${this.base}/read${name ? `?file=${encodeURIComponent(name)}` : ""}`;
    const options = { method: "POST", headers: { "Content-Type": type || "application/octet-stream" }, body: content };
    return (await this.api.fetch(path, options)).json();
  }

  async changed(applied) {
    this.info = await this.api.get(this.base);
    if (this.columns.version !== this.info.version && this.classes.length !== this.columns.classes.length) {
      this.columns = await this.api.get(`${this.base}/columns`);
    }
    for (const listener of this.listeners) listener({ version: applied.version, event: applied.event, own: true });
  }

  /* Call a function after every change that is published; returns what ends that. */
  onChange(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /* Follow the changes of others, by server-sent events; many in a second are looked at once. */
  follow(report) {
    let latest = null, last = 0, timer = 0;
    const look = async () => {
      timer = 0;
      last = Date.now();
      await this.changing;
      if (latest.version <= this.info.version) return;
      try { this.info = await this.api.get(this.base); } catch { return; }
      for (const listener of this.listeners) listener({ ...latest, own: false });
    };
    const stop = this.api.listen(`${this.base}/live`, (name, data) => {
      if (name !== "published") return;
      latest = data;
      if (!timer) timer = setTimeout(look, Math.max(0, last + PAUSE - Date.now()));
    }, report);
    return () => { stop(); clearTimeout(timer); };
  }
}
