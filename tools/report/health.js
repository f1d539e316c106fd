// Health checks of reinforcement learning on text: how often each failed, where, and why.

const kStrip = 300;

// A strip of the run's steps with the failed ones marked.
function failureStrip(check, last) {
  const px = scale({low: 0, high: Math.max(1, last)}, 0, kStrip);
  const strip = svg("svg", {
    width: kStrip,
    height: 16,
    viewBox: `0 0 ${kStrip} 16`,
    role: "img",
    "aria-label": check.failed.length ? `failed at steps ${spans(check)}` : "never failed"
  });
  strip.append(svg("path", {class: "axis", d: `M0 8H${kStrip}`}));
  for (const [from, to] of check.failed) {
    strip.append(svg("rect", {class: "f2", x: px(from) - 1, y: 1, width: Math.max(2, px(to) - px(from)), height: 14}));
  }
  return strip;
}

function spans(check) {
  const texts = check.failed.slice(0, 12).map(([from, to]) => (from === to ? `${from}` : `${from} to ${to}`));
  return texts.join(", ") + (check.failed.length > 12 ? ` and ${check.failed.length - 12} more spans` : "");
}

function healthOf(source) {
  const checks = list(source.health);
  const last = Math.max(
      0, ...checks.flatMap((check) => check.failed.map(([, to]) => to)),
      ...checks.map((c) => (c.ok ?? 0) + (c.count ?? 0)));
  const failed = checks.filter((check) => (check.count ?? 0) > 0), never = checks.filter((c) => !failed.includes(c));
  const rows = failed.map((check) => [
    check.name, el("span", {class: "bad"}, `✗ failed in ${check.count} of ${check.count + check.ok}`),
    failureStrip(check, last),
    [`at step ${check.why_step}: ${check.why}`, el("div", {class: "muted"}, `steps ${spans(check)}`)]
  ]);
  const failing = checks.filter((check) => check.last === "failed").length;
  return [
    el("h3", {}, source.name),
    el("p", {},
       failing ? el("span", {class: "bad"}, `✗ ${plural(failing, "check")} failed at the last step`) :
                 el("span", {class: "good"}, "✓ all checks were ok at the last step")),
    rows.length ?
        el("div", {class: "health"},
           table(
               `Health checks of ${source.name} that failed at a step; the strip is the run from its first to its last ` +
                   "step, with failures marked",
               ["check", "result", "when", "why, the last time"], rows)) :
        null,
    never.length ? el("p", {}, el("span", {class: "good"}, "✓ never failed: "), never.map((c) => c.name).join(", ")) :
                   null
  ];
}

function healthSection(data) {
  const sources = data.sources.filter((source) => list(source.health).length);
  if (!sources.length) return null;
  return section("health", "Health checks", sources.map(healthOf));
}
