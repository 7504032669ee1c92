// What changed between two texts, line by line, as the server found it.

import { element } from "/elements.js";

const SIGNS = { added: "+", removed: "-", same: " " };
/** How many lines that are the same are shown beside a change, and how few are not worth folding. */
const CONTEXT = 3;
const MIN_FOLDED = 4;

/** @param diff `[{ change, text }]`, with `change` as `same`, `added` or `removed` */
export function diffView(diff, { name = "Change" } = {}) {
  const rows = runsOf(diff).flatMap(({ lines, isFolded }) => (isFolded ? [foldedLines(lines)] : lines.map(lineView)));
  return element("div", { class: "diff", role: "group", tabindex: "0", "aria-label": name }, rows);
}

function lineView({ change, text }) {
  return element("div", { class: `diff-line ${change}` },
    element("span", { class: "diff-sign", text: SIGNS[change] ?? " " }), element("span", { class: "diff-text", text: text.replace(/\n$/, "") }));
}

function foldedLines(lines) {
  const button = element("button", { type: "button", class: "diff-more", text: `${lines.length} lines that are the same` });
  button.addEventListener("click", () => button.replaceWith(...lines.map(lineView)));
  return button;
}

/** The lines in runs: those far from a change are folded. */
function runsOf(diff) {
  const isNear = new Array(diff.length).fill(false);
  diff.forEach(({ change }, at) => {
    if (change !== "same") isNear.fill(true, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const runs = [];
  diff.forEach((line, at) => {
    const last = runs.at(-1);
    if (last?.isFar === !isNear[at]) last.lines.push(line);
    else runs.push({ isFar: !isNear[at], lines: [line] });
  });
  return runs.map(({ isFar, lines }) => ({ lines, isFolded: isFar && lines.length >= MIN_FOLDED }));
}
