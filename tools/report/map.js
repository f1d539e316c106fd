// The map of the adventure: "hall (north kitchen, east attic); kitchen (south hall); …; key attic; goal kitchen", and
// the way that a response takes through it.

const kDirections = {
  north: [0, -1],
  east: [1, 0],
  south: [0, 1],
  west: [-1, 0]
};

function readMap(text) {
  const rooms = new Map(), exits = [];
  const ends = /; key (\w+); goal (\w+)\s*$/.exec(text);
  if (!ends) return null;
  for (const part of text.slice(0, ends.index).split("; ")) {
    const room = /^(\w+) \(([^)]*)\)$/.exec(part);
    if (!room) return null;
    rooms.set(room[1], room[2] ? room[2].split(", ").map((exit) => exit.split(" ")) : []);
  }
  if (!rooms.size || !rooms.has(ends[1]) || !rooms.has(ends[2])) return null;
  // Places on a grid, from the first room on.
  const start = rooms.keys().next().value, places = new Map([[start, [0, 0]]]);
  for (const [name, [x, y]] of places) {
    for (const [direction, other] of rooms.get(name)) {
      const step = Object.hasOwn(kDirections, direction) ? kDirections[direction] : null;
      if (!step || !rooms.has(other)) return null;
      exits.push([name, other]);
      if (!places.has(other)) places.set(other, [x + step[0], y + step[1]]);
    }
  }
  return {start, key: ends[1], goal: ends[2], places, exits};
}

// Each command ends with "."; after it stands what the environment said: a room first, or "no".
function readWay(map, response, solved) {
  const parts = response.trim().split(/\s*\.\s*/).map((part) => part.split(/\s+/).filter(Boolean));
  const way = [{room: map.start, words: "the start"}];
  let keyTaken = false;
  parts.slice(0, -1).forEach((part, i) => {
    const command = part.at(-1) ?? "", answer = parts[i + 1][0], last = i === parts.length - 2;
    const before = way.at(-1).room;
    const room = map.places.has(answer) ? answer : last && solved ? map.goal : before;
    keyTaken ||= command === "take" && answer !== "no" && before === map.key;
    way.push({
      room,
      keyTaken,
      words: command +
          (answer === "no"       ? ", which is impossible" :
               room === map.goal ? ", the goal" :
                                   "")
    });
  });
  return way;
}

function mapPicture(map, way, i) {
  const xs = [...map.places.values()].map(([x]) => x), ys = [...map.places.values()].map(([, y]) => y);
  const left = Math.min(...xs), top = Math.min(...ys), w = 96, h = 64, gap = 28;
  const at = (name) => {
    const [x, y] = map.places.get(name);
    return [8 + (x - left) * (w + gap), 8 + (y - top) * (h + gap)];
  };
  const width = 16 + (Math.max(...xs) - left + 1) * (w + gap) - gap,
        height = 16 + (Math.max(...ys) - top + 1) * (h + gap) - gap;
  const picture = svg(
      "svg",
      {viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": `map; the policy is in ${way[i].room}`});
  for (const [a, b] of map.exits) {
    const [x1, y1] = at(a), [x2, y2] = at(b), locked = a === map.goal || b === map.goal;
    picture.append(svg(
        "path", {class: `shape ${locked ? "d3" : ""}`, d: `M${x1 + w / 2} ${y1 + h / 2}L${x2 + w / 2} ${y2 + h / 2}`}));
  }
  for (const name of map.places.keys()) {
    const [x, y] = at(name), marks = [];
    if (name === map.start) marks.push("start");
    if (name === map.key) marks.push(way[i].keyTaken ? "key taken" : "key");
    if (name === map.goal) marks.push("goal");
    picture.append(
        svg("rect", {class: `zone ${name === way[i].room ? "here" : ""}`, x, y, width: w, height: h, rx: 6}),
        svg("text", {class: "strong", x: x + w / 2, y: y + 22, "text-anchor": "middle"}, name),
        svg("text", {x: x + w / 2, y: y + 40, "text-anchor": "middle"}, marks.join(", ")));
    if (name === way[i].room) picture.append(svg("circle", {class: "f1", cx: x + w / 2, cy: y + h - 11, r: 6}));
  }
  return picture;
}

function drawAdventure(problem, answer, sample) {
  const map = readMap(problem);
  if (!map) return null;
  const way = readWay(map, textOf(sample.response), sample.solved === true);
  return el(
      "div", {}, el("p", {class: "muted"}, "The dotted door is locked at first; the dot is the policy."),
      stepper("turn", way.length, (i) => [mapPicture(map, way, i), way[i].words]));
}
