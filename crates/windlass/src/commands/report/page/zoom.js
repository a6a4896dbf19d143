"use strict";
// Zooms the charts of each connection together. Curves are read back from their paths, whose
// coordinates are places on a grid: from the left, and from the top.
const GRID = 8388608;
// Beyond this the grid itself shows.
const CLOSEST = 1 / 20000;
// A bound that is more times as high leaves no room for what it bounds.
const NEAR = 2.5;
// Points above the area are drawn at this height.
const BEYOND = -250 * GRID;
const STEP = 1.6;
const MOVE = 0.25;

// The points of a path, which has moves, and steps across and down.
function points(path) {
  const xs = [], ys = [];
  let x = 0, y = 0;
  for (const [, step, one, two] of path.getAttribute("d").matchAll(/([MmhvV])(-?\d+)(?: ?(-?\d+))?/g)) {
    if (step === "M") [x, y] = [+one, +two];
    else if (step === "m") [x, y] = [x + +one, y + +two];
    else if (step === "h") x += +one;
    else if (step === "V") y = +one;
    else y += +one;
    xs.push(x);
    ys.push(y);
  }
  return { xs, ys };
}

// The packets of a connection: where they are on the grid, and their numbers.
function numbers(text) {
  const xs = [], firsts = [], lasts = [];
  let x = 0, first = 0;
  for (const word of text.split(" ")) {
    const [across, step, more] = word.split(",").map(Number);
    x += across;
    first += step;
    xs.push(x);
    firsts.push(first);
    lasts.push(first + (more ?? 0));
  }
  return { xs, firsts, lasts };
}

// The last place in a sorted list that is not behind x, or the first.
function lastBefore(xs, x) {
  let [low, high] = [0, xs.length];
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  return low;
}

// Values between two at even steps of 1, 2, 2.5 or 5 times a power of ten.
function ticks(low, high, most) {
  const rough = (high - low) / most;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((one) => one * unit >= rough * 0.999) * unit;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) {
    found.push(at * step);
  }
  return { found, step };
}

// Values between two of which both are above zero: 1, 2 and 5 times each power of ten.
function decades(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const part of [1, 2, 5]) {
      const value = part * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  return found;
}

const UNITS = {
  time: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]],
  bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
  rate: [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]],
  bits: [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]],
};

// A value with as many places as tell it from one that is a step away.
function named(value, step, unit) {
  const units = UNITS[unit];
  const size = Math.max(Math.abs(value), step);
  const [scale, name] = units.find(([scale]) => size >= scale * 0.9995) ?? units[units.length - 1];
  const places = Math.max(0, Math.min(9, 1 - Math.floor(Math.log10(step / scale) + 1e-9)));
  return `${+(value / scale).toFixed(places)} ${name}`;
}

function label(text, side, share, edges) {
  const span = document.createElement("span");
  span.textContent = text;
  span.style[side] = `${share * 100}%`;
  if (edges && share < 0.03) span.className = "begin";
  if (edges && share > 0.94) span.className = "end";
  return span;
}

class Chart {
  constructor(figure) {
    this.figure = figure;
    this.frame = figure.querySelector(".frame");
    this.area = figure.querySelector(".area");
    this.grid = this.area.querySelector(".grid");
    this.xs = figure.querySelector(".xs");
    this.ys = figure.querySelector(".ys");
    this.band = figure.querySelector(".band svg");
    this.letters = [...figure.querySelectorAll(".letters span")];
    this.reading = figure.querySelector(".reading");
    this.unit = figure.dataset.unit;
    this.top = +figure.dataset.top;
    // Above zero the values go by their logarithm.
    this.low = +figure.dataset.low;
    this.floats = figure.dataset.floats === "true";
    this.lines = null;
    this.whole = [this.grid.getAttribute("d"), this.xs.innerHTML, this.ys.innerHTML];
    this.over = document.createElement("div");
    this.over.className = "over";
    this.line = document.createElement("div");
    this.line.className = "line";
    this.line.hidden = true;
    this.over.append(this.line);
    this.frame.append(this.over);
  }

