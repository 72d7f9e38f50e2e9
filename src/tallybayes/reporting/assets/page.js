"use strict";
/* Draws the charts. The colours of text and lines are those of the style sheet, in light and dark mode. */
(() => {
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const narrow = matchMedia("(max-width: 44rem)");
  const pickers = [...document.querySelectorAll("[data-class-picker]")];
  const ink = "currentColor", soft = "var(--soft)", line = "var(--line)";
  const text = { labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500 };
  const others = "other classes", grey = "#888888", first = "#0072B2";
  let picked = pickers.length ? pickers[0].value : "";

  function config() {
    const small = narrow.matches;
    return {
      background: "transparent", font: "system-ui, sans-serif", aria: false,
      axis: { ...text, domainColor: soft, tickColor: soft, gridColor: line, labelOverlap: true, labelFlush: false },
      axisY: { labelLimit: 0, titleLimit: 220 },
      axisX: { titleLimit: small ? 280 : 500, tickCount: small ? 4 : 6, labelLimit: 320 },
      legend: { ...text, orient: "top", direction: "horizontal", symbolOpacity: 1 },
      view: { stroke: "transparent" },
    };
  }

  /* Every object within a specification, without its data. */
  function* parts(spec) {
    for (const [key, part] of Object.entries(spec)) {
      if (key === "datasets" || part === null || typeof part !== "object") continue;
      yield part;
      yield* parts(part);
    }
  }

  /* Long names beside an axis are wrapped. */
  function wrapped(spec) {
    const size = narrow.matches ? 20 : 30;
    const lines = `split(trim(replace(datum.label, regexp('(.{1,${size}})(?:\\\\s+|$)|(.{${size}})', 'g'), '$1$2\\n')), '\\n')`;
    for (const part of parts(spec)) {
      if (part.y && part.y.type === "nominal") part.y.axis = { ...part.y.axis, labelExpr: lines, labelOverlap: false, labelLineHeight: 13 };
    }
    return spec;
  }

  /* The chart of some classes: their rows, colours and dashes; of a single class, also of the other classes. */
  function ofClasses(spec) {
    const own = spec.usermeta && spec.usermeta.picks;
    if (!own) return spec;
    const has = (name) => Object.values(spec.datasets).some((rows) => rows.some((row) => row.class === name));
    const names = picked && has(picked) ? [picked] : own.filter(has);
    const single = names.length === 1, each = Math.max(2, Math.floor(20 / names.length));
    let beside = false;
    for (const [key, rows] of Object.entries(spec.datasets)) {
      spec.datasets[key] = rows.filter((row) => {
        if (row.of !== undefined) { beside ||= single && row.of === names[0]; return single && row.of === names[0]; }
        return row.class === undefined || (names.includes(row.class) && !(row.rank >= each));
      });
    }
    for (const part of parts(spec)) {
      const scale = part.scale;
      if (part.field !== "class" || !scale || !scale.domain) continue;
      const kept = scale.domain.map((name, i) => [name, scale.range[i]]).filter(([name]) => names.includes(name));
      if (single) kept.forEach((pair) => { if (pair[1] === grey) pair[1] = first; else if (pair[1].map) pair[1] = [1, 0]; });
      if (beside) kept.push([others, typeof scale.range[0] === "string" ? grey : [3, 2]]);
      part.scale = { domain: kept.map(([name]) => name), range: kept.map(([, value]) => value) };
    }
    return spec;
  }

  /* The height of a chart with a row for each name: Vega-Lite cannot fit the width of charts with steps. */
  function sized(spec) {
    if (!spec.height || !spec.height.step) return spec;
    const field = spec.encoding.y.field, names = new Set(spec.datasets[spec.data.name].map((row) => row[field]));
    spec.height = Math.max(spec.height.step * names.size, 20);
    return spec;
  }

  /* The legend of the classes as a list, in which long names are wrapped, instead of one in the chart. */
  function legend(spec, place) {
    const words = (spec.usermeta && spec.usermeta.words) || {}, list = document.createElement("ul");
    const entries = new Map();
    let title = "";
    for (const part of parts(spec)) {
      if (part.field !== "class" || !part.scale || !part.scale.domain || part.legend === null) continue;
      title = part.title || title;
      part.scale.domain.forEach((name, i) => {
        const value = part.scale.range[i], entry = entries.get(name) || {};
        entries.set(name, typeof value === "string" ? { ...entry, colour: value } : { ...entry, dash: value });
      });
      part.legend = null;
    }
    list.className = "legend";
    for (const [name, { colour, dash }] of entries) {
      const item = document.createElement("li"), sample = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      sample.setAttribute("aria-hidden", "true");
      sample.innerHTML = '<line x1="0" x2="26" y1="6" y2="6"/>';
      sample.firstChild.setAttribute("stroke", colour);
      sample.firstChild.setAttribute("stroke-width", dash ? "2.5" : "10");
      if (dash) sample.firstChild.setAttribute("stroke-dasharray", dash.join(" "));
      item.append(sample, words[name] || name);
      list.append(item);
    }
    if (title && entries.size) list.prepend(Object.assign(document.createElement("li"), { textContent: `${title}:` }));
    const before = place.previousElementSibling;
    if (before && before.classList.contains("legend")) before.remove();
    if (entries.size) place.before(list);
    return spec;
  }

  async function draw(ids) {
    for (const id of ids) {
      const place = document.getElementById(id);
      if (place.closest("details.fold:not([open])")) continue;  // drawn when it is opened
      const spec = legend(sized(wrapped(ofClasses(structuredClone(specs[id])))), place);
      const options = { renderer: "svg", actions: false, ast: true, config: config() };
      await vegaEmbed(place, spec, options);
    }
    document.documentElement.dataset.drawn = document.querySelectorAll(".chart svg").length;
  }

  const failed = (error) => console.error(error);
  narrow.addEventListener("change", () => draw(Object.keys(specs)).catch(failed));
  for (const fold of document.querySelectorAll("details.fold")) {
    fold.addEventListener("toggle", () => {
      if (fold.open) draw([...fold.querySelectorAll(".chart")].map((place) => place.id)).catch(failed);
    });
  }
  for (const picker of pickers) {
    picker.addEventListener("change", () => {
      picked = picker.value;
      for (const one of pickers) if ([...one.options].some((option) => option.value === picked)) one.value = picked;
      draw(Object.keys(specs).filter((id) => specs[id].usermeta)).catch(failed);
    });
  }
  draw(Object.keys(specs)).catch(failed);
})();
