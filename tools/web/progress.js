// What a learner has written and reached, kept in this browser: one entry per lesson. It can be saved as a file, and
// read from one.

const kKeys = /^lesson([1-9]\d?[a-z]?)$/, kMark = "policygrad progress";
const keyOf = (number) => `policygrad.lesson${number}`;

// An entry with the fields that the pages use, whatever was stored: texts and states of checks.
function cleanEntry(raw) {
  const entry = {checks: {}, hints: {}, hunt: {}};
  for (const name of ["answered", "right", "streak", "best"]) {
    const count = object(object(raw).hunt)[name];
    entry.hunt[name] = Number.isInteger(count) && count >= 0 ? count : 0;
  }
  for (const name of ["code", "before"]) {
    if (typeof object(raw)[name] === "string") entry[name] = raw[name];
  }
  for (const [id, state] of Object.entries(object(object(raw).checks))) {
    if (["ok", "WRONG", "TODO"].includes(state)) entry.checks[id] = state;
  }
  for (const [id, count] of Object.entries(object(object(raw).hints))) {
    if (Number.isInteger(count) && count >= 0) entry.hints[id] = count;
  }
  return entry;
}

function loadEntry(number) {
  try {
    return cleanEntry(JSON.parse(localStorage.getItem(keyOf(number)) ?? "{}"));
  } catch {  // the browser keeps nothing, or something else wrote the entry
    return cleanEntry({});
  }
}

// Returns whether the browser kept the entry.
function saveEntry(number, entry) {
  try {
    localStorage.setItem(keyOf(number), JSON.stringify(entry));
    return true;
  } catch {
    return false;
  }
}

const okOf = (entry) => Object.values(entry.checks).filter((state) => state === "ok").length;

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], {type: "text/plain"}));
  el("a", {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// The file's text as a list of [number, entry]. Throws an Error with one sentence where it is none of ours.
function readProgress(text) {
  let data = null;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error("this file is no JSON");
  }
  if (object(data).kind !== kMark) throw new Error(`this file has no "kind": "${kMark}"`);
  return Object.entries(object(data.lessons))
      .filter(([name]) => kKeys.test(name))
      .map(([name, raw]) => [kKeys.exec(name)[1], cleanEntry(raw)]);
}

// The buttons of the index page, and beside each lesson how many of its checks are ok. `totals` has the number of
// checks by lesson.
function showProgress(box, totals) {
  const status = el("span", {role: "status", class: "muted"}), numbers = Object.keys(totals);
  const show = () => {
    for (const number of numbers) {
      const ok = okOf(loadEntry(number)), place = document.getElementById(`progress${number}`);
      replace(place, ok ? `${ok} of ${totals[number]} checks ok` : `${totals[number]} exercises to write here`);
    }
  };
  const save = () => {
    const lessons = Object.fromEntries(numbers.map((number) => [`lesson${number}`, loadEntry(number)]));
    download("policygrad_progress.json", JSON.stringify({kind: kMark, lessons}, null, 1));
  };
  const read = async (file) => {
    try {
      if (file.size > 1 << 22) throw new Error("this file has more than 4 MB");
      const entries = readProgress(await file.text());
      if (!confirm(
              `Read ${plural(entries.length, "lesson")} from ${file.name}? A text that you have here is kept aside.`)) {
        return;
      }
      for (const [number, entry] of entries) {
        const old = loadEntry(number).code;
        if (old !== undefined && old !== entry.code) entry.before = old;
        if (!saveEntry(number, entry)) throw new Error("this browser keeps nothing");
      }
      status.textContent = `${plural(entries.length, "lesson")} read from ${file.name}`;
    } catch (error) {
      status.textContent = `Nothing was read from ${file.name}: ${error.message}.`;
    }
    show();
  };
  const input = el("input", {
    type: "file",
    accept: ".json",
    hidden: true,
    onchange: () => {
      if (input.files[0]) read(input.files[0]);
      input.value = "";
    }
  });
  replace(
      box, "Your functions and results stay in this browser. ",
      el("button", {type: "button", onclick: save}, "Save them as a file"), " ",
      el("button", {type: "button", onclick: () => input.click()}, "Read a file"), input, " ", status);
  show();
}
