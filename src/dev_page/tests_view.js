// The tests of the manifest: which fail and why, which pass, and what no test reaches.

import { toPaste } from "/copy_button.js";
import { diffView } from "/diff_view.js";
import { element } from "/elements.js";
import { foldedLine, formatMs, goByArrows, helpOf, nothingHere, preText, redrawInPlace, stopAt, toneWord, wordsOf } from "/line_list.js";

const LINE = ".test-line";
const GROUPS = { failed: "Failed", waiting: "Waiting", passed: "Passed", skipped: "Skipped" };

const FIRST_TEST = `tests:
  greet says the name:
    prompt: greet
    arguments: { who: Ada }
    expect: { contains: Ada }
`;

const keyOf = ({ entry, name, path }) => `${entry}\n${name}\n${path}`;

export class TestsView {
  #editorLink;
  #onRun;
  #onOpenEntry;
  /** The tests, each as it last ended: one that runs again stays where it is until it has. */
  #tests = [];
  #gaps = [];
  #isRunning = false;
  /** Whether the server has said which tests there are. */
  #hasHeard = false;
  /** The lines that are shown, by key, with what they were made of. */
  #lines = new Map();
  #open = new Set();
  #word = element("span", { class: "tests-word", role: "status" });
  #counts = element("span", { class: "drawer-summary" });
  #runAll = element("button", { type: "button", class: "small", text: "Run all", onclick: () => this.#run({}) });
  #runFailed = element("button", { type: "button", class: "small", text: "Run failed", onclick: () => this.#run({ names: this.#named("failed") }) });
  #error = element("p", { class: "error-text tests-error", role: "alert" });
  #groups = element("div", { class: "tests-groups" });
  #gapPlace = element("div", {});

