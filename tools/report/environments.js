// Drawings of environments, a row each: dt in seconds, what the numbers of the state are called, and a picture of a
// state. An environment without a row has curves of its state only.

const polar = (x, y, length, angle) => [x + length * Math.sin(angle), y - length * Math.cos(angle)];
const lineOf = (points, attributes = {}) =>
    svg("path", {class: "shape", ...attributes, d: "M" + points.map((p) => p.join(" ")).join("L")});
const dot = (x, y, r, name = "solid") => svg("circle", {class: name, cx: x, cy: y, r});

const kEnvironments = {
  "CartPole-v1": {
    dt: 0.02,
    names: ["x (m)", "velocity (m/s)", "angle (rad, 0 is up)", "angular velocity (rad/s)"],
    draw([x, , angle], action) {
      const cx = 210 + 80 * x, tip = polar(cx, 150, 110, angle), push = action && (action[0] === 1 ? 1 : -1);
      return [
        lineOf([[18, 166], [402, 166]], {class: "axis"}), lineOf([[18, 158], [18, 174]], {class: "axis"}),
        lineOf([[402, 158], [402, 174]], {class: "axis"}),
        svg("rect", {class: "f1", x: cx - 28, y: 150, width: 56, height: 22, rx: 3}),
        lineOf([[cx, 150], tip], {class: "series c2", "stroke-width": 6}), dot(cx, 150, 4),
        push ? lineOf([
          [cx + 34 * push, 161], [cx + 58 * push, 161], [cx + 50 * push, 155], [cx + 58 * push, 161],
          [cx + 50 * push, 167]
        ]) :
               null
      ];
    }
  },
  "Pendulum-v1": {
    dt: 0.05,
    names: ["angle (rad, 0 is up)", "angular velocity (rad/s)"],
    draw([angle], action) {
      return [
        lineOf([[210, 100], polar(210, 100, 80, -angle)], {class: "series c2", "stroke-width": 6}), dot(210, 100, 5),
        action ? svg("text", {class: "strong", x: 210, y: 194, "text-anchor": "middle"},
                     `torque ${shown(Math.min(2, Math.max(-2, action[0])))} N·m`) :
                 null
      ];
    }
  },
  "Acrobot-v1": {
    dt: 0.2,
    names: ["angle 1 (rad, 0 hangs)", "angle 2 (rad)", "angular velocity 1 (rad/s)", "angular velocity 2 (rad/s)"],
    draw([first, second]) {
      const elbow = [210 + 45 * Math.sin(first), 100 + 45 * Math.cos(first)];
      const hand = [elbow[0] + 45 * Math.sin(first + second), elbow[1] + 45 * Math.cos(first + second)];
      return [
        lineOf([[110, 55], [310, 55]], {class: "axis d3"}), svg("text", {x: 314, y: 59}, "goal"),
        lineOf([[210, 100], elbow], {class: "series c1"}), lineOf([elbow, hand], {class: "series c2"}),
        dot(210, 100, 5), dot(...elbow, 4), dot(...hand, 4)
      ];
    }
  },
  "MountainCar-v0": {
    dt: 1,
    names: ["position", "velocity"],
    draw([position]) {
      const at = (x) => [30 + 200 * (x + 1.2), 120 - 65 * Math.sin(3 * x)];
      const hill = Array.from({length: 61}, (_, i) => at(-1.2 + 0.03 * i)), car = at(position), flag = at(0.5);
      return [
        lineOf(hill, {class: "axis"}),
        lineOf([flag, [flag[0], flag[1] - 26], [flag[0] + 14, flag[1] - 20], [flag[0], flag[1] - 15]]),
        dot(car[0], car[1] - 7, 7, "f2")
      ];
    }
  },
};
const kArm = {
  dt: 0.05,
  names: ["joint 1 (rad)", "joint 2 (rad)", "velocity 1 (rad/s)", "velocity 2 (rad/s)", "target x (m)", "target y (m)"],
  draw([q1, q2, , , tx, ty]) {
    const at = (x, y) => [210 + 90 * x, 100 - 90 * y], elbow = [0.5 * Math.cos(q1), 0.5 * Math.sin(q1)];
    const hand = [elbow[0] + 0.5 * Math.cos(q1 + q2), elbow[1] + 0.5 * Math.sin(q1 + q2)], target = at(tx, ty);
    return [
      svg("circle", {class: "grid", cx: 210, cy: 100, r: 90}), dot(...target, 7, "f3"),
      lineOf([[target[0] - 11, target[1]], [target[0] + 11, target[1]]]),
      lineOf([[target[0], target[1] - 11], [target[0], target[1] + 11]]),
      lineOf([at(0, 0), at(...elbow)], {class: "series c1"}), lineOf([at(...elbow), at(...hand)], {class: "series c2"}),
      dot(...at(0, 0), 5), dot(...at(...elbow), 4), dot(...at(...hand), 4)
    ];
  }
};

function environmentOf(name) {
  if (textOf(name).startsWith("ArmReach")) return kArm;
  return Object.hasOwn(kEnvironments, name) ? kEnvironments[name] : {dt: 0.05, names: [], draw: null};
}
