// How entries are shown: as which client, texts as Markdown or as they are, places in which editor. Kept by the browser.

import { element } from "/elements.js";
import { keep, kept } from "/storage.js";

/** The places that editors open. */
const EDITORS = {
  "VS Code": ({ path, line, column }) => `vscode://file${path}:${line}:${column}`,
  "VS Code Insiders": ({ path, line, column }) => `vscode-insiders://file${path}:${line}:${column}`,
  VSCodium: ({ path, line, column }) => `vscodium://file${path}:${line}:${column}`,
  Cursor: ({ path, line, column }) => `cursor://file${path}:${line}:${column}`,
  Windsurf: ({ path, line, column }) => `windsurf://file${path}:${line}:${column}`,
  Zed: ({ path, line, column }) => `zed://file${path}:${line}:${column}`,
  "JetBrains IDEs": ({ path, line, column }) => `idea://open?file=${path}&line=${line}&column=${column}`,
  TextMate: ({ path, line, column }) => `txmt://open?url=file://${path}&line=${line}&column=${column}`,
};

export class ViewOptions {
  /** The clients that the server knows. */
  clients = [];
  /** The name of the server. */
  server = "";
  /** How many tools it has. */
  toolCount = 0;
  #values = kept("options", {});
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
  }

  /** The client as which entries are shown. */
  get client() {
    return this.clients.find(({ name }) => name === this.#values.client) ?? this.clients[0];
  }

  get rendersMarkdown() {
    return this.#values.rendersMarkdown ?? true;
  }

  /** Whether the source stands below other views. */
  get splitsSource() {
    return this.#values.splitsSource ?? true;
  }

  get editor() {
    return this.#values.editor in EDITORS ? this.#values.editor : Object.keys(EDITORS)[0];
  }

  get tab() {
    return this.#values.tab ?? "rendered";
  }

  set(name, value) {
    this.#values = { ...this.#values, [name]: value };
    keep("options", this.#values);
    this.#onChange(name);
  }

  /** The choice of the editor. */
  editorChoice() {
    const options = Object.keys(EDITORS).map((name) => element("option", { value: name, text: name }));
    const choice = element("select", { "aria-label": "Open places in" }, ...options);
    choice.value = this.editor;
    choice.addEventListener("change", () => this.set("editor", choice.value));
    return choice;
  }

  /** The address by which the chosen editor opens a place. */
  editorLink = ({ path, line = 1, column = 1 }) => {
    const escaped = path.split("/").map(encodeURIComponent).join("/");
    return EDITORS[this.editor]({ path: escaped, line, column });
  };
}
