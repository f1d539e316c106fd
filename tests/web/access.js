// What a reader needs who has a keyboard alone, or sees little: node tests/web/access.js SITE, in Chromium. On every
// page, in both themes and at 390 and 1280 pixels: text has the contrast of WCAG 2.1 AA, Tab reaches every control,
// each control has a name and shows that it has the focus, the console has no error and the page no horizontal scroll.
"use strict";
const fs = require("fs"), path = require("path");
const {count} = require("./browser.js");
const {drive} = require("./driver.js");

const site = process.argv[2];
const kShort =
    ["lesson1.html", "lesson2.html"];  // demonstrations of seconds, whose plots and claims are looked at, too

// In the page: everything that a reader can unfold is shown, with a check that is WRONG.
const kUnfold = `
  const root = document.documentElement, E = globalThis.policygradExercise;
  document.querySelectorAll(".term").forEach((term) => term.click());
  if (SHORT) {
    document.getElementById("run").click();
    await until(() => root.dataset.ran);
  }
  if (document.getElementById("microscope")) {
    await until(() => document.querySelectorAll("#microscope table").length);
  }
  if (E) {
    document.querySelectorAll("#halves button")[1].click();
    const area = await until(() => document.querySelector("textarea"));
    area.value = E.stub.replace("TODO();", "null.x;");
    area.dispatchEvent(new Event("input"));
    document.getElementById("check").click();
    await until(() => root.dataset.checked);
    for (const button of document.querySelectorAll(".check button")) button.click();
    if (SHORT) document.getElementById("demo").hidden = false;
  }
  document.querySelectorAll("details").forEach((details) => (details.open = true));
  return root.scrollWidth - innerWidth;`;

// In the page: the texts whose contrast is too small, each with its ratio.
const kContrast = `
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const colours = new Map();
  const colourOf = (css) => {  // [red, green, blue, alpha] of any colour
    if (!colours.has(css)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = css;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      colours.set(css, [r, g, b, a / 255]);
    }
    return colours.get(css);
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((x, i) => a * x + (1 - a) * below[i]);
  const luminance = (colour) => {
    const [r, g, b] = colour.map((x) => (x / 255 <= 0.03928 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    if (!element) return [255, 255, 255];
    const colour = colourOf(getComputedStyle(element).backgroundColor);
    return colour[3] === 1 ? colour.slice(0, 3) : over(colour, background(element.parentElement));
  };
  const low = [], seen = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let looked = 0;
  const look = (element, text) => {
    const style = getComputedStyle(element);
    if (!element.checkVisibility({visibilityProperty: true}) || element.closest(":disabled, .skip")) return;
    const below = background(element), svg = element instanceof SVGElement;
    const colour = over(colourOf(svg ? style.fill : style.color), below);
    const [light, dark] = [luminance(colour), luminance(below)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05), pixels = parseFloat(style.fontSize);
    const large = pixels >= 24 || (pixels >= 18.66 && style.fontWeight >= 700);
    ++looked;
    if (ratio < (large ? 3 : 4.5)) low.push(ratio.toFixed(2) + " " + text.trim().slice(0, 40));
  };
  for (let node = seen.nextNode(); node; node = seen.nextNode()) {
    const element = node.parentElement;
    if (/\\S/.test(node.data) && !/^(SCRIPT|STYLE)$/.test(element.tagName)) look(element, node.data);
  }
  document.querySelectorAll("textarea, select, input").forEach((control) => look(control, control.value));
  return {low: [...new Set(low)], looked};`;

// In the page: numbers the controls that a reader sees. It names those without a name, and what only a pointer can use.
const kControls = `
  const kinds = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  const controls = [...document.querySelectorAll(kinds)]
      .filter((one) => one.checkVisibility({visibilityProperty: true}) && !one.disabled);
  globalThis.controls = controls;
  const named = (one) => one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") ||
      one.textContent.trim() || one.labels?.length || one.title;
  const pointed = [...document.body.querySelectorAll("*")]
      .filter((one) => getComputedStyle(one).cursor === "pointer" && !one.closest(kinds + ", label"));
  document.activeElement?.blur();
  scrollTo(0, 0);
  const text = (one) => one.outerHTML.slice(0, 80);
  return {n: controls.length, nameless: controls.filter((one) => !named(one)).map(text), pointed: pointed.map(text)};`;
// The number of the control that has the focus, -1 for none, and whether it shows that.
const kFocus = `
  const one = document.activeElement, style = getComputedStyle(one);
  return [controls.indexOf(one), style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0];`;
const kNameOf = (i) => `return controls[${i}].outerHTML.slice(0, 80);`;

