/* Server-sent events from chunks of text, as the HTML standard describes them. */

export class EventParser {
  constructor(receive) {
    this.receive = receive;
    this.buffer = "";
    this.reset();
  }

  reset() {
    this.name = "message";
    this.data = [];
  }

  /* Take a chunk; complete events are passed on. */
  push(chunk) {
    this.buffer += chunk;
    const endsInReturn = this.buffer.endsWith("\r");  // a line feed may follow in the next chunk
    const lines = (endsInReturn ? this.buffer.slice(0, -1) : this.buffer).split(/\r\n|\r|\n/);
    this.buffer = lines.pop() + (endsInReturn ? "\r" : "");
    for (const line of lines) this.line(line);
  }

  line(line) {
    if (line === "") {
      if (this.data.length) this.receive({ name: this.name, data: this.data.join("\n") });
      this.reset();
    } else if (!line.startsWith(":")) {
      const at = line.indexOf(":");
      const field = at < 0 ? line : line.slice(0, at);
      const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
      if (field === "event") this.name = value;
      if (field === "data") this.data.push(value);
    }
  }
}
