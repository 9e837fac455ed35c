"use strict";
// Reckoning first, so that it can be tried without a page; drawing after it.
const laplaceDensity = (z, scale) => Math.exp(-Math.abs(z) / scale) / (2 * scale);
const laplaceMass = (k, scale) => { const p = Math.exp(-1 / scale); return (1 - p) / (1 + p) * p ** Math.abs(k); };
const laplaceVariance = (scale) => { const p = Math.exp(-1 / scale); return 2 * p / (1 - p) ** 2; };
const quotients = (f, x, h) => ({
  forward: (f(x + h) - f(x)) / h, backward: (f(x) - f(x - h)) / h, central: (f(x + h) - f(x - h)) / (2 * h),
});
const bestGuess = (epsilon) => 1 / (1 + Math.exp(-epsilon));
const halfInverse = (n) => { const c = [1]; for (let k = 1; k < n; k++) c.push(c[k - 1] * (2 * k - 1) / (2 * k)); return c; };
// A discrete Laplace draw, as the difference of two geometric ones; for show only: Math.random keeps no secret.
const laplaceDraw = (scale) => {
  const one = () => Math.floor(-Math.log(1 - Math.random()) * scale);
  return one() - one();
};
const normalDraw = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
const running = (values) => { let sum = 0; return values.map((v) => (sum += v)); };
const filtered = (c, z) => z.map((_, t) => { let s = 0; for (let k = 0; k <= t; k++) s += c[k] * z[t - k]; return s; });
if (typeof module !== "undefined") {
  module.exports = {laplaceDensity, laplaceMass, laplaceVariance, quotients, bestGuess, halfInverse, running, filtered};
}

const say = (words, ...values) => words.replace(/\{(\d)\}/g, (_, i) => values[i]);
const colour = (name) => `var(--${name})`;
const node = (parent, name, attributes, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    // Colours are variables of the style sheet, which attributes do not read.
    if (key === "stroke" || key === "fill") made.style[key] = value; else made.setAttribute(key, value);
  }
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
};

// One plot area inside an SVG that is as many units wide as it has pixels: letters keep their size on a phone.
class Plot {
  constructor(svg, {x, y, top = 10, height, left = 38, right = 12}) {
    this.svg = svg; this.x = x; this.y = y; this.left = left; this.top = top; this.bottom = top + height;
    this.right = svg.clientWidth - right;
  }
  px(v) { return this.left + (v - this.x[0]) / (this.x[1] - this.x[0]) * (this.right - this.left); }
  py(v) { return this.bottom - (v - this.y[0]) / (this.y[1] - this.y[0]) * (this.bottom - this.top); }
  axes(xs, ys, show = String) {
    for (const v of ys) {
      node(this.svg, "line", {x1: this.left, x2: this.right, y1: this.py(v), y2: this.py(v), class: "axis"});
      node(this.svg, "text", {x: this.left - 6, y: this.py(v) + 4, "text-anchor": "end", class: "faint"}, show(v));
    }
    for (const v of xs) {
      node(this.svg, "text", {x: this.px(v), y: this.bottom + 17, "text-anchor": "middle", class: "faint"}, String(v));
    }
  }
  line(points, stroke, more = {}) {
    const d = points.map(([a, b], i) => `${i ? "L" : "M"}${this.px(a).toFixed(2)},${this.py(b).toFixed(2)}`).join("");
    return node(this.svg, "path", {d, fill: "none", stroke, "stroke-width": 2, "stroke-linejoin": "round", ...more});
  }
  curve(f, stroke, more) {
    const n = 240;
    return this.line(Array.from({length: n + 1}, (_, i) => {
      const v = this.x[0] + (this.x[1] - this.x[0]) * i / n;
      return [v, f(v)];
    }), stroke, more);
  }
  dot(a, b, fill) { return node(this.svg, "circle", {cx: this.px(a), cy: this.py(b), r: 4.5, fill}); }
}

// Round numbers from 0 up to `most`, about three of them.
const ticks = (most) => {
  const rough = most / 3, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  return Array.from({length: Math.floor(most / step) + 1}, (_, i) => i * step);
};
const places = (values) => Math.max(0, Math.ceil(-Math.log10(values[1] || 1)));

const legend = (svg, x, y, entries) => entries.forEach(([words, stroke, dashed], i) => {
  if (i === 0) node(svg, "rect", {x: x - 6, y: y - 12, width: 150, height: 19 * entries.length + 6, fill: colour("sheet"), opacity: 0.75});
  const down = y + 19 * i;
  node(svg, "line", {x1: x, x2: x + 18, y1: down, y2: down, stroke, "stroke-width": 2.5, "stroke-dasharray": dashed || ""});
  node(svg, "text", {x: x + 25, y: down + 4}, words);
});

