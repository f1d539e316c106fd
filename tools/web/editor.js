// A plain text box for code: line numbers beside it, and Enter keeps the indentation. Tab leaves the box, as everywhere
// on a page.

class Editor {
  // onCheck is called at Ctrl+Enter, onChange a moment after the text has changed.
  constructor(text, onChange, onCheck) {
    this.lines = el("pre", {class: "lines", "aria-hidden": true});
    this.area = el("textarea", {
      class: "mono",
      "aria-label": "Your functions in JavaScript",
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      wrap: "off",
      rows: 22,
      onscroll: () => (this.lines.scrollTop = this.area.scrollTop),
      onkeydown: (event) => this.key(event, onCheck),
      oninput: () => {
        this.count();
        clearTimeout(this.timer);
        this.timer = setTimeout(onChange, 400);
      }
    });
    this.element = el("div", {class: "editor"}, this.lines, this.area);
    this.text = text;
  }
  get text() {
    return this.area.value;
  }
  set text(text) {
    this.area.value = text;
    this.count();
  }
  count() {
    const n = this.area.value.split("\n").length;
    if (n !== this.shownLines) this.lines.textContent = Array.from({length: n}, (_, i) => i + 1).join("\n");
    this.shownLines = n;
  }
  key(event, onCheck) {
    if (event.key !== "Enter" || event.isComposing) return;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      onCheck();
    } else if (!event.shiftKey && !event.altKey) {
      event.preventDefault();
      const before = this.area.value.slice(0, this.area.selectionStart),
            line = before.slice(before.lastIndexOf("\n") + 1);
      this.insert(
          "\n" +
          /^ */.exec(line)[0] + (/[{([]$/.test(line) ? "  " : ""));
    }
  }
  // Replaces the selection so that the browser's undo takes it back.
  insert(text) {
    if (!document.execCommand("insertText", false, text)) {
      this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, "end");
      this.area.dispatchEvent(new Event("input"));
    }
  }
  // Selects a line and shows it.
  goTo(line) {
    const lines = this.area.value.split("\n"), at = Math.min(Math.max(line, 1), lines.length) - 1;
    const begin = lines.slice(0, at).reduce((sum, one) => sum + one.length + 1, 0);
    this.area.focus();
    this.area.setSelectionRange(begin, begin + lines[at].length);
    this.area.scrollTop = (this.area.scrollHeight / lines.length) * Math.max(0, at - 4);
  }
  // The line on which a function begins, 0 if there is none.
  lineOf(name) {
    const begin = new RegExp(`\\b(function\\s+${name}\\s*\\(|(const|let|var)\\s+${name}\\s*=)`);
    return this.area.value.split("\n").findIndex((line) => begin.test(line)) + 1;
  }
}
