// The log of the requests of all clients, and of reloads; newest first.

import { element, wholeTree } from "/elements.js";

const MAX_ROWS = 300;

/** Adds a row for an event, if it has one. */
export function logEvent(event) {
  const row = rowOf(event);
  if (!row) return;
  const list = document.getElementById("call-list");
  list.prepend(row);
  while (list.childElementCount > MAX_ROWS) list.lastElementChild.remove();
}

export const clearLog = () => document.getElementById("call-list").replaceChildren();

function rowOf(event) {
  const time = new Date(event.time).toLocaleTimeString();
  const at = element("span", { class: "dim", text: `${time} ` });
  switch (event.type) {
    case "call":
      return callRow(event, at);
    case "reload": {
      const words = event.broken ? event.changes : `${event.fixed ? "fixed, " : ""}reloaded: ${event.changes}`;
      return element("li", { class: event.broken ? "error-text" : undefined }, at, words);
    }
    case "client":
      return element("li", {}, at, `client ${event.client.name} ${event.client.version} ${event.state}`);
    default:
      return undefined;
  }
}

function callRow(event, at) {
  const outcome = element("span", { class: event.outcome === "failed" ? "error-text" : "dim" });
  outcome.textContent = `${event.outcome}, ${event.elapsedMs} ms${event.reason ? `: ${event.reason}` : ""}`;
  const head = `${event.client.name || "unnamed client"}: ${event.method} ${event.name} `;
  const details = element("details", {}, element("summary", {}, at, head, outcome));
  // Most rows are never opened.
  details.addEventListener("toggle", () => {
    if (!details.open || details.childElementCount > 1) return;
    details.append(
      element("p", { class: "dim", text: `MCP ${event.specVersion}` }),
      element("h3", { text: "Sent" }), wholeTree({ method: event.method, params: event.params }),
      element("h3", { text: "Answered" }), wholeTree(event.response?.error ? event.response : { result: event.response }),
    );
  });
  return element("li", {}, details);
}
