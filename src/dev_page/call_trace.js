// What a call did, as a waterfall: its steps, programs, requests and files, and when each of them ran.

import { element } from "/elements.js";
import { foldedLine, formatMs, goByArrows, preText, stopAt, toneOf, toneWord, wordsOf } from "/line_list.js";
import { valueTree } from "/value_tree.js";

const LINE = ".trace-line";
/** How many rows are made; a loop may have left thousands. */
const MAX_ROWS = 500;
const MAX_INDENT = 8;

/** @param trace the rows of a call, @param elapsedMs how long the whole took */
export function callTrace(trace, elapsedMs = 0) {
  const whole = Math.max(elapsedMs, ...trace.slice(0, MAX_ROWS).map((row) => row.startMs + row.elapsedMs), 0.001);
  const list = element("ul", { class: "trace-list" }, trace.slice(0, MAX_ROWS).map((row) => traceRow(row, whole)));
  goByArrows(list, LINE);
  stopAt(list, LINE);
  const left = trace.length - MAX_ROWS;
  return element("div", { class: "trace", role: "group", "aria-label": "What it did" },
    element("div", { class: "trace-axis", "aria-hidden": "true" },
      element("span", { class: "line-title", text: "What it did" }),
      element("span", { class: "trace-scale" }, [0, 0.5, 1].map((part) => element("span", { text: part ? formatMs(whole * part) : "0" })))),
    list,
    left > 0 ? element("p", { class: "dim trace-left", text: `and ${left} more` }) : undefined);
}

function traceRow(row, whole) {
  const { kind, depth = 0, id, label, end, outcome, details, value } = row;
  const bar = element("span", { class: `trace-bar ${toneOf(outcome)}` });
  bar.style.setProperty("--start", `${Math.min(100, (row.startMs / whole) * 100)}%`);
  bar.style.setProperty("--length", `${Math.min(100, (row.elapsedMs / whole) * 100)}%`);
  const what = element("span", { class: "trace-what", title: [label, end].filter(Boolean).join(" · ") },
    element("span", { class: `trace-kind ${kind}`, text: kind }),
    id === undefined || id === "" ? undefined : element("span", { class: /^\d+$/.test(id) ? "trace-id dim" : "trace-id", text: id }),
    element("span", { class: "trace-label", text: label }),
    end ? element("span", { class: "trace-end", text: end }) : undefined);
  what.style.setProperty("--depth", Math.min(depth, MAX_INDENT));
  return foldedLine({
    name: "trace",
    parts: [
      what,
      element("span", { class: "trace-track", "aria-hidden": "true" }, bar),
      // What went well needs no word to be seen.
      element("span", { class: "trace-outcome" }, outcome === "ok" ? element("span", { class: "hidden-text", text: "ok" }) : toneWord(outcome)),
      element("span", { class: "trace-time", text: formatMs(row.elapsedMs) }),
    ],
    body: () => [
      wordsOf([`began at ${formatMs(row.startMs) || "0"}`, `took ${formatMs(row.elapsedMs)}`, outcome, end].filter(Boolean).join(" · "), "What came of it", "dim trace-facts"),
      details ? preText(details, `Details of ${label}`) : undefined,
      value === undefined ? undefined : valueTree(value, { name: `Outcome of ${label}` }),
    ],
  });
}
