// The problems of the manifest, with their places and frames.

import { element } from "/elements.js";

/** Shows the problems of a state, or hides the list. */
export function showProblems(state) {
  const section = document.getElementById("problems");
  section.hidden = state.problems.length === 0;
  section.classList.toggle("warnings", !state.broken);
  document.getElementById("problem-list").replaceChildren(...state.problems.map(problemView));
}

function problemView(problem) {
  const place = problem.file ? `${problem.file}:${problem.line}:${problem.column}` : "";
  const severity = element("strong", { class: problem.severity === "error" ? "error-text" : "warning-text" }, problem.severity);
  const summary = element("summary", {}, severity, `: ${problem.message} `, element("span", { class: "dim", text: place }));
  const frame = element("pre", { class: "frame", tabindex: "0", "aria-label": `source at ${place || problem.message}` }, problem.frame ?? "");
  return element("li", {}, element("details", { open: true }, summary, frame));
}