  // The value at a place on the grid, and the place of a value.
  value(y) {
    const up = 1 - y / GRID;
    return this.low > 0 ? this.low * (this.top / this.low) ** up : up * this.top;
  }

  down(value) {
    const up = this.low > 0
      ? Math.log(value / this.low) / Math.log(this.top / this.low) : value / this.top;
    return (1 - up) * GRID;
  }

  // Read when they are first needed: a page may have many.
  curves() {
    this.lines ??= [...this.area.querySelectorAll("[data-name]")].map((path) => ({
      name: path.dataset.name, isLevel: path.dataset.level === "true",
      isBound: path.dataset.bound === "true", ...points(path),
    }));
    return this.lines;
  }

  // The highest and the lowest place of what is in view. A bound counts where it is near.
  reach(from, to) {
    let [head, foot] = this.ends(from, to, this.curves().filter((line) => !line.isBound));
    const bounds = this.ends(from, to, this.curves().filter((line) => line.isBound));
    if (head > foot) [head, foot] = bounds[0] > bounds[1] ? [0, GRID] : bounds;
    if (!this.floats) foot = GRID;
    if (bounds[0] < head && foot - bounds[0] < (foot - head) * NEAR) head = bounds[0];
    const room = Math.max((foot - head) * 0.05, 64);
    return [head - room, this.floats ? foot + room : foot];
  }

  ends(from, to, lines) {
    let head = Infinity, foot = -Infinity;
    const see = (y) => { head = Math.min(head, y); foot = Math.max(foot, y); };
    for (const { xs, ys, isLevel } of lines) {
      let before = null;
      for (let at = 0; at < xs.length; at += 1) {
        if (xs[at] < from) before = ys[at];
        else if (xs[at] <= to) see(ys[at]);
      }
      if (isLevel && before !== null) see(before);
    }
    return [head, foot];
  }

  show(from, to, span) {
    const isWhole = from === 0 && to === GRID;
    const [head, foot] = isWhole ? [0, GRID] : this.reach(from, to);
    this.view = { from, to, head, foot };
    this.area.setAttribute("viewBox", `${from} ${head} ${to - from} ${foot - head}`);
    this.band?.setAttribute("viewBox", `${from} 0 ${to - from} 1`);
    const wide = this.area.getBoundingClientRect().width;
    for (const letter of this.letters) {
      const [begin, end] = [Math.max(from, +letter.dataset.from), Math.min(to, +letter.dataset.to)];
      const share = (end - begin) / (to - from);
      letter.hidden = share * wide < 14;
      letter.style.left = `${((begin + end) / 2 - from) / (to - from) * 100}%`;
    }
    if (isWhole) {
      [this.grid.attributes.d.value, this.xs.innerHTML, this.ys.innerHTML] = this.whole;
      return;
    }
    const time = (x) => x / GRID * span;
    const across = ticks(time(from), time(to), Math.max(2, Math.floor(wide / 110)));
    this.xs.replaceChildren(...across.found.map((at) =>
      label(named(at, across.step, "time"), "left", (at / span * GRID - from) / (to - from), true)));
    const up = ticks(this.value(foot), this.value(head), 5);
    const round = this.low > 0 ? decades(this.value(foot), this.value(head)) : [];
    const values = round.length > 2 ? round : up.found.filter((at) => at > 0 || !this.low);
    const step = (at) => round.length > 2 ? at : up.step;
    this.ys.replaceChildren(...values.map((at) => label(named(at, step(at), this.unit), "bottom",
      (foot - this.down(at)) / (foot - head), false)));
    this.grid.setAttribute("d", [
      ...values.map((at) => `M${from} ${this.down(at)}h${to - from}`),
      ...across.found.map((at) => `M${at / span * GRID} ${head}v${foot - head}`),
    ].join(""));
  }

  // The place on the grid under the pointer.
  place(event) {
    const box = this.area.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return this.view.from + share * (this.view.to - this.view.from);
  }

