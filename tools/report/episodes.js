// Episodes of a policy in an environment, played step by step.

function episodeName(data, e, i) {
  return `${data.sources.length > 1 ? textOf(data.sources[e.source]?.name) + ", " : ""}step ${e.step}: return ${
      shown(e.return )}, ${plural(e.length ?? 0, "step")} (episode ${i + 1})`;
}

function playEpisode(episode) {
  const row = environmentOf(textOf(episode.environment));
  const states = list(episode.states).filter((s) => Array.isArray(s) && s.length), actions = list(episode.actions),
        rewards = list(episode.rewards);
  if (!states.length) return el("p", {}, "This episode has no states.");
  const canvas = svg("svg", {viewBox: "0 0 420 200", width: 640, role: "img", "aria-label": "the environment"});
  const status = el("span", {}),
        slider = el("input", {type: "range", min: 0, max: states.length - 1, value: 0, "aria-label": "time"});
  const totals = [0];
  for (const reward of rewards) totals.push(totals.at(-1) + (isNumber(reward) ? reward : 0));
  let playing = false, begun = 0, from = 0;
  const draw = () => {
    const t = Number(slider.value), values = states[t];
    if (row.draw && values.every(isNumber)) {
      canvas.replaceChildren(...row.draw(values, actions[t]).filter(Boolean));
      canvas.setAttribute("aria-label", `${textOf(episode.environment)} at step ${t}`);
    }
    status.textContent = `step ${t} of ${states.length - 1}, ${(t * row.dt).toFixed(2)} s, sum of rewards ${
                             shown(totals[Math.min(t, totals.length - 1)])}` +
        (t === states.length - 1 ? (episode.terminated ? ", terminated" : ", at the time limit") : "");
  };
  const button = el("button", {type: "button"}, "▶ play");
  const stop = () => {
    playing = false;
    button.textContent = "▶ play";
  };
  const tick = () => {
    const now = performance.now();
    if (!playing || !button.isConnected) return stop();
    begun ||= now;
    const t = Math.min(states.length - 1, from + Math.floor((now - begun) / (1000 * row.dt)));
    slider.value = t;
    draw();
    if (t === states.length - 1) return stop();
    setTimeout(tick, 16);
  };
  button.addEventListener("click", () => {
    if (playing) return stop();
    if (Number(slider.value) === states.length - 1) slider.value = 0;
    playing = true;
    begun = 0;
    from = Number(slider.value);
    button.textContent = "❚❚ pause";
    setTimeout(tick, 16);
  });
  slider.addEventListener("input", () => {
    stop();
    draw();
  });
  draw();
  const width = states[0].length;
  const curves = () => el(
      "div", {class: "plots"},
      Array.from({length: width}, (_, k) => drawPlot({
                                    title: row.names[k] ?? `state ${k}`,
                                    unit: "",
                                    about: "",
                                    xLabel: "step",
                                    lines: [{name: "state", x: states.map((_, i) => i), mean: states.map((s) => s[k])}]
                                  })));
  return el(
      "div", {}, row.draw ? el("div", {class: "drawing"}, canvas) : null,
      el("div", {class: "row"}, button, slider, status),
      episode.length > states.length - 1 ?
          el("p", {class: "warn"}, `Only the first ${states.length - 1} of ${episode.length} steps were recorded.`) :
          null,
      row.draw ? later("Curves of the state", curves) : curves());
}

function episodesSection(data) {
  const episodes = list(data.episodes).map(object);
  if (!episodes.length) return null;
  const pane = el("div", {class: "card"});
  const show = (i) => replace(pane, playEpisode(episodes[i]));
  const last = episodes.length - 1;
  show(last);
  return section(
      "episodes", "Episodes",
      el("p", {class: "muted"}, "Episodes that were played during the training, with the likeliest action each time."),
      choice("episode", episodes.map((e, i) => [i, episodeName(data, e, i)]), last, (value) => show(Number(value))),
      pane);
}