// A picture: its sliders' values, its reading, and a frame that can play. draw(picture) fills the emptied SVG.
class Picture {
  constructor(name, height, draw, {play, act} = {}) {
    this.figure = document.getElementById(name);
    this.svg = this.figure.querySelector("svg");
    this.height = height; this.draw = draw; this.play = play; this.state = {}; this.timer = 0;
    this.inputs = Object.fromEntries([...this.figure.querySelectorAll("input")].map((i) => [i.name, i]));
    for (const input of Object.values(this.inputs)) input.addEventListener("input", () => { this.stop(); this.show(); });
    for (const button of this.figure.querySelectorAll("button")) {
      button.addEventListener("click", () => {
        if (button.dataset.do === "play") this.timer ? this.stop() : this.start();
        else { act(this, button.dataset.do); this.show(); }
      });
    }
    new ResizeObserver(() => this.show()).observe(this.figure);
  }
  get(name) { return Number(this.inputs[name].value); }
  set(name, value) { this.inputs[name].value = value; }
  read(...lines) { this.figure.querySelector(".reading").replaceChildren(...lines.flatMap((l, i) => i ? [document.createElement("br"), l] : [l])); }
  show() {
    for (const input of Object.values(this.inputs)) input.nextElementSibling.textContent = Number(input.value).toFixed(input.step < 0.1 ? 2 : 1);
    const width = this.svg.clientWidth;
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    this.svg.style.height = `${this.height}px`;
    this.draw(this, this.svg, width);
  }
  start() {
    const begun = performance.now();
    this.button().textContent = WORDS.stop;
    const step = (now) => {
      const share = (now - begun) / 6000;
      this.play(this, Math.min(share, 1));
      this.show();
      if (share >= 1) this.stop(); else this.timer = requestAnimationFrame(step);
    };
    this.timer = requestAnimationFrame(step);
  }
  stop() {
    cancelAnimationFrame(this.timer);
    this.timer = 0;
    if (this.play) this.button().textContent = WORDS.play;
  }
  button() { return this.figure.querySelector("[data-do=play]"); }
  // Plays once when it first comes into view, unless the reader asked for less motion.
  once() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this;
    const seen = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) { seen.disconnect(); this.start(); }
    }, {threshold: 0.6});
    seen.observe(this.figure);
    return this;
  }
}