  constructor({ editorLink, onRun, onOpenEntry }) {
    this.#editorLink = editorLink;
    this.#onRun = onRun;
    this.#onOpenEntry = onOpenEntry;
    this.element = element("div", { class: "tests drawer-view" },
      element("div", { class: "drawer-tools" }, this.#counts, this.#word, element("div", { class: "tests-actions" }, this.#runFailed, this.#runAll)),
      this.#error, this.#groups, this.#gapPlace);
    goByArrows(this.#groups, LINE);
    this.redraw();
  }

  /** How many passed, failed and were skipped. */
  get counts() {
    const count = (status) => this.#tests.filter((test) => test.status === status).length;
    return { failed: count("failed"), passed: count("passed"), skipped: count("skipped") };
  }

  /** What the tests of an entry say of it. */
  statusOf(entry) {
    const found = this.#tests.filter((test) => test.entry === entry).map(({ status }) => status);
    return ["failed", "passed"].find((status) => found.includes(status));
  }

  update({ running = false, tests = [], gaps = [] }) {
    const before = new Map(this.#tests.map((test) => [keyOf(test), test]));
    this.#tests = tests.map((test) => {
      const known = test.status === "waiting" ? before.get(keyOf(test)) : undefined;
      return known ? { ...known, file: test.file, path: test.path, line: test.line } : test;
    });
    this.#isRunning = running;
    this.#hasHeard ||= tests.length > 0 || !running;
    this.#gaps = gaps;
    this.#error.textContent = "";
    this.#draw();
  }

  /** Draws it again: another editor opens the places. */
  redraw() {
    this.#lines.clear();
    this.#draw();
  }

  #draw() {
    redrawInPlace(this.element, LINE, () => this.#drawAll());
  }

  #drawAll() {
    const counts = this.counts;
    const said = Object.entries(counts).filter(([, count]) => count).map(([status, count]) => toneWord(status, `${count} ${status}`));
    this.#counts.replaceChildren(...said);
    this.#word.textContent = this.#isRunning ? "running…" : "";
    this.#runFailed.disabled = this.#isRunning || counts.failed === 0;
    this.#runAll.disabled = this.#isRunning || this.#tests.length === 0;
    this.#word.parentElement.hidden = this.#tests.length === 0;
    this.#groups.classList.toggle("is-running", this.#isRunning);
    this.#drawGroups();
    this.#drawGaps();
    stopAt(this.#groups, LINE);
  }

  #drawGroups() {
    const lines = new Map();
    const groups = Object.entries(GROUPS).map(([status, title]) => {
      const tests = this.#tests.filter((test) => test.status === status);
      if (tests.length === 0) return undefined;
      const items = tests.map((test) => {
        const key = keyOf(test);
        const made = JSON.stringify(test);
        const known = this.#lines.get(key);
        const line = known?.made === made ? known : { made, item: this.#item(test, key) };
        lines.set(key, line);
        return line.item;
      });
      return element("div", { class: "tests-group", role: "group", "aria-label": title },
        element("h2", { class: "line-title" }, title, element("span", { class: "tests-count", text: tests.length })), element("ul", {}, items));
    });
    this.#lines = lines;
    for (const key of this.#open) if (!lines.has(key)) this.#open.delete(key);
    const none = this.#tests.length > 0 ? [] : [this.#isRunning || !this.#hasHeard ? nothingHere("Running the tests…") : emptyView()];
    this.#groups.replaceChildren(...groups.filter(Boolean), ...none);
  }

  #item(test, key) {
    const { name, status, entry, elapsedMs, live, file, line, path } = test;
    const item = foldedLine({
      name: "test",
      parts: [
        element("span", { class: "line-twist", "aria-hidden": "true" }),
        element("span", { class: "test-status" }, toneWord(status)),
        element("span", { class: "test-name", title: name, text: name }),
        live ? element("span", { class: "test-live", text: "live" }) : element("span", { class: "test-live" }),
        element("span", { class: "test-entry", title: entry, text: entry ?? "" }),
        element("span", { class: "test-time", text: status === "skipped" ? "" : formatMs(elapsedMs) }),
      ],
      // For the mouse; the same stands in what the line opens to, so that the list is one stop of the tab key.
      beside: [this.#placeLink({ file, path, line }, "-1"), live ? element("span", { class: "test-run" }) : this.#runButton(test, { class: "quiet small test-run", tabindex: "-1" })],
      body: () => this.#body(test),
      isOpen: this.#open.has(key),
      onToggle: (isOpen) => (isOpen ? this.#open.add(key) : this.#open.delete(key)),
    });
    item.dataset.key = key;
    return item;
  }

  #placeLink({ file, path, line }, tabindex) {
    if (!file) return element("span", { class: "line-place" });
    const text = line ? `${file}:${line}` : file;
    if (!path) return element("span", { class: "line-place dim", text });
    return element("a", { class: "line-place", tabindex, href: this.#editorLink({ path, line }), title: `Open ${text} in the editor`, text });
  }

  #runButton(test, more = { class: "small" }) {
    return element("button", { type: "button", ...more, text: "Run", onclick: () => this.#run({ names: [test.name] }) });
  }

  #body(test) {
    const { failures = [], status, live, entry } = test;
    const words = { passed: "It passed.", skipped: live ? undefined : "It was skipped.", waiting: "It has not run yet." };
    return [
      failures.length === 0 && words[status] ? element("p", { class: "dim", text: words[status] }) : undefined,
      ...failures.map((failure) => this.#failure(failure)),
      live ? this.#liveActions(test) : undefined,
      element("div", { class: "line-actions" },
        live ? undefined : this.#runButton(test),
        entry && this.#onOpenEntry ? element("button", { type: "button", class: "quiet small cut", text: `Open ${entry}`, onclick: () => this.#onOpenEntry(entry) }) : undefined,
        this.#placeLink(test)),
    ];
  }

  #failure({ message, help, details, diff, file, path, line }) {
    const text = Array.isArray(details) ? details.join("\n") : details;
    return element("div", { class: "test-failure" },
      element("div", { class: "test-message" }, wordsOf(message, "Message", "error-text"), this.#placeLink({ file, path, line })),
      help ? helpOf(help) : undefined,
      text ? preText(text, "Details") : undefined,
      diff?.length ? element("div", { class: "test-diff" },
        element("p", { class: "test-legend" }, element("span", { class: "test-expected", text: "- expected" }), element("span", { class: "test-actual", text: "+ actual" })),
        diffView(diff, { name: "Expected and actual" })) : undefined);
  }

  /** A live test acts for real: it runs when one has said so twice, and never otherwise. */
  #liveActions(test) {
    const show = (isAsked) => {
      sure.hidden = !isAsked;
      button.hidden = isAsked;
      (isAsked ? leave : button).focus();
    };
    const run = () => {
      show(false);
      this.#run({ names: [test.name], live: true });
    };
    const button = element("button", { type: "button", class: "small", text: "Run live…", onclick: () => show(true) });
    const leave = element("button", { type: "button", class: "small", text: "Leave it", onclick: () => show(false) });
    const sure = element("div", { class: "test-warning", hidden: true },
      element("p", { text: "This test acts for real: its programs run, and its requests are sent." }),
      element("div", { class: "line-actions" }, element("button", { type: "button", class: "small danger", text: "Run it for real", onclick: run }), leave));
    return element("div", { class: "test-live-place" }, button, sure);
  }

  #named = (status) => this.#tests.filter((test) => test.status === status && !test.live).map(({ name }) => name);

  async #run(body) {
    this.#error.textContent = "";
    try {
      await this.#onRun(body);
    } catch ({ message }) {
      this.#error.textContent = message;
    }
  }

  #drawGaps() {
    const wasOpen = this.#gapPlace.querySelector("details")?.open ?? false;
    const rows = this.#gaps.map(({ file, path, line, label }) =>
      element("li", { class: "tests-gap" }, this.#placeLink({ file, path, line }), element("span", { class: "tests-gap-label", text: label })));
    this.#gapPlace.replaceChildren(...(rows.length === 0 || this.#tests.length === 0 ? [] : [
      element("details", { class: "tests-gaps", open: wasOpen },
        element("summary", { class: "line-title" }, "Not reached by any test", element("span", { class: "tests-count", text: rows.length })), element("ul", {}, rows))]));
  }
}

const emptyView = () =>
  nothingHere("No tests yet", element("p", { text: "A test calls an entry, and says what must come. It runs at each save:" }), toPaste(FIRST_TEST, "A first test"));
