// The sliders of a demonstration: what ./lessonN --set can change.

const kSliderSteps = 200;
// A number that a slider can mean: of two digits, so that it is short, and the default itself where the slider is near.
function sliderValue(setting, part) {
  const {low, high, whole, value} = setting, log = isLogarithmic(setting);
  if (Math.abs(part - sliderPart(setting, value)) < 0.5 / kSliderSteps) return value;
  const exact = log ? low * Math.pow(high / low, part) : low + (high - low) * part;
  const rounded = whole ? Math.round(exact) : Number(log ? exact.toPrecision(2) : exact.toFixed(decimals(high - low)));
  return Math.min(high, Math.max(low, rounded));
}
const isLogarithmic = ({low, high, whole}) => !whole && low > 0 && high / low >= 50;
const decimals = (range) => Math.max(0, 2 - Math.floor(Math.log10(range)));
// Where a value lies on its slider, from 0 to 1.
function sliderPart(setting, value) {
  const {low, high} = setting;
  return isLogarithmic(setting) ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

class Settings {
  constructor(box, settings) {
    this.rows = settings.map((setting) => ({setting, value: setting.value, ...this.row(setting)}));
    const summary = this.summary = el("summary");
    const reset = el("button", {type: "button", onclick: () => this.rows.forEach((row) => this.set(row))}, "Defaults");
    replace(box, el("details", {}, summary, this.rows.map((row) => row.element), el("p", {}, reset)));
    this.rows.forEach((row) => {
      row.input.addEventListener("input", () => this.set(row, this.read(row)));
      this.set(row);
    });
  }
  // A seed is typed; every other setting has a slider.
  row(setting) {
    const {name, what, low, high, whole} = setting, id = `set-${name}`, typed = name === "seed";
    const attributes = typed ? {type: "number", min: low, max: high, step: 1} :
        whole                ? {type: "range", min: low, max: high, step: 1} :
                               {type: "range", min: 0, max: kSliderSteps, step: 1};
    const input = el("input", {id, ...attributes}), output = el("output", {for: id
                                                    });
    return {
      input,
      output,
      element:
          el("p", {class: "setting"},
             el("label",
                {for: id
                },
                `${name}: ${what}`),
             input, output)
    };
  }
  read({setting, input}) {
    const at = Number(input.value);
    if (!setting.whole) return sliderValue(setting, at / kSliderSteps);
    return Number.isInteger(at) && at >= setting.low && at <= setting.high ? at : setting.value;
  }
  // Without a value: the default.
  set(row, value) {
    const {setting, input, output} = row;
    row.value = value ?? setting.value;
    if (value === undefined) {
      input.value = setting.whole ? setting.value : Math.round(kSliderSteps * sliderPart(setting, setting.value));
    }
    const text = row.value === setting.value ? `${row.value}` : `${row.value} (default ${setting.value})`;
    output.textContent = text;
    if (input.type === "range") input.setAttribute("aria-valuetext", text);
    const changed = this.rows.filter((r) => r.value !== r.setting.value).map((r) => `${r.setting.name} = ${r.value}`);
    this.summary.textContent = changed.length ? `Settings: ${changed.join(", ")}` : "Settings: all as in the text";
  }
  // The arguments for the program.
  get words() {
    return this.rows.filter((row) => row.value !== row.setting.value)
        .flatMap((row) => ["--set", `${row.setting.name}=${row.value}`]);
  }
  disable(on) {
    for (const {input} of this.rows) input.disabled = on;
  }
}
