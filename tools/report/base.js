// Makes elements of the page. Text from the data is only ever set as text, never as HTML.

const kSvg = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

// el("p", {class: "muted"}, "text", node, …); svg() the same for drawings. on… attributes are listeners.
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(kSvg, tag), attributes, children);

function replace(element, ...children) {
  element.replaceChildren();
  add(element, children);
}

const isNumber = (x) => typeof x === "number" && Number.isFinite(x);
const list = (x) => (Array.isArray(x) ? x : []);
const object = (x) => (x !== null && typeof x === "object" && !Array.isArray(x) ? x : {});
// A value of the data as text, whatever it is.
const textOf = (x) => (typeof x === "string" ? x : x === undefined || x === null ? "" : JSON.stringify(x));

// "0.1234", "12 300 000", "1.2e-7": four significant digits.
function shown(x) {
  if (!isNumber(x)) return x === null || x === undefined ? "–" : textOf(x);
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e10) return String(x);
  if (size >= 1e7 || size < 1e-4) return x.toExponential(2);
  return String(Number(x.toPrecision(4)));
}
const percent = (x) => (isNumber(x) ? (100 * x).toFixed(1) + " %" : "–");
const plural = (n, one, many = one + "s") => `${n} ${n === 1 ? one : many}`;

function table(caption, head, rows, numeric = () => false) {
  const cell = (tag, value, i) =>
      el(tag, {class: numeric(i) ? "number" : undefined, scope: tag === "th" ? "col" : undefined}, value);
  return el(
      "div", {class: "scroll", tabindex: 0, role: "group", "aria-label": caption},
      el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, head.map((h, i) => cell("th", h, i)))),
         el("tbody", {}, rows.map((row) => el("tr", {}, row.map((value, i) => cell("td", value, i)))))));
}

// A disclosure whose content is made when it is first opened.
function later(summary, make) {
  const details = el("details", {}, el("summary", {}, summary));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) add(details, [make()]);
  });
  return details;
}

function choice(label, options, value, change) {
  const select =
      el("select", {onchange: () => change(select.value)},
         options.map(([key, text]) => el("option", {value: key, selected: String(key) === String(value)}, text)));
  return el("label", {}, label, select);
}

function section(id, title, ...children) {
  return el("section", {id, "aria-labelledby": id + "-title"}, el("h2", {id: id + "-title"}, title), children);
}

// The beginning of a long text; a button shows the rest.
const kLongText = 20000;
function longText(text, attributes = {}) {
  const box = el("div", {class: "text mono", ...attributes}, text.slice(0, kLongText));
  if (text.length > kLongText) {
    const button =
        el("button", {type: "button", onclick: () => replace(box, text)}, `Show all ${text.length} characters`);
    add(box, [" … ", button]);
  }
  return box;
}