  // Draws a line at a place, and says what the curves have there; `packet` are words.
  read(x, span, packet) {
    const step = (this.view.to - this.view.from) / GRID * span / 500;
    const said = [`at ${named(x / GRID * span, step, "time")}`, packet];
    for (const { name, xs, ys, isLevel } of this.curves()) {
      if (!isLevel || xs[0] > x) continue;
      const y = ys[lastBefore(xs, x)];
      if (y <= BEYOND) continue;
      const value = this.value(y);
      const bits = this.unit === "rate" ? ` = ${named(value * 8, this.top / 1e4, "bits")}` : "";
      said.push(`${name} ${named(value, this.top / 1e4, this.unit)}${bits}`);
    }
    this.reading.textContent = said.filter(Boolean).join(" · ");
    this.line.hidden = false;
    this.line.style.left = `${(x - this.view.from) / (this.view.to - this.view.from) * 100}%`;
  }

  leave() {
    this.reading.textContent = "";
    this.line.hidden = true;
  }
}

function connect(section) {
  const charts = [...section.querySelectorAll(".chart")].map((figure) => new Chart(figure));
  const span = +section.dataset.span;
  let packets = null;
  // The packet that is nearest to a place; of those that are drawn as one, all.
  const packet = (x) => {
    packets ??= numbers(section.dataset.packets);
    let at = lastBefore(packets.xs, x);
    if (packets.xs[at + 1] - x < x - packets.xs[at]) at += 1;
    const [first, last] = [packets.firsts[at], packets.lasts[at]];
    if (Number.isNaN(first)) return "";
    const count = (number) => number.toLocaleString("en");
    return last > first ? `packets ${count(first)} to ${count(last)}` : `packet ${count(first)}`;
  };
  let from = 0, to = GRID;
  const show = (begin, end) => {
    const wide = Math.min(GRID, Math.max(end - begin, GRID * CLOSEST));
    from = Math.min(Math.max(0, begin), GRID - wide);
    to = from + wide;
    for (const chart of charts) chart.show(from, to, span);
  };
  const zoom = (by, at = (from + to) / 2) => show(at - (at - from) * by, at + (to - at) * by);
  const move = (by) => show(from + (to - from) * by, to + (to - from) * by);
  const done = {
    in: () => zoom(1 / STEP), out: () => zoom(STEP),
    left: () => move(-MOVE), right: () => move(MOVE), all: () => show(0, GRID),
  };
  const keys = {
    "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right",
    0: "all", Home: "all", Escape: "all",
  };
  const controls = section.querySelector(".controls");
  controls.hidden = false;
  controls.addEventListener("click", (event) => done[event.target.dataset.zoom]?.());
  for (const chart of charts) {
    chart.frame.addEventListener("keydown", (event) => {
      const what = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
      if (!what) return;
      event.preventDefault();
      done[what]();
    });
    chart.area.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 1 / STEP : STEP, chart.place(event));
    }, { passive: false });
    let begin = null;
    const picked = document.createElement("div");
    picked.className = "picked";
    const pick = (end) => {
      const share = (x) => (x - from) / (to - from) * 100;
      picked.style.left = `${share(Math.min(begin, end))}%`;
      picked.style.width = `${Math.abs(share(end) - share(begin))}%`;
    };
    chart.area.addEventListener("pointerdown", (event) => {
      begin = chart.place(event);
      chart.area.setPointerCapture(event.pointerId);
    });
    chart.area.addEventListener("pointermove", (event) => {
      const at = chart.place(event);
      const words = packet(at);
      for (const each of charts) each.read(at, span, words);
      if (begin === null) return;
      pick(at);
      chart.over.append(picked);
    });
    chart.area.addEventListener("pointerup", (event) => {
      const end = chart.place(event);
      picked.remove();
      // A click is no stretch.
      if (begin !== null && Math.abs(end - begin) > (to - from) / 100) {
        show(Math.min(begin, end), Math.max(begin, end));
      }
      begin = null;
    });
    chart.area.addEventListener("pointercancel", () => { begin = null; picked.remove(); });
    chart.area.addEventListener("dblclick", done.all);
    chart.area.addEventListener("pointerleave", () => {
      for (const each of charts) each.leave();
    });
    chart.reading.hidden = false;
  }
  show(0, GRID);
}

addEventListener("DOMContentLoaded", () => {
  for (const section of document.querySelectorAll(".connection")) {
    if (section.querySelector(".chart")) connect(section);
  }
});
