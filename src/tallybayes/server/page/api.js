/* The API: requests with the key of the user, problems as errors, server-sent events with reconnection. */

import { EventParser } from "./logic/event_stream.js";

const KEY = "tallybayes-key";  // in the storage of this tab only; there are no cookies

/* An answer that reports an error, with its facts. */
export class Problem extends Error {
  constructor(status, facts) {
    super(facts.detail || facts.title || `status ${status}`);
    Object.assign(this, { title: "", expected: null, got: null, hint: null, column: null, row: null }, facts, { status });
  }
}

export class Api {
  constructor() {
    this.askForKey = async () => false;  // set by the page
    this.needsKey = false;
  }

  get key() { return sessionStorage.getItem(KEY) ?? ""; }
  set key(value) { if (value) sessionStorage.setItem(KEY, value); else sessionStorage.removeItem(KEY); }

  headers(more = {}) {
    return this.key ? { Authorization: `Bearer ${this.key}`, ...more } : more;
  }

  /* The answer of a path; asks for a key if one is needed. The page shows how many answers it waits for. */
  async fetch(path, options = {}) {
    this.waiting(1);
    try { return await this.answer(path, options); } finally { this.waiting(-1); }
  }

  waiting(step) {
    this.n = (this.n ?? 0) + step;
    document.documentElement.dataset.waiting = String(this.n);
  }

  async answer(path, options) {
    let answer;
    for (;;) {
      const used = this.key;
      try {
        answer = await fetch(path, { ...options, headers: this.headers(options.headers) });
      } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new Problem(0, { title: "The server does not answer", detail: "The server cannot be reached.", hint: "is `tally serve` still running? Nothing was lost: try again" });
      }
      if (answer.status !== 401) break;
      this.needsKey = true;
      if (used === this.key && !(await this.askForKey())) break;
    }
    if (answer.ok || answer.status === 304) return answer;
    let facts = { title: answer.statusText };
    try { facts = await answer.json(); } catch { /* an answer of a proxy, without facts */ }
    throw new Problem(answer.status, facts);
  }

  async get(path, options = {}) {
    return (await this.fetch(path, options)).json();
  }

  async send(path, body, { method = "POST", signal = null, headers = {} } = {}) {
    const options = { method, signal, headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) };
    return (await this.fetch(path, options)).json();
  }

  /* A file to be saved by the browser; through fetch, because a link cannot send a key. */
  async save(path, name) {
    const blob = await (await this.fetch(path)).blob();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  /* Receive events until the function returned is called; EventSource cannot send a key, so this reads a stream. */
  listen(path, receive, report) {
    const stop = new AbortController();
    this.keepListening(path, receive, report, stop.signal);
    return () => stop.abort();
  }

  async keepListening(path, receive, report, signal) {
    let pause = 500;
    while (!signal.aborted) {
      try {
        const answer = await fetch(path, { headers: this.headers({ Accept: "text/event-stream" }), signal });
        if (!answer.ok) throw new Problem(answer.status, {});
        report(true);
        pause = 500;
        const parser = new EventParser(({ name, data }) => receive(name, JSON.parse(data)));
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
          const { value, done } = await reader.read();
          if (done) break;
          parser.push(value);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error.status === 404 || error.status === 403) { report(false); return; }
      }
      report(false);
      await new Promise((wake) => setTimeout(wake, pause));
      pause = Math.min(pause * 2, 15_000);
    }
  }
}

/* A new key for a change, so that a repeated request is applied once. */
export function changeKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
