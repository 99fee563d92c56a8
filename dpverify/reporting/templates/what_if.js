"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const element = (name, attributes = {}, text = "") => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };
  const drawn = (name, attributes) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  // As given or computed, in full: bounds come with few digits that were rounded towards safety.
  const exactly = (v) => (typeof v === "number" && v !== 0 && (Math.abs(v) < 1e-3 || Math.abs(v) >= 1e6) ? v.toExponential() : String(v));
  const number = (v) => (v === "∞" ? Infinity : v);
  const up = (v, places) => Math.ceil(v * 10 ** places - 1e-9) / 10 ** places;

  class WhatIf {
    constructor(root, grid, prefix) {
      Object.assign(this, { grid, knobs: grid.knobs, prefix });
      this.values = grid.knobs.map((knob) => knob.values[knob.now]);
      const form = element("form", { class: "knobs" });
      form.addEventListener("submit", (event) => event.preventDefault());
      this.sliders = []; this.fields = [];
      grid.knobs.forEach((knob, i) => form.append(this.row(knob, i)));
      const told = element("div", { class: "told", role: "status", "aria-live": "polite" });
      this.large = element("p", { class: "large" }); this.where = element("p", { class: "soft" });
      this.guess = element("p"); this.test = element("p"); this.accuracy = element("p");
      this.people = drawn("svg", { class: "people", viewBox: "0 0 300 30", role: "img" });
      told.append(this.large, this.where, this.guess, this.people, this.test, this.accuracy);
      this.chart = element("figure", { class: "chart" });
      root.append(form, told, this.chart);
      this.show();
      addEventListener("resize", () => this.show());
    }

    row(knob, i) {
      const row = element("div", { class: "knob" });
      const id = `${this.prefix}-${knob.name}`;
      const slider = element("input", { type: "range", id, min: 0, max: knob.values.length - 1, step: 1, value: knob.now });
      const field = element("input", { type: "number", step: "any", id: `${id}-exact`, "aria-label": `${knob.label}, exactly`, inputmode: "decimal" });
      slider.value = knob.now; field.value = exactly(knob.values[knob.now]);
      slider.disabled = knob.values.length < 2;
      slider.addEventListener("input", () => { this.values[i] = knob.values[slider.value]; field.value = exactly(this.values[i]); this.show(); });
      field.addEventListener("input", () => {
        this.values[i] = field.value === "" ? NaN : Number(field.value);
        const place = this.place(knob, this.values[i]);
        if (place !== null) slider.value = place;
        this.show();
      });
      this.sliders.push(slider); this.fields.push(field);
      row.append(element("label", { for: id }, knob.label), field, slider);
      return row;
    }

    // Which grid value bounds this one from the worse side; null beyond the grid.
    place(knob, value) {
      const all = knob.values, last = all.length - 1;
      if (!(value >= all[0] && value <= all[last])) return null;
      return knob.worse === "below" ? all.findLastIndex((v) => v <= value) : all.findIndex((v) => v >= value);
    }

    // The computed point that holds for a place, and the place that it was computed for.
    point(place) {
      const shape = this.knobs.slice(0, -1).map((knob) => knob.values.length);
      let index = shape.reduce((sum, size, i) => sum * size + place[i], 0);
      let found = this.grid.points[index];
      if (found && found.at !== undefined) { index = found.at; found = this.grid.points[index]; }
      const at = shape.map(() => 0);
      for (let i = shape.length - 1; i >= 0; i--) { at[i] = index % shape[i]; index = Math.floor(index / shape[i]); }
      return [found, [...at, place[shape.length]]];
    }

    say(large, where) {
      this.large.textContent = large; this.where.textContent = where;
      for (const part of [this.guess, this.test, this.accuracy]) part.textContent = "";
      this.people.replaceChildren(); this.people.removeAttribute("role"); this.people.removeAttribute("aria-label");
      this.chart.replaceChildren();
    }

    show() {
      const places = this.knobs.map((knob, i) => this.place(knob, this.values[i]));
      this.sliders.forEach((slider, i) => slider.setAttribute("aria-valuetext", `${this.knobs[i].label} ${Number.isNaN(this.values[i]) ? "not given" : exactly(this.values[i])}`));
      const beyond = places.findIndex((place) => place === null);
      if (beyond >= 0) {
        const knob = this.knobs[beyond], all = knob.values;
        this.say("Not computed", `${knob.label} must be between ${exactly(all[0])} and ${exactly(all[all.length - 1])}; nothing is said about other values.`);
        return;
      }
      const [point, at] = this.point(places);
      if (!point) { this.say("Not computed", "Time ran out before this point and those that bound it; give --seconds more."); return; }
      const delta = this.values[this.values.length - 1];
      const [lower, upper] = point.epsilon[places[places.length - 1]];
      this.say(`ε ≤ ${exactly(upper)} at δ = ${exactly(delta)}`, "");
      const exact = this.knobs.every((knob, i) => knob.values[at[i]] === this.values[i]);
      const named = this.knobs.map((knob, i) => `${knob.label} ${exactly(knob.values[at[i]])}`).join(", ");
      this.where.textContent = exact ? `The exact value lies between ${exactly(lower)} and ${exactly(upper)}.` : `Certain, as it holds for ${named}.`;
      const right = Math.min(100, 50 + Math.ceil(50 * point.advantage * (1 - 1e-12)));
      this.guess.textContent = `Of a hundred guesses about one record, 50 are right without the release, at most ${right} with it.`;
      this.people.setAttribute("role", "img"); this.people.setAttribute("aria-label", this.guess.textContent);
      for (let i = 0; i < 100; i++) {
        const kind = i < 50 ? "anyway" : i < right ? "gained" : "wrong";
        this.people.append(drawn("circle", { class: kind, cx: 3 + 6 * (i % 50), cy: 8 + 12 * Math.floor(i / 50), r: 2.4, "stroke-width": kind === "gained" ? 0.6 : 0 }));
      }
      this.test.textContent = `A test with ${exactly(100 * this.grid.alarm)} false alarms in a hundred finds at most ${exactly(up(100 * point.found, 1))} of a hundred.`;
      this.tell(this.values[0]);
      this.draw(places);
    }

    // What was measured at this noise, or next to it; nothing in between is made up.
    tell(noise) {
      const measured = this.grid.accuracy;
      if (!measured.length || this.knobs[0].name !== "noise") return;
      const label = this.knobs[0].label, said = (one) => `${exactly(one.accuracy)} at ${label} ${exactly(one.noise)}`;
      const same = measured.find((one) => one.noise === noise);
      const before = measured.findLast((one) => one.noise < noise), after = measured.find((one) => one.noise > noise);
      this.accuracy.textContent = same ? `Measured accuracy: ${said(same)}.`
        : before && after ? `Measured accuracy: ${said(before)}, ${said(after)}; nothing between.`
        : `Accuracy was measured for ${label} from ${exactly(measured[0].noise)} to ${exactly(measured.at(-1).noise)} only.`;
    }

    draw(places) {
      this.chart.replaceChildren();
      const knob = this.knobs[0], deltas = places[places.length - 1];
      const row = knob.values.map((value, i) => {
        const [point] = this.point([i, ...places.slice(1)]);
        return [value, point ? number(point.epsilon[deltas][1]) : Infinity, i === places[0]];
      }).filter(([, y]) => Number.isFinite(y));
      const told = this.knobs.slice(1).map((other, i) => `${other.label} ${exactly(other.values[places[i + 1]])}`).join(", ");
      if (row.length > 1) this.chart.append(this.plot(row, knob.label, "ε at most", true, told));
      const measured = this.grid.accuracy.map((one) => [one.noise, one.accuracy, one.noise === this.values[0]]);
      if (measured.length && knob.name === "noise") this.chart.append(this.plot(measured, knob.label, "measured accuracy", false, ""));
    }

    // Dots, and for bounds the step line that holds between them.
    plot(row, label, title, steps, told) {
      const wide = Math.max(300, Math.min(this.chart.clientWidth, 720)), high = steps ? 190 : 130, left = 56, foot = 30, top = 28;
      const svg = drawn("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${title}, by ${label}: ${row.map(([x, y]) => `${exactly(x)}: ${exactly(y)}`).join("; ")}` });
      const xs = this.knobs[0].values.concat(row.map(([x]) => x)).map(Math.log), ys = row.map(([, y]) => y);
      const most = Math.max(...ys), least = Math.min(...ys), far = steps && least > 0 && most > 20 * least;
      const low = steps && !far ? 0 : least, scaled = (y) => (far ? Math.log(y) : y);
      const across = (x) => left + ((Math.log(x) - Math.min(...xs)) / (Math.max(...xs) - Math.min(...xs) || 1)) * (wide - left - 16);
      const down = (y) => high - foot - ((scaled(y) - scaled(low)) / (scaled(most) - scaled(low) || 1)) * (high - foot - top);
      svg.append(drawn("line", { class: "axis", x1: left, x2: wide, y1: high - foot, y2: high - foot }));
      const text = (x, y, anchor, words) => { const made = drawn("text", { x, y, "text-anchor": anchor }); made.textContent = words; svg.append(made); };
      text(0, 14, "start", title + (far ? " (logarithmic)" : "") + (told ? `; ${told}` : ""));
      text(left - 8, down(most) + 4, "end", exactly(most)); text(left - 8, down(low) + 4, "end", exactly(low));
      text(across(row[0][0]), high - 12, "middle", exactly(row[0][0])); text(across(row[row.length - 1][0]), high - 12, "middle", exactly(row[row.length - 1][0]));
      text(wide / 2, high - 4, "middle", label);
      if (steps) {
        const worse = this.knobs[0].worse === "below";
        let path = `M${across(row[0][0])} ${down(row[0][1])}`;
        for (let i = 1; i < row.length; i++) {
          const [x, y] = [across(row[i][0]), down(row[i][1])];
          path += worse ? ` H${x} V${y}` : ` V${y} H${x}`;
        }
        svg.append(drawn("path", { d: path }));
      }
      for (const [x, y, here] of row) svg.append(drawn("circle", { class: here ? "here" : "", cx: across(x), cy: down(y), r: here ? 6 : 3.5 }));
      return svg;
    }
  }

  document.querySelectorAll(".what-if").forEach((root, i) => new WhatIf(root, JSON.parse(root.querySelector(".grid").textContent), `what-if-${i}`));
})();
