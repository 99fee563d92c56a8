"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const digits = (v) => (v !== 0 && (Math.abs(v) < 1e-3 || Math.abs(v) >= 1e6) ? v.toExponential(3) : String(Number(v.toPrecision(5))));
  const to = (axis, v) => (axis.scale === "log" ? Math.log(v) : v);
  const back = (axis, v) => (axis.scale === "log" ? Math.exp(v) : v);

  // The number itself, or where things are counted the next whole one that is on the axis.
  const near = (axis, v) => (axis.whole ? Math.min(Math.max(Math.round(v), Math.ceil(axis.range[0])), Math.floor(axis.range[1])) : v);

  // The value of a curve at x: that of the last step, or straight between points on the axes as drawn.
  function at(curve, frame, x) {
    const xs = curve.x, ys = curve.y;
    if (x < xs[0] || x > xs[xs.length - 1]) return null;
    if (curve.steps) return ys[xs.findLastIndex((v) => v <= x)];
    let i = xs.findIndex((v) => v >= x);
    if (i <= 0 || xs[i] === x) return ys[Math.max(i, 0)];
    const a = to(frame.x, xs[i - 1]), b = to(frame.x, xs[i]);
    const share = (to(frame.x, x) - a) / (b - a);
    const low = ys[i - 1], high = ys[i];
    if (frame.y.scale === "log" && low > 0 && high > 0) return Math.exp(Math.log(low) * (1 - share) + Math.log(high) * share);
    return low * (1 - share) + high * share;
  }

  function follow(figure, frame, number) {
    const svg = figure.querySelector("svg");
    const ends = frame.x.range.map((v) => to(frame.x, v));
    if (!frame.curves.length || !svg || !ends.every(Number.isFinite)) return;
    const [left, top, width, height] = frame.box;
    const line = document.createElementNS(SVG, "line");
    line.setAttribute("class", "cursor");
    line.setAttribute("y1", top); line.setAttribute("y2", top + height);
    svg.appendChild(line);
    const row = document.createElement("div"), label = document.createElement("label");
    const slider = document.createElement("input"), output = document.createElement("output");
    row.className = "readout";
    // In thousandths of the axis as drawn; or, where things are counted, in these.
    const place = (share) => near(frame.x, back(frame.x, ends[0] + share * (ends[1] - ends[0])));
    const along = (x) => (to(frame.x, x) - ends[0]) / (ends[1] - ends[0]);
    slider.type = "range";
    if (frame.x.whole) { slider.min = place(0); slider.max = place(1); slider.step = Math.max(1, Math.round((slider.max - slider.min) / 1000)); }
    else { slider.min = 0; slider.max = 1000; }
    slider.id = `slider-${number}`; label.htmlFor = slider.id; label.textContent = `${frame.title}: ${frame.x.label}`;
    output.htmlFor = slider.id;
    row.append(label, slider, output);
    figure.querySelector(".readouts").append(row);
    const move = (share) => { slider.value = frame.x.whole ? place(share) : Math.round(1000 * share); };
    const show = () => {
      const x = frame.x.whole ? Number(slider.value) : place(slider.value / 1000), share = along(x);
      line.setAttribute("x1", left + share * width); line.setAttribute("x2", left + share * width);
      const values = frame.curves.map((c) => [c.label, at(c, frame, x)]).filter((pair) => pair[1] !== null);
      output.textContent = `${frame.x.label} = ${digits(x)}: ` + values.map(([name, y]) => `${name} ${frame.curves.every((c) => c.steps) ? "=" : "≈"} ${digits(y)}`).join(", ");
      slider.setAttribute("aria-valuetext", output.textContent);
    };
    slider.addEventListener("input", show);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
      const x = ((event.clientX - box.left) / box.width) * view.width, y = ((event.clientY - box.top) / box.height) * view.height;
      if (x < left || x > left + width || y < top || y > top + height) return;
      move((x - left) / width);
      show();
    });
    move(0.5);
    show();
  }

  let number = 0;
  for (const figure of document.querySelectorAll("figure.picture")) {
    for (const frame of JSON.parse(figure.querySelector(".frames").textContent)) follow(figure, frame, number++);
  }
  const shown = document.getElementById("shown");
  shown.textContent = JSON.stringify(JSON.parse(document.getElementById("data").textContent), null, 2);
  const copy = document.getElementById("copy");
  if (copy) copy.addEventListener("click", async () => {
    const said = document.getElementById("copied"), command = document.getElementById("command");
    try { await navigator.clipboard.writeText(command.textContent); said.textContent = "copied"; }
    catch { getSelection().selectAllChildren(command); said.textContent = "selected: copy it with your keyboard"; }
  });
})();
