// What went over the wire in the last run, message by message; and the same once more, in another version.

import { copyButton } from "/copy_button.js";
import { element } from "/elements.js";
import { foldedLine, formatMs, goByArrows, stopAt } from "/line_list.js";
import { valueTree } from "/value_tree.js";

const VERSIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const LINE = ".wire-line";
/** How much of a raw message is shown at first. */
const MAX_RAW = 100_000;
const MAX_OPEN = 4;

export class WireView {
  #resend;
  #exchanges = [];
  /** The exchanges that were sent again, by run: `{ version, exchanges }`. */
  #again = [];
  #isRaw = false;
  #isSending = false;
  /** Which exchanges were opened or closed by hand. */
  #open = new WeakMap();
  #version = element("select", { "aria-label": "Version to send in" }, VERSIONS.map((version) => element("option", { value: version, text: version })));
  #send = element("button", { type: "button", text: "Send in this version" });
  #raw = element("button", { type: "button", class: "toggle", "aria-pressed": "false", text: "Raw" });
  #said = element("p", { class: "wire-said", role: "status" });
  #runs = element("div", { class: "wire-runs" });

  /** @param isTool whether sending it again runs a tool again */
  constructor({ resend, isTool = false }) {
    this.#resend = resend;
    this.element = element("div", { class: "wire" },
      element("div", { class: "wire-tools" }, this.#version, this.#send,
        isTool ? element("span", { class: "wire-warning", text: "runs the tool again" }) : undefined,
        element("span", { class: "spacer" }), this.#raw),
      this.#said, this.#runs);
    this.#send.addEventListener("click", () => this.#sendAgain());
    this.#raw.addEventListener("click", () => {
      this.#isRaw = !this.#isRaw;
      this.#raw.setAttribute("aria-pressed", String(this.#isRaw));
      this.#draw();
    });
    this.#draw();
  }

  /** @param exchanges `[{ sent, received, elapsedMs, version, headers }]` of the last run */
  update({ exchanges = [] }) {
    this.#exchanges = exchanges;
    this.#again = [];
    this.#say("");
    this.#draw();
  }

  #say(text, isError = false) {
    this.#said.className = isError ? "wire-said error-text" : "wire-said";
    this.#said.textContent = text;
  }

  async #sendAgain() {
    const version = this.#version.value;
    const before = this.#exchanges;
    if (this.#isSending) return;
    this.#isSending = true;
    this.#send.setAttribute("aria-disabled", "true");
    this.#say("sending…");
    try {
      const exchanges = await this.#resend(version);
      // Another run has begun meanwhile: what came belongs to the one before.
      if (before !== this.#exchanges) return;
      this.#again.push({ version, exchanges: exchanges ?? [] });
      this.#say("");
      this.#draw();
      this.#runs.lastElementChild.scrollIntoView({ block: "nearest" });
    } catch ({ message }) {
      this.#say(message, true);
    } finally {
      this.#isSending = false;
      this.#send.removeAttribute("aria-disabled");
    }
  }

  #draw() {
    const runs = [...(this.#exchanges.length ? [{ title: "Last run", exchanges: this.#exchanges }] : []),
      ...this.#again.map(({ version, exchanges }) => ({ title: `Again in ${version}`, exchanges }))];
    this.#runs.replaceChildren(...runs.map((run) => this.#run(run)));
    if (runs.length === 0) this.#runs.append(element("p", { class: "drawer-empty-title", text: "Run it to see what goes over the wire." }));
  }

  #run({ title, exchanges }) {
    const list = element("ul", { class: "wire-list" }, exchanges.map((exchange) => this.#exchange(exchange, exchanges.length <= MAX_OPEN)));
    goByArrows(list, LINE);
    stopAt(list, LINE);
    return element("div", { class: "wire-run", role: "group", "aria-label": title }, element("h2", { class: "line-title", text: title }), list);
  }

  #exchange(exchange, opens) {
    const { sent, received = [], elapsedMs, version, headers } = exchange;
    const count = `${received.length} message${received.length === 1 ? "" : "s"} back`;
    return foldedLine({
      name: "wire",
      isOpen: this.#open.get(exchange) ?? opens,
      onToggle: (isOpen) => this.#open.set(exchange, isOpen),
      parts: [
        element("span", { class: "line-twist", "aria-hidden": "true" }),
        element("span", { class: "wire-method", text: sent?.method ?? "answer" }),
        element("span", { class: "wire-version", text: version ?? "" }),
        element("span", { class: "wire-count", text: count }),
        element("span", { class: "wire-time", text: formatMs(elapsedMs) }),
      ],
      body: () => [
        headers && Object.keys(headers).length ? headersView(headers) : undefined,
        element("div", { class: "line-columns" },
          this.#message("Sent", sent),
          element("div", { class: "wire-received" },
            received.map((message) => this.#message(`Received${kindOf(message)}`, message)),
            received.length === 0 ? element("p", { class: "dim", text: sent?.id === undefined ? "A notification has no answer." : "Nothing came." }) : undefined)),
      ],
    });
  }

  #message(title, message) {
    const raw = () => JSON.stringify(message, null, 2);
    return element("div", { class: "line-section", role: "group", "aria-label": title },
      element("div", { class: "wire-message-head" }, element("p", { class: "line-title", text: title }), copyButton(raw, { name: `Copy: ${title}` })),
      this.#isRaw ? rawView(raw(), title) : valueTree(message, { name: title }));
  }
}

function kindOf({ method, error }) {
  if (method) return ` · ${method}`;
  return error ? " · error" : "";
}

const headersView = (headers) =>
  element("dl", { class: "wire-headers" }, Object.entries(headers).flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: String(value) })]));

function rawView(text, title) {
  const shown = element("pre", { class: "line-pre wire-raw", tabindex: "0", role: "group", "aria-label": `${title}, raw`, text: text.slice(0, MAX_RAW) });
  if (text.length <= MAX_RAW) return shown;
  const showAll = () => {
    shown.textContent = text;
    more.remove();
    shown.focus();
  };
  const more = element("button", { type: "button", class: "small", text: `Show all ${text.length.toLocaleString("en")} characters`, onclick: showAll });
  return element("div", {}, shown, more);
}
