"use strict";
// Shows the solutions at other penalties: the handle of the path, the slider below it, and the keys.
(() => {
  const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
  const COLOURS = 8;
  const SVG = "http://www.w3.org/2000/svg";
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const [points, centres, legend] = ["points", "centres", "legend"].map(find);
  let highlighted = null;

  const make = (name, attributes, parent) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  };

  // -- highlighting one cluster ---------------------------------------------------------------

  const highlight = (cluster) => {
    highlighted = cluster;
    for (const button of legend.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.dataset.cluster === cluster));
    for (const path of points.children)
      path.classList.toggle("dim", cluster !== null && path.dataset.cluster !== cluster);
  };
  legend?.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) highlight(highlighted === button.dataset.cluster ? null : button.dataset.cluster);
  });

  // -- the points of a solution ---------------------------------------------------------------

  const mark = (shape, size) => {
    const half = size / 2, reach = half + 0.5;
    return [
      "h0",
      `m0-${reach}l${half} ${size}h-${size}z`,
      `m-${half}-${half}h${size}v${size}h-${size}z`,
      `m0-${reach}l${reach} ${reach}-${reach} ${reach}-${reach}-${reach}z`,
    ][shape];
  };
  const kind = (number) => Math.floor(number / COLOURS) % 4;
  const classes = (number) =>
    `c${number % COLOURS} ${kind(number) === 0 ? "dots" : "shapes"}`;

  const decoded = (step) => {
    const labels = [];
    const width = step.width ?? data.width;
    for (let at = 0; at < step.labels.length; at += width) {
      let number = 0;
      for (let digit = 0; digit < width; digit++)
        number = number * ALPHABET.length + ALPHABET.indexOf(step.labels[at + digit]);
      labels.push(number);
    }
    return labels;
  };
  const draw = (step) => {
    if (!points || step.labels === null) return;
    const clusters = new Map();
    decoded(step).forEach((number, at) => {
      if (!clusters.has(number)) clusters.set(number, []);
      clusters.get(number).push(at);
    });
    const numbers = [...clusters.keys()].sort((a, b) => a - b);
    points.replaceChildren();
    centres.replaceChildren();
    const largestFirst = [...numbers].sort(
      (a, b) => clusters.get(b).length - clusters.get(a).length);
    for (const number of largestFirst) {
      const drawn = mark(kind(number), data.size);
      const d = clusters.get(number)
        .map((at) => `M${data.points[2 * at]} ${data.points[2 * at + 1]}${drawn}`).join("");
      make("path", { d, class: classes(number), "stroke-width": data.size,
                     "data-cluster": number }, points);
    }
    for (const [, x, y, ownX, ownY] of step.names.filter((name) => name.length > 3))
      make("path", { d: `M${ownX} ${ownY}L${x} ${y - data.line}`, class: "leader" }, centres);
    for (const [word, x, y] of step.names)
      make("text", { x, y, class: "centre", "text-anchor": "middle" }, centres).textContent = word;
    legend.replaceChildren(...numbers.slice(0, 40).map((number) => {
      const count = clusters.get(number).length.toLocaleString("en");
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.cluster = number;
      button.setAttribute("aria-label",
        `${legend.dataset.thing} ${number}, ${count} points: highlight it`);
      const name = document.createElement("span");
      name.className = "cluster";
      const glyph = make("svg", { viewBox: "0 0 20 20", class: "mark", "aria-hidden": "true" }, name);
      make("path", { d: `M10 10${mark(kind(number), 14)}`, class: classes(number),
                     "stroke-width": 14 }, glyph);
      name.append(String(number));
      const size = document.createElement("span");
      size.className = "count";
      size.textContent = count;
      button.append(name, size);
      return button;
    }));
    highlight(null);
  };

  // -- levels: other numbers of clusters with evidence ----------------------------------------

  const [chart, slider, shown, back, handle, levels] =
    ["path", "penalty", "shown", "back", "handle", "levels"].map(find);
  let current = data.fitted;

  const showLevel = (level) => { // null: none of them
    for (const button of levels?.querySelectorAll("[data-level]") ?? [])
      button.setAttribute("aria-pressed", String(Number(button.dataset.level) === level));
    for (const table of levels?.querySelectorAll("[data-table]") ?? [])
      table.hidden = level !== null && Number(table.dataset.table) !== level;
  };
  if (levels) {
    levels.querySelector("[role=group]").hidden = false;
    showLevel(data.level);
    levels.addEventListener("click", (event) => {
      const button = event.target.closest("[data-level]");
      if (!button) return;
      const level = Number(button.dataset.level);
      showLevel(level);
      draw(data.levels[level]);
      if (!data.steps) return;
      current = null;
      back.disabled = false;
      shown.textContent = `Level of ${data.levels[level].text}`;
    });
  }

  if (!data.steps) return;

  // -- penalties and solutions ----------------------------------------------------------------

  const [lowest, highest, begin, end] = data.scale;
  const limit = (number, low, high) => Math.min(Math.max(number, low), high);
  const part = (penalty) =>
    limit(Math.log(Math.max(penalty, lowest) / lowest) / Math.log(highest / lowest) || 0, 0, 1);
  const penaltyAt = (share) => lowest * (highest / lowest) ** share;
  const stepAt = (penalty) => {
    const gaps = data.steps.map((step) => step.high > step.low
      ? Math.max(0, Math.log(step.low / penalty), Math.log(penalty / step.high)) : Infinity);
    return gaps.indexOf(Math.min(...gaps));
  };
  const show = (at, penalty) => {
    const step = data.steps[at];
    const share = part(penalty);
    const told = `penalty ${Number((data.sign * penalty).toPrecision(3))}: ${step.text}`;
    slider.value = Math.round(1000 * share);
    slider.setAttribute("aria-valuetext", told);
    handle.setAttribute("transform", `translate(${begin + share * (end - begin)} 0)`);
    const fitted = at === data.fitted ? " (the fitted model)" : `, objective ${step.objective}`;
    shown.textContent = told[0].toUpperCase() + told.slice(1) + fitted;
    back.disabled = at === data.fitted;
    if (at !== current) {
      draw(step);
      showLevel(at === data.fitted ? data.level : null);
    }
    current = at;
  };
  const showStep = (at) => {
    const place = limit(at, 0, data.steps.length - 1);
    show(place, data.steps[place].at);
  };
  const showShare = (share) => {
    const penalty = penaltyAt(limit(share, 0, 1));
    show(stepAt(penalty), penalty);
  };

  slider.addEventListener("input", () => showShare(slider.value / 1000));
  slider.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: current - 1, ArrowDown: current - 1, ArrowRight: current + 1,
                    ArrowUp: current + 1, Home: 0, End: data.steps.length - 1,
                    PageDown: current - 5, PageUp: current + 5 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    showStep(moves[event.key]);
  });
  back.addEventListener("click", () => {
    showStep(data.fitted);
    slider.focus();
  });
  const drag = (event) => {
    const box = chart.getBoundingClientRect();
    const across = (event.clientX - box.left) / box.width * chart.viewBox.baseVal.width;
    showShare((across - begin) / (end - begin));
  };
  chart.addEventListener("pointerdown", (event) => {
    chart.setPointerCapture(event.pointerId);
    drag(event);
  });
  chart.addEventListener("pointermove", (event) => {
    if (chart.hasPointerCapture(event.pointerId)) drag(event);
  });
  chart.classList.add("live");
  find("slider").hidden = false;
  showStep(data.fitted);
})();
