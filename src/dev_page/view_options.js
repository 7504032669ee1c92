// How entries are shown: as a client would, Markdown as text or rendered, files in which editor. Kept by the browser.

import { element } from "/elements.js";

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

const EDITOR_KEY = "editor";
const CLIENT_KEY = "client";
const MARKDOWN_KEY = "markdown";

const kept = (key) => {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
};

function keep(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // A browser may keep nothing: the choice holds until the page is closed.
  }
}

export class ViewOptions {
  #clients = [];
  #client = kept(CLIENT_KEY) ?? "";
  #onChange;
  /** The name of the server. */
  server = "";
  /** How many tools it has. */
  toolCount = 0;
  rendersMarkdown = kept(MARKDOWN_KEY) === "yes";

  constructor(onChange) {
    this.#onChange = onChange;
    const markdown = document.getElementById("renders-markdown");
    markdown.checked = this.rendersMarkdown;
    markdown.addEventListener("change", () => {
      this.rendersMarkdown = markdown.checked;
      keep(MARKDOWN_KEY, markdown.checked ? "yes" : "no");
      onChange();
    });
    const client = document.getElementById("client");
    client.addEventListener("change", () => {
      this.#client = client.value;
      keep(CLIENT_KEY, client.value);
      onChange();
    });
  }

  /** What is known of the client that is chosen, if any is. */
  get client() {
    return this.#clients.find(({ name }) => name === this.#client);
  }

  /** The server and the clients that the events tell of. */
  update({ server, clients }) {
    const isSame = this.server === (server ?? "") && JSON.stringify(clients) === JSON.stringify(this.#clients);
    if (isSame) return;
    this.server = server ?? "";
    this.#clients = clients;
    const choice = document.getElementById("client");
    const options = clients.map(({ name }) => element("option", { value: name, text: name }));
    choice.replaceChildren(element("option", { value: "", text: "the server sends it" }), ...options);
    choice.value = this.client?.name ?? "";
    this.#onChange();
  }
}

/** Offers the editors, and tells when another is chosen. */
export function offerEditors(onChange) {
  const choice = document.getElementById("editor");
  choice.replaceChildren(...Object.keys(EDITORS).map((name) => element("option", { value: name, text: name })));
  const known = kept(EDITOR_KEY);
  if (known in EDITORS) choice.value = known;
  choice.addEventListener("change", () => {
    keep(EDITOR_KEY, choice.value);
    onChange();
  });
}

/** The address by which the chosen editor opens a place. */
export function editorLink({ path, line, column }) {
  const escaped = path.split("/").map(encodeURIComponent).join("/");
  return EDITORS[document.getElementById("editor").value]({ path: escaped, line, column });
}
