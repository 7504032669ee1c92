// The stream of events beside MCP: the faults of the manifest, reloads, tests, and the requests of all clients.

import { eventData } from "/mcp_client.js";

const RETRY_MS = 1000;

/** Reads events until the page is closed, and connects again when the server was away. */
export async function readEvents(token, { onEvent, onConnected, onLost }) {
  for (;;) {
    let status;
    try {
      const response = await fetch("/events", { headers: { Authorization: `Bearer ${token}` } });
      status = response.status;
      if (response.ok) {
        onConnected();
        for await (const event of eventData(response)) onEvent(event);
      }
    } catch {
      // It is away: below is what is done about it.
    }
    onLost(status);
    if (status === 401) return;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** What is known, with the changes of an event: all of it where they are whole. */
export function withChanges(known, { whole, changed, gone }) {
  const all = { ...(whole ? {} : known), ...changed };
  for (const name of gone ?? []) delete all[name];
  return all;
}
