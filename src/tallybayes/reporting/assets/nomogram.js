/* The nomogram, after nomogram_sum.js in one module: a ruler in log odds with a handle for every column, and the sum. Missing values add nothing. */
(() => {
  const holder = document.getElementById("nomogram-data");
  if (!holder) return;
  const data = JSON.parse(holder.textContent);
  const n = data.classes.length;
  const byId = (id) => document.getElementById(id);
  const model = prepared(data), { prior, rulers } = model;
  let rest = null;

  const adds = (ruler) => contribution(ruler, n);

  function odds(row, a, b) {
    return row[a] === -Infinity && row[b] === -Infinity ? 0 : row[a] - row[b];
  }

  function total() {
    const sums = score(model);
    return rest ? sums.map((value, c) => value + rest[c]) : sums;
  }

  /* The positions of a handle, in the order of the arrow keys. */
  function places(ruler, a, b) {
    if (ruler.kind === "choice") {
      const all = ruler.marks.map((mark, i) => ({ at: i, text: mark, odds: odds(ruler.adds[i], a, b) }));
      all.push({ at: null, text: "missing", odds: odds(adds({ ...ruler, at: null }), a, b) });
      return all.sort((x, y) => x.odds - y.odds);
    }
    if (ruler.kind === "words") return [];
    return (ruler.inside || ruler.marks).map((at, i) => ({ at, text: ruler.dates ? day(at) : brief(at, 4), odds: odds(ruler.adds[i], a, b) }));
  }

  function brief(x, digits = 6) { return String(Number(x.toPrecision(digits))); }
  function day(days) { return Math.abs(days) < 1e8 ? new Date(Math.round(days) * 86400000).toISOString().replace(/T.*/, "") : brief(days); }
  function signed(x) {
    if (!Number.isFinite(x)) return x > 0 ? "+\u221e" : "\u2212\u221e";
    return (x < 0 ? "\u2212" : "+") + Math.abs(x).toFixed(2);
  }
  function percent(p) {
    const shown = 100 * p;
    if (shown > 99.95 && p < 1) return "> 99.9 %";
    return shown > 0 && shown < 0.05 ? "< 0.1 %" : shown.toFixed(1) + "\u00a0%";
  }

  /* Building the page */

  const NS = "http://www.w3.org/2000/svg";
  function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  function draw(name, attributes, text) {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }
  function option(value, text) { return make("option", { value }, text); }

  const rowChoice = byId("nomogram-row"), forChoice = byId("nomogram-for"), againstChoice = byId("nomogram-against");
  const list = byId("nomogram-rulers");
  rowChoice.append(option("", "none"), ...data.rows.map((row, i) => option(i, row.name)));
  for (const choice of [forChoice, againstChoice]) choice.append(...data.classes.map((name, i) => option(i, name)));
  forChoice.value = String(data.start[0]);
  againstChoice.value = String(data.start[1]);

  const scale = draw("svg", { height: 24, "aria-hidden": "true" });
  list.append(make("div", { class: "ruler scale" }, make("div", { class: "set soft" }, "log odds"), scale, make("span", { class: "adds soft" }, "adds")));

  rulers.forEach((ruler, i) => {
    const id = `ruler-${i}`;
    const set = make("div", { class: "set" });
    ruler.box = make("div", { class: "ruler off", "data-kind": ruler.kind });
    ruler.svg = draw("svg", { height: 46 });
    ruler.output = make("output", { class: "adds", "aria-label": `${ruler.name} adds` });
    if (ruler.kind === "choice") {
      ruler.select = make("select", { id });
      ruler.select.append(option("", "missing"), ...ruler.marks.map((mark, j) => option(j, mark)));
      ruler.select.addEventListener("change", () => put(ruler, ruler.select.value === "" ? null : Number(ruler.select.value)));
      set.append(make("label", { for: id, class: "name" }, ruler.name), ruler.select);
    } else if (ruler.kind === "words") {
      const chips = make("fieldset", { class: "chips" }, make("legend", {}, `${ruler.name}: words${ruler.approximate ? " (approximately additive)" : ""}`));
      ruler.boxes = ruler.marks.map((mark, j) => {
        const box = make("input", { type: "checkbox" });
        box.addEventListener("change", () => {
          const words = ruler.boxes.flatMap((one, k) => (one.checked ? [k] : []));
          put(ruler, words.length ? words : null);
        });
        chips.append(make("label", {}, box, mark));
        return box;
      });
      ruler.quote = make("blockquote", { hidden: "" });
      set.append(chips, ruler.quote);
    } else {
      ruler.number = make("input", { id, type: "number", step: "any", placeholder: "missing" });
      ruler.number.addEventListener("input", () => {
        const x = ruler.number.valueAsNumber;
        put(ruler, Number.isFinite(x) ? x : null);
      });
      ruler.range = make("input", { type: "range", min: 0, max: ruler.marks.length - 1, step: 1, "aria-label": `${ruler.name}, slider` });
      ruler.range.value = String((ruler.marks.length - 1) >> 1);
      ruler.range.addEventListener("input", () => put(ruler, places(ruler, ...sides())[Number(ruler.range.value)].at));
      set.append(make("label", { for: id, class: "name" }, ruler.name), make("div", { class: "pair" }, ruler.number, ruler.range));
    }
    ruler.box.append(set, ruler.svg, ruler.output);
    list.append(ruler.box);
    ruler.svg.addEventListener("pointerdown", (event) => hold(ruler, event));
    ruler.svg.addEventListener("pointermove", (event) => { if (ruler.held) drag(ruler, event); });
    ruler.svg.addEventListener("click", (event) => drag(ruler, event));
    for (const end of ["pointerup", "pointercancel"]) ruler.svg.addEventListener(end, () => { ruler.held = false; });
    ruler.svg.addEventListener("keydown", (event) => key(ruler, event));
  });

  function sides() { return [Number(forChoice.value), Number(againstChoice.value)]; }

  function put(ruler, at) {
    ruler.at = at;
    rowChoice.value = "";
    show(ruler);
  }

  /* A touch beside the handle may be a scroll gesture: then only a tap moves the handle. */
  function hold(ruler, event) {
    const handle = ruler.svg.querySelector(".handle").getBoundingClientRect();
    if (event.pointerType === "touch" && Math.abs(event.clientX - handle.left - handle.width / 2) > 28) return;
    ruler.held = true;
    ruler.svg.setPointerCapture(event.pointerId);
  }

  function drag(ruler, event) {
    const all = places(ruler, ...sides());
    if (!all.length) return;
    const wanted = ruler.value((event.clientX - ruler.svg.getBoundingClientRect().left));
    const here = current(ruler, all);
    let best = 0, cost = Infinity;
    all.forEach((place, i) => {
      const own = Math.abs(clamp(place.odds) - wanted) + 1e-4 * Math.abs(i - here);  // of equal ones the nearest
      if (own < cost) { best = i; cost = own; }
    });
    put(ruler, all[best].at);
    event.preventDefault();
  }

  function current(ruler, all) {
    if (ruler.kind === "choice") return all.findIndex((place) => place.at === ruler.at);
    return ruler.at === null ? all.length >> 1 : stepOf(ruler.marks, ruler.at);
  }

  function key(ruler, event) {
    const all = places(ruler, ...sides());
    if (!all.length) return;
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
    let to = null;
    if (event.key in steps) to = current(ruler, all) + steps[event.key];
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = all.length - 1;
    else if (event.key === "Delete" || event.key === "Backspace") { put(ruler, null); event.preventDefault(); return; }
    if (to === null) return;
    put(ruler, all[Math.max(0, Math.min(all.length - 1, to))].at);
    event.preventDefault();
  }

  let reach = [-1, 1];
  function clamp(x) { return Math.max(reach[0], Math.min(reach[1], x)); }

  /* The common scale: every ruler has the same unit, so that lengths can be compared. */
  function rescale() {
    const [a, b] = sides();
    let low = -0.5, high = 0.5;
    for (const ruler of rulers) {
      const own = ruler.kind === "words" ? ruler.adds.map((row) => odds(row, a, b)) : places(ruler, a, b).map((place) => place.odds);
      if (ruler.kind === "words" && ruler.at) own.push(odds(adds(ruler), a, b));
      for (const value of own) if (Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
    }
    reach = [Math.max(low, -20), Math.min(high, 20)];
  }

  function colour(c) { return data.colours[c]; }

  const pad = 12;
  function across(svg) {
    const width = Math.max(svg.clientWidth || svg.parentElement.clientWidth, 120);
    return { width, x: (value) => pad + (clamp(value) - reach[0]) / (reach[1] - reach[0]) * (width - 2 * pad) };
  }

  function paintScale() {
    const { width, x } = across(scale), span = reach[1] - reach[0], most = width / 45;
    const step = [0.1, 0.2, 0.5, 1, 2, 5, 10].find((one) => span / one <= most) || 20;
    scale.replaceChildren(draw("line", { class: "track", x1: pad, x2: width - pad, y1: 20, y2: 20 }));
    scale.setAttribute("viewBox", `0 0 ${width} 24`);
    for (let i = Math.ceil(reach[0] / step); i * step <= reach[1]; i++) {
      const at = x(i * step), text = String(Number((i * step).toFixed(2))).replace("-", "\u2212");
      scale.append(draw("line", { class: "tick", x1: at, x2: at, y1: 16, y2: 24 }), draw("text", { x: at, y: 11, "text-anchor": "middle" }, text));
    }
  }

  function paint(ruler) {
    const [a, b] = sides(), svg = ruler.svg, { width, x } = across(svg);
    ruler.value = (left) => reach[0] + (left - pad) / (width - 2 * pad) * (reach[1] - reach[0]);
    const hadFocus = svg.contains(document.activeElement);
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} 46`);
    svg.append(draw("line", { class: "grid-line", x1: x(0), x2: x(0), y1: 0, y2: 30, "stroke-dasharray": "2 2" }));
    const all = ruler.kind === "words"
      ? ruler.marks.map((mark, i) => ({ text: mark, odds: odds(ruler.adds[i], a, b) })) : places(ruler, a, b);
    const values = all.map((place) => clamp(place.odds));
    const low = Math.min(0, ...values), high = Math.max(0, ...values);
    svg.append(draw("line", { class: "track", x1: x(low), x2: x(high), y1: 14, y2: 14 }));
    for (const place of all) svg.append(draw("line", { class: "tick", x1: x(place.odds), x2: x(place.odds), y1: 10, y2: 18 }));
    label(svg, ruler, all, x, width);
    const now = odds(adds(ruler), a, b);
    const handle = draw("g", { class: "handle", transform: `translate(${x(now)} 14)` });
    handle.append(draw("circle", { r: 16, fill: "transparent", stroke: "none" }),
      draw("circle", { class: "knob", r: 7.5, fill: now >= 0 ? colour(a) : colour(b) }));
    if (ruler.kind !== "words") {
      for (const [name, value] of Object.entries({
        role: "slider", tabindex: 0, "aria-label": ruler.name, "aria-valuemin": low.toFixed(2), "aria-valuemax": high.toFixed(2),
        "aria-valuenow": clamp(now).toFixed(2), "aria-valuetext": `${name_of(ruler)}, adds ${signed(now)}`,
      })) handle.setAttribute(name, value);
    }
    svg.append(handle);
    if (hadFocus) handle.focus({ preventScroll: true });
    ruler.output.textContent = signed(now);
    ruler.box.classList.toggle("off", ruler.at === null);
  }

  function name_of(ruler) {
    if (ruler.at === null) return "missing";
    return ruler.kind === "choice" ? ruler.marks[ruler.at] : ruler.dates ? day(ruler.at) : brief(ruler.at);
  }

  /* Labels where there is room: of the values that come first, and of those at the ends. */
  function label(svg, ruler, all, x, width) {
    const taken = [];
    let order = all.map((_, i) => i);
    if (ruler.kind === "choice") order.sort((i, j) => (all[i].at === null ? -1 : all[i].at) - (all[j].at === null ? -1 : all[j].at));
    if (ruler.kind === "steps" || ruler.kind === "curve") {
      const last = all.length - 1;
      order = [...new Set([0, last, ...[0.5, 0.25, 0.75, 0.1, 0.9].map((share) => Math.round(share * last))])];
    }
    for (const i of order) {
      const text = all[i].text.length > 18 ? all[i].text.slice(0, 17) + "\u2026" : all[i].text;
      const half = 3.1 * text.length + 3, at = Math.min(Math.max(x(all[i].odds), half), width - half);
      const line = [32, 43].find((y) => !taken.some((one) => one.y === y && Math.abs(one.at - at) < one.half + half));
      if (line === undefined) continue;
      taken.push({ at, half, y: line });
      svg.append(draw("text", { x: at, y: line, "text-anchor": "middle" }, text));
    }
  }

  function sync(ruler) {
    if (ruler.select) ruler.select.value = ruler.at === null ? "" : String(ruler.at);
    if (ruler.number) {
      if (document.activeElement !== ruler.number) ruler.number.value = ruler.at === null ? "" : String(ruler.at);
      if (ruler.at !== null) ruler.range.value = String(stepOf(ruler.marks, ruler.at));
      ruler.range.setAttribute("aria-valuetext", name_of(ruler));
    }
    if (ruler.boxes) {
      ruler.boxes.forEach((box, i) => { box.checked = Array.isArray(ruler.at) && ruler.at.includes(i); });
      const text = ruler.at && ruler.at.text;
      ruler.quote.hidden = !text;
      ruler.quote.textContent = text || "";
    }
  }

  const bars = data.classes.map((name, c) => {
    const bar = make("div", { class: "bar" }), value = make("span", { class: "p" });
    bar.style.background = colour(c);
    const item = make("li", {}, make("span", {}, name), make("div", { class: "track", "aria-hidden": "true" }, bar), value);
    byId("nomogram-bars").append(item);
    return { bar, value, item };
  });

  function showTotal() {
    const [a, b] = sides(), sums = total(), p = probabilities(model, sums), now = odds(sums, a, b);
    byId("nomogram-sum").textContent = signed(now);
    byId("nomogram-start").textContent = signed(odds(prior, a, b));
    byId("nomogram-p").textContent = percent(p[a]);
    byId("nomogram-p").dataset.p = p[a];
    const most = [...p.keys()].sort((c, d) => p[d] - p[c]).slice(0, 6);  // of many classes only the most probable
    bars.forEach(({ bar, value, item }, c) => {
      bar.style.width = `${100 * p[c]}%`;
      value.textContent = percent(p[c]);
      item.hidden = !most.includes(c);
    });
    for (const place of document.querySelectorAll("[data-nomogram-for]")) place.textContent = data.classes[a];
    for (const place of document.querySelectorAll("[data-nomogram-against]")) place.textContent = data.classes[b];
    byId("nomogram-rest").hidden = !rest || !data.others;
  }

  function show(ruler) { sync(ruler); paint(ruler); showTotal(); }
  function showAll() { rescale(); paintScale(); for (const ruler of rulers) { sync(ruler); paint(ruler); } showTotal(); }

  function load(row) {
    rest = row && data.others ? log(row.rest) : null;
    rulers.forEach((ruler, i) => {
      const at = row ? row.at[i] : null;
      ruler.at = at && at.adds ? { text: at.text, adds: log(at.adds) } : at;
    });
    showAll();
  }
  for (const button of document.querySelectorAll("button[data-row]")) {
    button.addEventListener("click", () => {
      rowChoice.value = button.dataset.row;
      [forChoice.value, againstChoice.value] = [button.dataset.for, button.dataset.against];
      load(data.rows[Number(button.dataset.row)]);
      byId("nomogram").scrollIntoView();
      rowChoice.focus({ preventScroll: true });
    });
  }
  rowChoice.addEventListener("change", () => { if (rowChoice.value !== "") load(data.rows[Number(rowChoice.value)]); });
  byId("nomogram-clear").addEventListener("click", () => { rowChoice.value = ""; load(null); });
  forChoice.addEventListener("change", () => {
    if (forChoice.value === againstChoice.value) againstChoice.value = String((Number(forChoice.value) + 1) % n);
    showAll();
  });
  againstChoice.addEventListener("change", () => {
    if (forChoice.value === againstChoice.value) forChoice.value = String((Number(againstChoice.value) + 1) % n);
    showAll();
  });
  let width = 0;
  new ResizeObserver(() => {
    if (list.clientWidth !== width) { width = list.clientWidth; showAll(); }
  }).observe(list);
  showAll();
})();
