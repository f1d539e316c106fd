// Pictures that a reader goes through step by step. Nothing moves by itself.

// A picture for each of some states, with buttons and a slider to go through them. `first` is the one shown first.
function stepper(label, count, draw, first = count - 1) {
  const view = el("div", {class: "drawing"}), text = el("span", {role: "status"});
  const slider = el("input", {type: "range", min: 0, max: count - 1, value: first, "aria-label": label});
  const show = () => {
    const i = Number(slider.value), [picture, words] = draw(i);
    replace(view, picture);
    text.textContent = `${i} of ${count - 1}${words ? ": " + words : ""}`;
  };
  const move = (by) => {
    slider.value = Math.min(count - 1, Math.max(0, Number(slider.value) + by));
    show();
  };
  slider.addEventListener("input", show);
  show();
  return el(
      "div", {}, view,
      el("div", {class: "row"},
         el("button", {type: "button", onclick: () => move(-1), "aria-label": "one step back"}, "◀"), slider,
         el("button", {type: "button", onclick: () => move(1), "aria-label": "one step on"}, "▶"), label, text));
}

// The words of a figure's box, in the middle of it or at its top.
function wordsOf(box) {
  const lines = list(box.lines), kLine = 15, top = box.atTop ? 4 : (box.height - kLine * lines.length) / 2;
  return lines.map(
      (line, i) =>
          svg("text", {
            class: i === 0 || box.strong ? "strong" : undefined,
            x: box.x + box.width / 2,
            y: box.y + top + kLine * i + 11.5,
            "text-anchor": "middle"
          },
              line));
}

// An arrow with its head, and its label beside the middle.
function arrowOf(arrow) {
  const [x0, y0] = arrow.from, [x1, y1] = arrow.to, length = Math.hypot(x1 - x0, y1 - y0);
  if (length === 0) return null;
  const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length], head = Math.min(7, length);
  const corner = (side) => `${x1 - head * ux - side * uy} ${y1 - head * uy + side * ux}`;
  const level = Math.abs(ux) > Math.abs(uy);
  return svg(
      "g", {class: arrow.strong ? "arrow here" : "arrow"},
      svg("path", {d: `M${x0} ${y0}L${x1 - 0.8 * head * ux} ${y1 - 0.8 * head * uy}`}),
      svg("path", {class: "head", d: `M${x1} ${y1}L${corner(head / 2)} ${corner(-head / 2)}Z`}),
      arrow.label ? svg("text", {
        x: (x0 + x1) / 2 + (level ? 0 : 7),
        y: (y0 + y1) / 2 + (level ? -7 : 4),
        class: arrow.strong ? "strong" : undefined,
        "text-anchor": level ? "middle" : "start"
      },
                        arrow.label) :
                    null);
}

// A frame of a drawing (lessons/kit/drawing.h). The label has every word of it, in the order of the boxes and arrows.
function framePicture(item, frame) {
  const boxes = list(frame.boxes), arrows = list(frame.arrows);
  const words = [...boxes.map((box) => list(box.lines).join(" ")), ...arrows.map((arrow) => arrow.label)];
  return svg(
      "svg", {
        class: "figure",
        viewBox: `0 0 ${item.width} ${item.height}`,
        width: 1.3 * item.width,
        role: "img",
        "aria-label": `${item.title}: ${words.filter(Boolean).join("; ")}`
      },
      boxes.map(
          (box) =>
              [box.width > 0 ? svg("rect", {
                 class: box.strong ? "zone here" : "zone",
                 x: box.x,
                 y: box.y,
                 width: box.width,
                 height: box.height,
                 rx: 6
               }) :
                               null,
               wordsOf(box)]),
      arrows.map(arrowOf));
}

function figureOf(item) {
  const frames = list(item.frames), draw = (i) => [framePicture(item, frames[i]), frames[i].caption];
  const [picture, caption] = draw(0);
  return el(
      "figure", {class: "figure"}, el("figcaption", {}, item.title),
      frames.length > 1 ? stepper("step", frames.length, draw, 0) : [picture, el("p", {class: "muted"}, caption)]);
}
