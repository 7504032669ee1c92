// One entry: its form, and its result beside it.

import { asCommand, asTest } from "/argument_copies.js";
import { element, freshId } from "/elements.js";
import { EntryCall, methodOf, paramsOf, parameterHeaders, schemaOf } from "/entry_call.js";
import { askQuestions } from "/question_form.js";
import { partsOf } from "/rendered_view.js";
import { ResultTabs } from "/result_tabs.js";
import { openSaveTest } from "/save_test.js";
import { SchemaForm } from "/schema_form.js";
import { keep, kept } from "/storage.js";

const RENEW_DELAY_MS = 150;

/** The keys that run an entry. */
const RUN_KEYS = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘↵" : "Ctrl ↵";

export class EntryView {
  /** The form and the result side by side. */
  element = element("div", { class: "entry" });
  #client;
  #api;
  #options;
  #entry;
  #schema;
  #form;
  #tabs;
  #run;
  #cancel;
  #timer;
  /** The call that is shown, or under way. */
  #call;
  #previous;
  #lastResult;
  #values = {};
  #result;

  constructor({ client, api, options }, entry, schemas) {
    this.#client = client;
    this.#api = api;
    this.#options = options;
    this.#entry = entry;
    this.#tabs = new ResultTabs({
      entry, api, options,
      resend: (version) => client.requestIn(version, methodOf(this.#entry), paramsOf(this.#entry, this.#values)),
      tryExpression: (expression) => this.#try(expression),
    });
    this.update(entry, schemas);
  }

  get entry() {
    return this.#entry;
  }