const pictures = () => {
  const cube = (x) => x ** 3;
  new Picture("quotient", 330, (picture, svg, width) => {
    const h = picture.get("h"), q = quotients(cube, 1, h);
    const plot = new Plot(svg, {x: [-0.1, 2.06], y: [-0.6, 8.8], height: 285});
    plot.axes([0, 0.5, 1, 1.5, 2], [0, 2, 4, 6, 8]);
    plot.curve(cube, colour("ink"), {"stroke-width": 1.6});
    plot.line([[0.8, 0.4], [2.06, 4.18]], colour("faint"), {"stroke-dasharray": "5 4", "stroke-width": 1.5});
    const secant = (a, b, stroke) => {
      const slope = (cube(b) - cube(a)) / (b - a), at = (x) => cube(a) + slope * (x - a);
      const from = Math.max(a - 0.15, -0.1), to = Math.min(b + 0.15, 2.06);
      plot.line([[from, at(from)], [to, at(to)]], stroke, {"stroke-width": 2.5});
      plot.dot(a, cube(a), stroke); plot.dot(b, cube(b), stroke);
    };
    secant(1 - h, 1, colour("green")); secant(1 - h, 1 + h, colour("orange")); secant(1, 1 + h, colour("blue"));
    plot.dot(1, 1, colour("ink"));
    legend(svg, 52, 26, [[WORDS.forward, colour("blue")], [WORDS.backward, colour("green")],
      [WORDS.central, colour("orange")], [WORDS.tangent, colour("faint"), "5 4"]]);
    picture.read(`h = ${h.toFixed(2)}`, ["forward", "backward", "central"].map((k) => `${WORDS[k]}\u00a0${q[k].toFixed(4)}`).join(" · "));
  }, {play: (picture, share) => picture.set("h", 100 ** -share)}).once();

  const people = [["Ross", 1], ["Monica", 1], ["Joey", 0], ["Phoebe", 0], ["Chandler", 1]];
  new Picture("patients", 190, (picture, svg, width) => {
    // What was counted at another epsilon says nothing of this one.
    if (picture.state.epsilon !== picture.get("epsilon")) Object.assign(picture.state, {epsilon: picture.get("epsilon"), tries: 0, right: 0, fresh: true});
    const {step = 3, chandler = 1, tries, right} = picture.state;
    const bits = people.map(([, bit], i) => i === 4 ? chandler : bit), gap = 8, w = (width - 4 * gap) / 5;
    people.forEach(([name], i) => {
      const x = i * (w + gap), hidden = i === 4 && step !== 3;
      node(svg, "rect", {x, y: 6, width: w, height: 58, rx: 8, fill: i === 4 ? "color-mix(in srgb, var(--orange) 16%, transparent)" : "transparent", stroke: i === 4 ? colour("orange") : colour("line")});
      node(svg, "text", {x: x + w / 2, y: 29, "text-anchor": "middle", style: width < 420 ? "font-size:11px" : ""}, name);
      node(svg, "text", {x: x + w / 2, y: 51, "text-anchor": "middle", style: "font-weight:600;font-size:15px"}, hidden && step > 0 ? "?" : bits[i]);
    });
    const brace = (count, y, words, stroke) => {
      const end = count * (w + gap) - gap;
      node(svg, "path", {d: `M1,${y} v9 H${end - 1} v-9`, fill: "none", stroke, "stroke-width": 2});
      node(svg, "text", {x: end / 2, y: y + 28, "text-anchor": "middle", style: "font-weight:600"}, words);
    };
    const four = bits.slice(0, 4).reduce((a, b) => a + b), five = four + chandler;
    let q5 = five, q4 = four;
    if (step === 4) {
      if (picture.state.fresh) { picture.state.n5 = laplaceDraw(2 / picture.get("epsilon")); picture.state.n4 = laplaceDraw(2 / picture.get("epsilon")); picture.state.fresh = false; }
      q5 += picture.state.n5; q4 += picture.state.n4;
    }
    if (step >= 1) brace(5, 76, `Q5 = ${q5}`, colour("blue"));
    if (step >= 2) brace(4, 126, `Q4 = ${q4}`, colour("green"));
    if (step >= 3) node(svg, "text", {x: 4 * (w + gap) + w / 2, y: 154, "text-anchor": "middle", style: "font-weight:700;font-size:15px", fill: colour("orange")}, `= ${q5 - q4}`);
    const lines = [[WORDS.rows], [say(WORDS.first, five)], [say(WORDS.second, four)], [say(WORDS.subtract, chandler)],
      [say(WORDS.noisy, q5, q4, q5 - q4, q5 - q4 > 0.5 ? WORDS.ill : WORDS.well)]][step];
    if (tries) lines.push(say(WORDS.tally, tries.toLocaleString("en"), (100 * right / tries).toFixed(1), (100 * bestGuess(picture.get("epsilon"))).toFixed(1)));
    picture.read(...lines);
  }, {act: (picture, what) => {
    const state = picture.state;
    if (what === "next") { state.step = ((state.step ?? 3) + 1) % 5; state.fresh = true; state.tries = state.right = 0; }
    if (what === "swap") { state.chandler = 1 - (state.chandler ?? 1); state.fresh = true; }
    if (what === "many") {
      const scale = 2 / picture.get("epsilon");
      Object.assign(state, {step: 4, fresh: true});
      for (let i = 0; i < 1000; i++) {
        const bit = Math.random() < 0.5;
        state.right += (Number(bit) + laplaceDraw(scale) - laplaceDraw(scale) > 0.5) === bit;
      }
      state.tries += 1000;
    }
  }, play: (picture, share) => {
    const step = Math.min(Math.floor(share * 5), 4), state = picture.state;
    if (step !== state.step) Object.assign(state, {step, fresh: true, tries: 0, right: 0});
  }}).once();

  new Picture("discrete", 290, (picture, svg) => {
    const scale = picture.get("lambda"), top = Math.max(laplaceDensity(0, scale), laplaceMass(0, scale)) * 1.12;
    const plot = new Plot(svg, {x: [-10.5, 10.5], y: [0, top], height: 245, left: 44});
    plot.axes([-10, -5, 0, 5, 10], ticks(top), (v) => v.toFixed(places(ticks(top))));
    for (let k = -10; k <= 10; k++) {
      const mass = laplaceMass(k, scale);
      plot.line([[k, 0], [k, mass]], colour("orange"), {"stroke-width": 3});
      plot.dot(k, mass, colour("orange"));
    }
    plot.curve((z) => laplaceDensity(z, scale), colour("blue"));
    picture.read(say(WORDS.density, laplaceDensity(0, scale).toFixed(4), (2 * scale * scale).toFixed(3)),
      say(WORDS.mass, laplaceMass(0, scale).toFixed(4), laplaceVariance(scale).toFixed(3)));
  }, {play: (picture, share) => picture.set("lambda", 0.4 + 3.6 * Math.sin(Math.PI * share) ** 2 + 1.6 * share)}).once();

  new Picture("laws", 440, (picture, svg) => {
    const z = picture.get("z"), distance = picture.get("distance"), scale = picture.get("scale");
    const one = (v) => laplaceDensity(v - 50, scale), two = (v) => laplaceDensity(v - 50 + distance, scale);
    const top = Math.max(laplaceDensity(0, scale) * 1.4, 0.05), bound = Math.abs(distance) / scale;
    const plot = new Plot(svg, {x: [42, 58], y: [0, top], height: 225, left: 44});
    plot.axes([42, 46, 50, 54, 58], ticks(top), (v) => v.toFixed(places(ticks(top))));
    plot.curve(one, colour("blue")); plot.curve(two, colour("orange"));
    legend(svg, 56, 24, [["f(D₁) = 50", colour("blue")], [`f(D₂) = ${(50 - distance).toFixed(1)}`, colour("orange")]]);
    const edge = Math.max(bound * 1.35, 0.4);
    const log = new Plot(svg, {x: [42, 58], y: [-edge, edge], top: 295, height: 115, left: 44});
    log.axes([], [-bound, 0, bound], (v) => v.toFixed(2));
    node(svg, "rect", {x: log.left, width: log.right - log.left, y: log.py(bound), height: Math.max(log.py(-bound) - log.py(bound), 1), fill: "color-mix(in srgb, var(--green) 14%, transparent)"});
    log.curve((v) => (Math.abs(v - 50 + distance) - Math.abs(v - 50)) / scale, colour("green"));
    node(svg, "text", {x: log.left + 4, y: log.top - 6, class: "faint"}, WORDS.log);
    const ratio = one(z) / two(z);
    for (const [p, low] of [[plot, 0], [log, -edge]]) {
      node(svg, "line", {x1: p.px(z), x2: p.px(z), y1: p.top, y2: p.bottom, class: "faintline", "stroke-dasharray": "3 3"});
    }
    plot.dot(z, one(z), colour("blue")); plot.dot(z, two(z), colour("orange")); log.dot(z, Math.log(ratio), colour("green"));
    picture.read(say(WORDS.ratio, z.toFixed(1), one(z).toFixed(4), two(z).toFixed(4), ratio.toFixed(3), bound.toFixed(2),
      Math.exp(-bound).toFixed(3), Math.exp(bound).toFixed(3)));
  }, {play: (picture, share) => {
    // The second law slides over the first and back to one apart, then z wanders.
    const slide = Math.min(share / 0.6, 1), wander = Math.max((share - 0.6) / 0.4, 0);
    picture.set("distance", 4 * Math.cos(Math.PI * 1.42 * slide) * (1 - slide) + slide);
    picture.set("z", 51 + 5 * Math.sin(2 * Math.PI * wander));
  }}).once();

  const n = 256, c = halfInverse(n), squares = c.reduce((s, v) => s + v * v, 0);
  const draw = (state) => {
    const z = Array.from({length: n}, normalDraw);
    state.paths = [Array.from({length: n}, () => Math.sqrt(n) * normalDraw()), running(z), filtered(c, z).map((v) => v * Math.sqrt(squares))];
  };
  new Picture("totals", 300, (picture, svg) => {
    if (!picture.state.paths) draw(picture.state);
    const plot = new Plot(svg, {x: [0, n], y: [-52, 52], height: 255, left: 44});
    plot.axes([0, 64, 128, 192, 256], [-40, -20, 0, 20, 40]);
    const names = ["each", "step", "half"], strokes = ["faint", "orange", "blue"];
    picture.state.paths.forEach((path, i) => plot.line(path.map((v, t) => [t, Math.max(-52, Math.min(52, v))]), colour(strokes[i]), {"stroke-width": i ? 2 : 0.8, opacity: i ? 1 : 0.65}));
    legend(svg, 56, 20, names.map((name, i) => [WORDS[name], colour(strokes[i])]));
    picture.read(say(WORDS.largest, ...picture.state.paths.map((p, i) => `${WORDS[names[i]]} ${Math.max(...p.map(Math.abs)).toFixed(1)}`)));
  }, {act: (picture) => draw(picture.state)});
};
if (typeof document !== "undefined") pictures();
