"use strict";
/* The threshold slider, and the confusion matrix of one class against the others. */
(() => {
  const holder = document.getElementById("threshold-data");
  if (!holder) return;
  const data = JSON.parse(holder.textContent);
  const which = document.getElementById("threshold-class");
  const slider = document.getElementById("threshold-slider");
  const put = (id, text) => { document.getElementById(id).textContent = text; };
  const count = (n) => n.toLocaleString("en");
  const share = (part, whole) => (whole ? (100 * part / whole).toFixed(1) + "\u00a0%" : "-");

  function digits(p) {
    if (p <= 0 || p >= 1) return String(p);
    return p < 0.01 || p > 0.99 ? p.toFixed(5) : p.toFixed(3);
  }

  function shade(id, part, whole, good) {
    const strength = whole ? (0.08 + 0.5 * part / whole).toFixed(3) : 0;
    document.getElementById(id).parentElement.style.background =
      good ? `rgb(0 158 115 / ${strength})` : `rgb(213 94 0 / ${strength})`;
  }

  function show() {
    const one = data.classes[Number(which.value)], i = Number(slider.value), t = data.thresholds[i];
    const tp = one.above[i], fp = one.others[i], fn = one.above[0] - tp, tn = one.others[0] - fp;
    const text = digits(t);
    put("threshold-value", text);
    slider.setAttribute("aria-valuetext", `probability ${text}`);
    put("tp", count(tp)); put("fp", count(fp)); put("fn", count(fn)); put("tn", count(tn));
    shade("tp", tp, tp + fn, true); shade("fn", fn, tp + fn, false);
    shade("fp", fp, fp + tn, false); shade("tn", tn, fp + tn, true);
    put("threshold-precision", share(tp, tp + fp));
    put("threshold-recall", share(tp, tp + fn));
    put("threshold-fpr", share(fp, fp + tn));
    put("threshold-accuracy", share(tp + tn, tp + tn + fp + fn));
    for (const place of document.querySelectorAll("[data-threshold-class]")) place.textContent = one.name;
    put("threshold-summary",
      `At a threshold of ${text}: ${count(fn)} false negatives, ${count(fp)} false positives, ` +
      `precision ${share(tp, tp + fp)}, recall ${share(tp, tp + fn)}.`);
    for (const listener of listeners) listener();
  }

  const listeners = [];
  window.tallyThreshold = {
    thresholds: data.thresholds, model: data.model, listeners, digits,
    chosen: () => data.classes[Number(which.value)],
    position: () => Number(slider.value),
    move: (i) => { slider.value = String(i); show(); },
    brief: (x) => String(Number(x.toPrecision(3))),
  };

  which.addEventListener("change", show);
  slider.addEventListener("input", show);
  show();
})();