  /** Tools act on the world, so they are run on a button alone. */
  get #isRunByHand() {
    return this.#entry.kind === "tool";
  }

  /** Shows an entry as it is now; what stood in its fields stays. Whether its form is another than before. */
  update(entry, schemas) {
    const schema = schemaOf(entry, schemas);
    const isSame = this.#form && JSON.stringify([this.#entry.listing, this.#schema, this.#entry.place]) === JSON.stringify([entry.listing, schema, entry.place]);
    this.#entry = entry;
    if (isSame) return false;
    this.#schema = schema;
    const focused = this.#form?.focusPlace();
    const values = this.#form?.kept() ?? kept(this.#key, {});
    this.#form = new SchemaForm(schema, {
      values,
      texts: entry.kind !== "tool",
      complete: entry.kind === "tool" ? undefined : (name, value, others) => this.#complete(name, value, others),
      onInput: () => this.#changed(),
    });
    this.#render();
    if (focused) this.#form.focusAt(focused);
    return true;
  }

  #render() {
    const { listing, kind, id, place } = this.#entry;
    const titleId = freshId("entry");
    const label = kind === "tool" ? "Run" : kind === "prompt" ? "Get" : "Read";
    this.#run = element("button", { type: "submit", class: "primary" }, label, element("kbd", { "aria-hidden": "true", text: RUN_KEYS }));
    this.#cancel = element("button", { type: "button", text: "Cancel", hidden: true, onclick: () => this.#call?.cancel() });
    const reset = element("button", { type: "button", class: "quiet", text: "Reset", onclick: () => this.reset() });
    const form = element("form", { class: "entry-form", novalidate: true, "aria-labelledby": titleId },
      element("div", { class: "entry-scroll" },
        element("div", { class: "entry-head" },
          element("h2", { id: titleId, class: "entry-title", text: listing.title || id }),
          element("div", { class: "entry-name" }, element("span", { class: "entry-kind", text: kind }), element("code", { text: id })),
          listing.description ? element("p", { class: "entry-about", text: listing.description }) : undefined,
          place ? element("a", { class: "entry-place", href: this.#options.editorLink(place), text: `${place.file}:${place.line}`, title: "Open in the editor" }) : undefined),
        this.#form.element),
      element("div", { class: "entry-actions" }, this.#run, this.#cancel, element("span", { class: "spacer" }), reset, this.#copyMenu()));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.show();
    });
    this.element.replaceChildren(form, this.#tabs.element);
  }

  #copyMenu() {
    const list = element("div", { class: "menu-list", role: "menu", hidden: true });
    const button = element("button", { type: "button", class: "quiet", "aria-haspopup": "menu", "aria-expanded": "false", text: "Copy…" });
    const open = (isOpen) => {
      list.hidden = !isOpen;
      button.setAttribute("aria-expanded", String(isOpen));
      if (isOpen) list.firstChild.focus();
    };
    const item = (label, act) =>
      element("button", { type: "button", role: "menuitem", text: label, onclick: () => (open(false), button.focus(), act()) });
    list.append(...this.actions.map(({ label, run }) => item(label, run)));
    button.addEventListener("click", () => open(list.hidden));
    const menu = element("div", { class: "menu" }, button, list);
    menu.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const items = [...list.children];
      if (event.key === "Escape") open(false), button.focus();
      else if (step && !list.hidden) items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
      else return;
      event.preventDefault();
    });
    menu.addEventListener("focusout", (event) => menu.contains(event.relatedTarget) || open(false));
    return menu;
  }

  /** What can be done with the values of the form. */
  get actions() {
    const values = () => {
      const read = this.#form.read();
      return read.values ?? read.given ?? {};
    };
    const copied = (what, write) => () => this.#copy(what, write(this.#entry, paramsOf(this.#entry, values()).uri, values()));
    return [
      { label: `Copy as folio ${{ tool: "call", prompt: "get" }[this.#entry.kind] ?? "read"}`, run: copied("command", asCommand) },
      { label: "Copy as JSON", run: copied("JSON", (_, __, given) => JSON.stringify(given, null, 2)) },
      { label: "Copy as test", run: copied("test", asTest) },
      { label: "Save as test…", run: () => this.#saveTest() },
    ];
  }

  async #copy(what, text) {
    await navigator.clipboard.writeText(text).then(
      () => (this.#tabs.status = `copied the ${what}`),
      () => (this.#tabs.status = [`copy this ${what}: `, element("code", { text })]),
    );
  }

  async #saveTest() {
    const { values, error, missing } = this.#form.read({ shows: true });
    if (error || missing) return void (this.#tabs.status = error ?? `${missing} is required`);
    if (this.#result === undefined || this.#isOutdated()) return void (this.#tabs.status = "run it first: a test expects what was seen");
    const { kind, id } = this.#entry;
    const uri = paramsOf(this.#entry, values).uri;
    openSaveTest(this.#api, { kind, id, uri, arguments: values, call: this.#call?.id });
  }

  reset() {
    this.#form.reset();
    keep(this.#key, undefined);
  }

  /** Another choice of how it is shown. */
  redraw(name) {
    if (name === "editor") this.element.querySelector(".entry-place")?.setAttribute("href", this.#options.editorLink(this.#entry.place));
    this.#tabs.redraw();
  }

  walk(step) {
    this.#tabs.walk(step);
  }

  /** Shows it again after a save; what acts is not run by that. */
  renew(isEdited) {
    this.#tabs.updateSource(this.#entry, { marksChanges: isEdited });
    if (!this.#isRunByHand && !this.#tabs.questions.querySelector("form")) this.show({ marksChanges: true });
  }

  set gaps(gaps) {
    this.#tabs.gaps = gaps;
  }

  /** Takes what the server tells of a finished request. */
  note(event) {
    if (this.#call?.note(event)) this.#showTrace();
  }

  #showTrace() {
    this.#tabs.updateCall({ trace: this.#call.trace, values: this.#values, result: this.#result });
  }

  #changed() {
    keep(this.#key, this.#form.kept({ secrets: false }));
    if (this.#isRunByHand) {
      if (this.#isOutdated()) this.#tabs.status = "the arguments are others than those of this result";
      return;
    }
    this.#tabs.status = "";
    clearTimeout(this.#timer);
    if (this.#result !== undefined && !this.#isOutdated()) return;
    this.#timer = setTimeout(() => this.show(), RENEW_DELAY_MS);
  }

  /** Whether what is shown came of other arguments than those in the form. */
  #isOutdated() {
    const { values } = this.#form.read();
    return this.#result !== undefined && JSON.stringify(values) !== JSON.stringify(this.#values);
  }

  get #key() {
    return `values ${this.#entry.kind} ${this.#entry.id}`;
  }

  async #complete(name, value, others) {
    const { kind, id } = this.#entry;
    const ref = kind === "prompt" ? { type: "ref/prompt", name: id } : { type: "ref/resource", uri: id };
    if (kind === "resource") return [];
    const given = Object.fromEntries(Object.entries(others).filter(([other]) => other !== name));
    const context = { arguments: given };
    const { completion } = await this.#client.request("completion/complete", { ref, argument: { name, value }, context });
    return completion.values;
  }

  /** Calls it, and shows what comes. */
  async show({ marksChanges = false } = {}) {
    clearTimeout(this.#timer);
    const { values, error, missing } = this.#form.read({ shows: this.#isRunByHand });
    this.#call?.cancel();
    if (this.#isRunByHand && (error || missing)) this.#form.focusMistake();
    if (error) return this.#fail(error);
    if (missing) return this.#wait(`${missing} is required`);
    const call = new EntryCall(this.#client, this.#entry);
    const earlier = kept(`answers ${this.#key}`, {});
    const answers = {};
    this.#call = call;
    this.#values = values;
    this.#setRunning(this.#isRunByHand);
    if (this.#isRunByHand) this.#tabs.begin();
    const ask = async (requests, signal) => {
      this.#tabs.status = "waiting for your answer";
      // The question takes the focus that stood here since it was run.
      if (document.activeElement === this.#cancel) this.#cancel.blur();
      const onAnswered = (key, answer) => keep(`answers ${this.#key}`, Object.assign(answers, { [key]: answer }));
      return askQuestions(requests, this.#tabs.showQuestions(), signal, { earlier, onAnswered }).finally(() => {
        if (this.#call === call) this.#tabs.status = this.#isRunByHand ? "running…" : "";
      });
    };
    const onNotification = this.#isRunByHand ? (message) => this.#notified(message) : undefined;
    const headers = this.#isRunByHand ? parameterHeaders(this.#schema, this.#values) : {};
    try {
      const result = await call.run(this.#values, { headers, onNotification, ask });
      if (this.#call === call) await this.#succeed(result, marksChanges);
    } catch (failure) {
      if (this.#call === call) this.#fail(call.isCancelled ? "cancelled" : failure.message);
    } finally {
      if (this.#call === call) this.#finish(call);
    }
  }

  #finish(call) {
    this.#setRunning(false);
    this.#tabs.updateCall({ exchanges: call.exchanges });
    this.#showTrace();
  }

  #setRunning(isRunning) {
    const [shown, hidden] = isRunning ? [this.#cancel, this.#run] : [this.#run, this.#cancel];
    const hadFocus = document.activeElement === hidden;
    shown.hidden = false;
    hidden.hidden = true;
    if (hadFocus) shown.focus();
    // What runs by itself leaves what was said of a press, as that it was copied.
    if (this.#isRunByHand) this.#tabs.status = isRunning ? "running…" : "";
  }

  #notified({ method, params }) {
    if (method === "notifications/progress") {
      const { progress, total, message } = params;
      const bar = element("progress", { "aria-label": "Progress", max: total, value: total === undefined ? undefined : progress });
      const words = [message, total === undefined ? progress : `${progress} of ${total}`].filter(Boolean).join(" · ");
      this.#tabs.status = [words, bar];
    } else if (method === "notifications/message") {
      const data = typeof params.data === "string" ? params.data : JSON.stringify(params.data);
      this.#tabs.log(element("pre", { class: "result-log", text: `${params.level}: ${data}` }));
    }
  }

  async #succeed(result, marksChanges) {
    const parts = partsOf(methodOf(this.#entry), result);
    const text = JSON.stringify([parts, result.structuredContent]);
    this.#result = result;
    // What changed stays marked until something changes again.
    if (text === this.#lastResult) return;
    const previous = marksChanges ? this.#previous : undefined;
    const isRepeated = result.description === this.#entry.listing.description;
    await this.#tabs.show(isRepeated ? { ...result, description: undefined } : result, previous, this.#tabs.logs);
    this.#previous = parts;
    this.#lastResult = this.#isRunByHand ? undefined : text;
  }

  #fail(message) {
    this.#lastResult = undefined;
    this.#result = undefined;
    this.#tabs.fail(message);
  }

  #wait(message) {
    this.#call = undefined;
    this.#lastResult = undefined;
    this.#tabs.status = "";
    this.#tabs.wait(message);
  }

  /** Evaluates an expression on what the steps of the last call left. */
  #try(expression) {
    const rows = (this.#call?.trace ?? []).filter(({ kind, depth, id }) => kind === "step" && depth === 0 && id);
    const steps = Object.fromEntries(rows.map(({ id, value }) => [id, value]));
    return this.#api.request("try", { tool: this.#entry.id, arguments: this.#values, steps, result: rows.at(-1)?.value, ...expression });
  }

  close() {
    clearTimeout(this.#timer);
    this.#call?.cancel();
    this.#call = undefined;
  }
}
