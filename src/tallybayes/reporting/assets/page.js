"use strict";
/* Draws the charts. The colours of text and lines are those of the style sheet, in light and dark mode. */
(() => {
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const narrow = matchMedia("(max-width: 44rem)");
  const ink = "currentColor", soft = "var(--soft)", line = "var(--line)";
  const text = { labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500 };

  function config(width) {
    const small = narrow.matches, columns = Math.max(1, Math.round((width - 70) / 140));
    return {
      background: "transparent", font: "system-ui, sans-serif", aria: false,
      axis: { ...text, domainColor: soft, tickColor: soft, gridColor: line, labelOverlap: true, labelFlush: false },
      axisY: { labelLimit: small ? 130 : 190, titleLimit: 220 },
      axisX: { titleLimit: small ? 280 : 500, tickCount: small ? 5 : 8, labelLimit: small ? 80 : 140 },
      legend: {
        ...text, orient: "top", direction: "horizontal", columns, labelLimit: Math.max(60, (width - 70) / columns - 35),
        symbolOpacity: 1,
      },
      view: { stroke: "transparent" },
    };
  }

  async function draw() {
    for (const [id, spec] of Object.entries(specs)) {
      const place = document.getElementById(id);
      const options = { renderer: "svg", actions: false, ast: true, config: config(place.clientWidth) };
      await vegaEmbed(place, spec, options);
    }
    document.documentElement.dataset.drawn = Object.keys(specs).length;
  }

  narrow.addEventListener("change", draw);
  draw().catch((error) => console.error(error));
})();
