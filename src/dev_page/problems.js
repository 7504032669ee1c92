// The problems of the manifest, with their frames, and links by which an editor opens their places.

import { element } from "/elements.js";
import { editorLink, offerEditors } from "/view_options.js";

let shown = [];

/** Shows the problems of a state, or hides the list. */
export function showProblems(state) {
  const section = document.getElementById("problems");
  section.hidden = state.problems.length === 0;
  section.classList.toggle("warnings", !state.broken);
  shown = state.problems;
  document.getElementById("problem-list").replaceChildren(...shown.map(problemView));
}

/** Lets the author choose the editor that opens the places. */
export function setUpProblems() {
  offerEditors(() => document.getElementById("problem-list").replaceChildren(...shown.map(problemView)));
}

function problemView(problem) {
  const place = problem.file ? `${problem.file}:${problem.line}:${problem.column}` : "";
  const severity = element("strong", { class: problem.severity === "error" ? "error-text" : "warning-text" }, problem.severity);
  const summary = element("summary", {}, severity, `: ${problem.message}`);
  const frame = element("pre", { class: "frame", tabindex: "0", "aria-label": `source at ${place || problem.message}` }, problem.frame ?? "");
  return element("li", {}, problem.path ? placeLink(problem, place) : undefined, element("details", { open: true }, summary, frame));
}

function placeLink(problem, place) {
  return element("a", { class: "place", href: editorLink(problem), title: "Open in the editor", text: place });
}