async function reach(page, where) {
  const {n, nameless, pointed} = await page.evaluate(kControls), reached = new Set(), plain = new Set();
  count.check(n > 0 && nameless.length === 0, `${where}: a control has no name: ${nameless[0]}`);
  count.check(pointed.length === 0, `${where}: only a pointer can use ${pointed[0]}`);
  for (let i = 0; i < 2 * n && reached.size < n; ++i) {
    await page.press("Tab");
    const [at, shown] = await page.evaluate(kFocus);
    if (at < 0) continue;
    reached.add(at);
    if (!shown) plain.add(at);
  }
  const missed = [...Array(n).keys()].filter((i) => !reached.has(i));
  if (missed.length) count.check(false, `${where}: Tab does not reach ${await page.evaluate(kNameOf(missed[0]))}`);
  for (const i of plain) count.check(false, `${where}: no sign of the focus: ${await page.evaluate(kNameOf(i))}`);
  count.check(true);
}

// Presses Tab until `condition` holds of the element with the focus, at most 400 times.
async function tabTo(page, condition) {
  for (let i = 0; i < 400; ++i) {
    if (await page.evaluate(`const one = document.activeElement; return Boolean(${condition});`)) return true;
    await page.press("Tab");
  }
  return false;
}

// The whole course of a check and of a demonstration, by keys.
async function byKeys() {
  const page = await drive(1280, "light");
  await page.open(path.join(site, "lesson2.html"));
  const on = (text) => tabTo(page, `one.textContent.trim().startsWith("${text}")`);
  const pressed = async (text, key, script) => {
    count.check(await on(text), `by keys: Tab does not reach "${text}"`);
    await page.press(key);
    return page.evaluate(script);
  };
  const open = "return document.getElementById('exercise').hidden;";
  count.check(!await pressed("Your functions", "Enter", open), "by keys: the exercise does not open");
  count.check(await tabTo(page, "one.tagName === 'TEXTAREA'"), "by keys: the text is not reached");
  await page.evaluate("document.activeElement.setSelectionRange(0, 0);");
  for (const letter of "//a") await page.press(letter);
  await page.press("Enter");
  count.check(/^\/\/a\n/.test(await page.evaluate("return document.activeElement.value;")), "by keys: no text");
  await page.press("Enter", 2);  // Ctrl
  const checked = "return await until(() => document.documentElement.dataset.checked);";
  count.check(/to do/.test(await page.evaluate(checked)), "by keys: Ctrl+Enter does not check");
  await page.press("Tab");
  const left = await page.evaluate("return document.activeElement.tagName;");
  count.check(left === "SUMMARY", `by keys: Tab leads from the text to ${left}`);
  await page.press("Enter");
  count.check(await page.evaluate("return document.querySelectorAll('.check[open]').length === 1;"), "by keys: no row");
  const hint = "return document.querySelector('.check[open]').textContent.includes('Hint: ');";
  count.check(await pressed("Hint 1", "Space", hint), "by keys: no hint");
  const demo = "return document.getElementById('demo').hidden;";
  await page.evaluate("document.getElementById('main').focus();");
  count.check(!await pressed("Demonstration", "Enter", demo), "by keys: the demonstration does not come back");
  const ran = await pressed("Run", "Enter", "return await until(() => document.documentElement.dataset.ran);");
  count.check(/all hold/.test(ran), `by keys: Run: ${ran}`);
  count.check(page.errors.length === 0, `by keys: ${page.errors[0]}`);
  await page.close();
}

(async () => {
  const names = fs.readdirSync(site).filter((name) => /^[a-z0-9]+\.html$/.test(name));
  for (const [theme, width] of [["light", 390], ["dark", 1280]]) {
    const page = await drive(width, theme);
    for (const name of names) {
      const where = `${name}, ${theme}, ${width} pixels`;
      await page.open(path.join(site, name));
      const short = kShort.includes(name);
      const wide = await page.evaluate(`const SHORT = ${short};` + kUnfold);
      count.check(wide <= 0, `${where}: ${wide} pixels too wide`);
      for (const shown of ["light", "dark"]) {
        await page.evaluate(`document.documentElement.dataset.theme = "${shown}";`);
        const {low, looked} = await page.evaluate(kContrast);
        count.check(looked > 5 && low.length === 0, `${name} in ${shown}: ${low.length} texts, ${low.slice(0, 4)}`);
      }
      await reach(page, where);
    }
    count.check(page.errors.length === 0, `${theme}, ${width} pixels: ${page.errors[0]}`);
    await page.close();
  }
  await byKeys();
  count.end();
})();
