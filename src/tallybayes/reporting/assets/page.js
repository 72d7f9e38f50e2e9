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

  function config(width, longest) {
    const small = narrow.matches, columns = Math.max(1, Math.floor((width - 40) / (6.6 * longest + 45)));
    return {
      background: "transparent", font: "system-ui, sans-serif", aria: false,
      axis: { ...text, domainColor: soft, tickColor: soft, gridColor: line, labelOverlap: true, labelFlush: false },
      axisY: { labelLimit: 0, titleLimit: 220 },
      axisX: { titleLimit: small ? 280 : 500, tickCount: small ? 4 : 6, labelLimit: 220 },
      legend: { ...text, orient: "top", direction: "horizontal", columns, labelLimit: Math.max(60, width - 70), symbolOpacity: 1 },
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
      if (single) kept.forEach((pair) => { if (pair[1] === grey) pair[1] = first; });
      if (beside) kept.push([others, typeof scale.range[0] === "string" ? grey : [3, 2]]);
      part.scale = { domain: kept.map(([name]) => name), range: kept.map(([, value]) => value) };
    }
    return spec;
  }

  function longestName(spec) {
    let longest = 4;
    for (const part of parts(spec)) {
      if (!part.scale || !Array.isArray(part.scale.domain) || part.legend === null) continue;
      const more = part.legend && part.legend.labelExpr ? 12 : 0;
      for (const name of part.scale.domain) longest = Math.max(longest, String(name).length + more);
    }
    return longest;
  }

  async function draw(ids) {
    for (const id of ids) {
      const place = document.getElementById(id);
      if (place.closest("details.fold:not([open])")) continue;  // drawn when it is opened
      const spec = wrapped(ofClasses(structuredClone(specs[id])));
      const options = { renderer: "svg", actions: false, ast: true, config: config(place.clientWidth, longestName(spec)) };
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
