// Uses a report in the browser as a reader would: tests/pg/report.sh adds it to a copy of the page. It ends with
// data-tested, the number of things it tried, or data-failed, the first thing that was wrong.
(async () => {
  const root = document.documentElement;
  let tried = 0;
  const check = (ok, what) => {
    ++tried;
    if (!ok) throw new Error(what);
  };
  const all = (selector) => [...document.querySelectorAll(selector)];
  const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
  const key = (target, name) =>
      target.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true, cancelable: true}));
  const set = (input, value, type) => {
    input.value = value;
    input.dispatchEvent(new Event(type, {bubbles: true}));
  };
  const count = () => Number(/^(\d+) of/.exec(document.querySelector("#samples [role=status]").textContent)[1]);

  // What must be true of any state of the page.
  const look = () => {
    check(
        root.scrollWidth <= window.innerWidth,
        `the page is wider than the window: ${root.scrollWidth} > ${window.innerWidth}`);
    check(all("img, iframe, object, embed, form").length === 0, "the data made an element");
    check(document.scripts.length === 4 && window.hacked === undefined, "the data made a script");
    const ids = all("[id]").map((e) => e.id);
    check(new Set(ids).size === ids.length, "an id is there twice");
    for (const control of all("button, input, select")) {
      const label = control.closest("label")?.textContent ?? "";
      check(
          (control.getAttribute("aria-label") ?? control.textContent + label).trim() !== "",
          `a ${control.tagName} has no name`);
    }
    for (const picture of all("svg[role=img]"))
      check(picture.getAttribute("aria-label"), "a picture has no description");
    for (const path of all("path")) check(!/NaN|Infinity|undefined/.test(path.getAttribute("d")), "a path has a NaN");
    check(
        !/undefined|\[object|NaN/.test(
            document.querySelector("header").textContent + document.querySelector("h2").textContent),
        "undefined is shown");
  };

  const useResponses = async () => {
    const list = document.querySelector("[role=listbox]"), total = count();
    check(all("[role=option]").length <= 80, "the list makes rows that are not seen");
    check(all("#samples article, #samples .card").length >= 1, "no response is shown");
    list.focus();
    for (const name of ["ArrowDown", "End", "ArrowUp", "PageUp", "Home", "PageDown", "Home"]) {
      key(list, name);
      const chosen = document.getElementById(list.getAttribute("aria-activedescendant"));
      check(chosen && chosen.getAttribute("aria-selected") === "true", `${name} chooses no row`);
      look();
    }
    if (total > 1) {
      key(document.body, "j");
      check(list.getAttribute("aria-activedescendant") === "option-1" || total === 2, "j does not go on");
      key(document.body, "k");
      check(list.getAttribute("aria-activedescendant") === "option-0", "k does not go back");
    }
    const search = document.querySelector("#samples input[type=search]");
    key(document.body, "/");
    check(document.activeElement === search, "/ does not go to the search");
    set(search, "no response says this \u2603", "input");
    check(count() === 0, "the search finds what is not there");
    set(search, "", "input");
    check(count() === total, "an empty search does not find all");
    key(search, "Enter");
    check(document.activeElement === list, "Enter does not go to the list");
    // Each response of the first ones and of the last, with each colouring, beside each other checkpoint.
    for (let i = 0; i < Math.min(40, total); ++i) {
      key(list, "ArrowDown");
      for (const name of ["colour tokens by", "compare with"]) {
        const select = () => all("#samples label").find((l) => l.textContent.startsWith(name))?.querySelector("select");
        for (const value of [...(select()?.options ?? [])].map((o) => o.value).slice(0, 4))
          set(select(), value, "change");
        look();
        if (select())
          set(select(), name === "compare with" ? "" : select().options[select().options.length - 1].value, "change");
      }
      const numbers = all("#samples button").find((b) => b.textContent === "numbers");
      numbers?.click();
      const tokens = document.querySelector("#samples .tokens");
      if (tokens) {
        key(tokens, "ArrowRight");
        check(document.querySelector(".token.active"), "no token is active");
      }
      for (const slider of all("#samples input[type=range]")) {
        for (let t = 0; t <= Number(slider.max); ++t) set(slider, t, "input");
      }
      all("#samples button").find((b) => b.textContent === "numbers")?.click();
      const others = all("#samples article button").filter((b) => /^response \d+$/.test(b.textContent));
      if (others.length) {
        check(others.filter((b) => b.disabled).length === 1, "the response that is shown is not one of its group");
        const other = others.find((b) => !b.disabled), number = other.textContent;
        other.click();
        check(
            document.querySelector("#samples article h3").textContent.includes(`, ${number}`),
            "a button of the group shows another response");
      }
      look();
    }
    // Filters: those of the outcomes are parts of all.
    for (const select of all("#samples > .row select")) {
      for (const option of [...select.options].map((o) => o.value)) {
        set(select, option, "change");
        check(count() <= total, "a filter finds more than there is");
      }
      set(select, select.options[0].value, "change");
    }
    check(count() === total, "filters stay");
    const same = all("#samples button").find((b) => b.textContent.startsWith("only this problem"));
    same.click();
    check(count() >= 1 && same.getAttribute("aria-pressed") === "true", "the problem has no response");
    same.click();
    check(count() === total, "the filter of a problem stays");
  };

  // The place under the pointer stands in the legends of all plots, and dragging shows a part of all of them.
  const usePointer = () => {
    const canvases = () => all("#curves > div:last-child > .plots svg[role=img]");
    const send = (type, share) => {
      const canvas = canvases()[0], box = canvas.getBoundingClientRect();
      const [, left, right] = [...canvas.querySelectorAll("path.axis")]
                                  .map((path) => /^M([\d.]+) [\d.]+V[\d.]+H([\d.]+)$/.exec(path.getAttribute("d")))
                                  .find(Boolean)
                                  .map(Number);
      const clientX = box.left + box.width * (left + share * (right - left)) / canvas.viewBox.baseVal.width;
      canvas.dispatchEvent(new PointerEvent(type, {pointerType: "mouse", clientX, bubbles: true}));
    };
    const legends = () => all("#curves .legend").filter((l) => l.closest("details") === null).map((l) => l.textContent);
    const points = () => all("#curves > div:last-child > .plots path.series").map((p) => p.getAttribute("d")).join();
    const whole = all("#curves .row button").find((b) => b.textContent === "whole range");
    if (!canvases().length) return;
    check(whole.hidden, "the whole range is shown, and a button offers it");
    const before = points();
    send("pointermove", 0.5);
    check(legends().every((text) => / at [-\d.]/.test(text)), `a legend does not follow the pointer: ${legends()}`);
    send("pointerleave", 0.5);
    check(!legends().some((text) => / at [-\d.]/.test(text)), "a legend does not forget the pointer");
    send("pointerdown", 0.4);
    send("pointermove", 1);
    send("pointerup", 1);
    look();
    check(!whole.hidden && points() !== before, "dragging shows no part of the plots");
    whole.click();
    check(whole.hidden && points() === before, "the whole range does not come back");
  };

  // Each way to draw the curves; shares that are not all small have an axis up to 1.
  const useCurves = () => {
    for (const figure of all("#curves figure")) {
      const texts = [...figure.querySelectorAll("svg text[text-anchor=end]")].map((t) => t.textContent);
      check(new Set(texts).size === texts.length, `two ticks of an axis have the same text: ${texts}`);
    }
    for (const button of all("#curves .row button")) {
      button.click();
      look();
      button.click();
      look();
    }
    usePointer();
    for (const figure of all("#curves figure").filter((f) => f.textContent.startsWith("Held-out problems solved"))) {
      const numbers = [...figure.querySelectorAll("td:nth-child(3)")].map((cell) => Number(cell.textContent));
      const axis = [...figure.querySelectorAll("svg text[text-anchor=end]")].map((t) => Number(t.textContent));
      check(Math.min(...axis) === 0, "the axis of a share does not begin at 0");
      if (Math.max(...numbers) >= 0.2) check(Math.max(...axis) === 1, "the axis of a share does not end at 1");
    }
  };

  // In a histogram of rewards each response of a step is in one row; a problem is not solved more often than tried.
  const useGrids = async () => {
    for (const numbers of all("#samples > details figure details")) numbers.open = true;
    await pause();
    await pause();
    for (const figure of all("#samples > details figure")) {
      const rows =
          [...figure.querySelectorAll("tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent));
      check(rows.length > 0, "a grid has no numbers");
      const found = new Map(), of = new Map();
      for (const [, steps, part, whole] of rows) {
        check(Number(part) <= Number(whole), "a cell of a grid is more than whole");
        found.set(steps, (found.get(steps) ?? 0) + Number(part));
        of.set(steps, Number(whole));
      }
      if (figure.textContent.startsWith("Rewards by step") && rows.length < 1200) {
        for (const [steps, count] of found) check(count === of.get(steps), `the rewards of ${steps} are not all there`);
      }
    }
  };

  const useEpisodes = async () => {
    const select = document.querySelector("#episodes select");
    for (const option of [...select.options].map((o) => o.value)) {
      set(select, option, "change");
      const slider = document.querySelector("#episodes input[type=range]");
      if (!slider) continue;  // an episode without states
      for (let t = 0; t <= Number(slider.max); t += 7) set(slider, t, "input");
      look();
    }
    set(select, select.options[0].value, "change");
    const slider = document.querySelector("#episodes input[type=range]"),
          play = document.querySelector("#episodes .row button");
    set(slider, 0, "input");
    play.click();
    for (let i = 0; i < 200 && Number(slider.value) === 0; ++i) await pause();
    check(Number(slider.value) > 0, "the animation stands still");
    play.click();
  };

  const useSlides = () => {
    const button = all("button").find((b) => b.textContent === "Slides");
    if (!button) return;
    const headings = all("main h2").length, press = (name) => key(document.body, name);
    const at = () => /(\d+) of (\d+)/.exec(document.querySelector("main .controls [role=status]").textContent).slice(1).map(Number);
    button.click();
    const most = at()[1];
    check(at()[0] === 1 && most > headings, `the slides begin at ${at()}`);
    for (let slide = 2; slide <= most; ++slide) {
      press("ArrowRight");
      check(at()[0] === slide, `slide ${slide} is ${at()[0]}`);
      check(document.querySelector(".stage").textContent.trim() !== "", `slide ${slide} is empty`);
      look();
    }
    press("PageDown");
    check(at()[0] === most, "there is a slide after the last one");
    press("Home");
    press("ArrowLeft");
    check(at()[0] === 1, "there is a slide before the first one");
    press("Escape");
    check(all("main h2").length === headings && !root.classList.contains("slides"), "the page is not whole again");
  };

  try {
    check(root.dataset.ready === "1", "the page is not ready");
    for (const details of all("details")) details.open = true;
    await pause();
    await pause();
    look();
    useCurves();
    useSlides();
    const figures = lookAtFigures();  // tests/web/figures.js
    check(figures.wrong.length === 0, figures.wrong[0]);
    tried += figures.frames;
    await useGrids();
    if (document.querySelector("[role=listbox]")) await useResponses();
    if (document.querySelector("#episodes")) await useEpisodes();
    all("header button")[0].click();
    check(root.dataset.theme === "dark" || root.dataset.theme === "light", "there is no theme");
    look();
    root.dataset.tested = tried;
  } catch (error) {
    root.dataset.failed = error.message;
  }
})();
