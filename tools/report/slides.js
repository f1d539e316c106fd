// A demonstration as slides: one idea each, moved through by keys or two buttons.

// The items in groups: a slide has one table, plot or drawing, the text before it and the claims after it.
function slidesOf(items) {
  const slides = [];
  let heading = null, shows = false, claims = false;
  for (const item of items) {
    const picture = !["heading", "text", "claim"].includes(item.type);
    if (item.type === "heading") heading = item;
    if (item.type === "heading" || (item.type === "text" && (shows || claims)) || (picture && (shows || claims))) {
      slides.push(item.type === "heading" || !heading ? [] : [heading]);
      shows = claims = false;
    }
    if (slides.length === 0) slides.push([]);
    slides[slides.length - 1].push(item);
    shows ||= picture;
    claims ||= item.type === "claim";
  }
  return slides;
}

// Shows one slide of the items at a time in `box`, with the names of the keys. `leave` is called by Escape.
class Slides {
  constructor(box, items, leave) {
    Object.assign(this, {box, leave, slides: slidesOf(items), at: 0});
    const button = (text, name, act) => el("button", {type: "button", "aria-label": name, onclick: act}, text);
    this.count = el("span", {role: "status"});
    this.stage = el("div", {class: "stage"});
    replace(
        box, this.stage,
        el("p", {class: "row controls"}, button("◀", "previous slide", () => this.go(this.at - 1)), this.count,
           button("▶", "next slide", () => this.go(this.at + 1)),
           button("All on one page", "all on one page", () => this.end()),
           el("span", {class: "muted"}, "keys: → ← Home End, Esc")));
    this.keys = (event) => this.press(event);
    addEventListener("keydown", this.keys);
    document.documentElement.classList.add("slides");
    this.go(0);
  }
  press(event) {
    const keys = {
      ArrowRight: this.at + 1,
      PageDown: this.at + 1,
      " ": this.at + 1,
      ArrowLeft: this.at - 1,
      PageUp: this.at - 1,
      Home: 0,
      End: this.slides.length - 1
    };
    if (event.key === "Escape") return this.end();
    // A slider, a list and a button have keys of their own.
    if (event.target.closest?.("input, select, textarea") || (event.key === " " && event.target.closest?.("button")))
      return;
    if (event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    this.go(keys[event.key]);
  }
  go(to) {
    this.at = Math.max(0, Math.min(this.slides.length - 1, to));
    this.count.textContent = ` ${this.at + 1} of ${this.slides.length} `;
    replace(
        this.stage,
        this.slides[this.at].map((item) => (Object.hasOwn(kItems, item.type) ? kItems[item.type](item) : null)));
    scrollTo(0, 0);
  }
  end() {
    removeEventListener("keydown", this.keys);
    document.documentElement.classList.remove("slides");
    this.leave();
  }
}
