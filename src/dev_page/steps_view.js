// What each step of the last call left, the expressions that read it, and a place to try them.

import { copyButton, toPaste } from "/copy_button.js";
import { element } from "/elements.js";
import { foldedLine, formatMs, goByArrows, preText, stopAt, toneWord } from "/line_list.js";
import { expressionsFor, hasId } from "/step_expression.js";
import { TryField } from "/try_field.js";
import { unpick, valueTree } from "/value_tree.js";

const LINE = ".step-line";
/** So many steps are open at first; of more, only those that failed. */
const MAX_OPEN = 6;

const plainName = (id) => (/^[A-Za-z_][\w-]*$/.test(id) ? id : JSON.stringify(id));

const stepsYaml = (id) => `tools:
  ${plainName(id)}:
    run:
      - id: commits
        exec: [git, log, --oneline, -5]
      - id: draft
        set: { title: "Changes", text: "{{steps.commits.stdout}}" }
    result: { text: "{{steps.draft.text}}" }
`;

export class StepsView {
  element = element("div", { class: "steps" });
  #steps = [];
  /** Which were opened or closed by hand, by id. */
  #open = new Map();
  #list = element("ol", { class: "step-list", "aria-label": "Steps" });
  #expression = element("div", { class: "step-expression", role: "status" });
  #try;

  constructor({ tryExpression }) {
    this.#try = new TryField(tryExpression);
    goByArrows(this.#list, LINE);
  }

  /** @param trace the rows of the last call, @param result what it gave; nothing before the first run */
  update({ trace = [], entry, result }) {
    this.#steps = stepsOf(trace);
    if (this.#steps.length === 0) {
      this.#try.stop();
      return this.element.replaceChildren(emptyView(entry, result !== undefined));
    }
    const opens = (step) => this.#steps.length <= MAX_OPEN || step.outcome === "failed";
    this.#list.replaceChildren(...this.#steps.map((step) => this.#item(step, this.#open.get(keyOf(step)) ?? opens(step))));
    stopAt(this.#list, LINE);
    this.#showHint();
    this.element.replaceChildren(this.#list, element("div", { class: "step-foot" }, this.#expression, this.#try.element));
    this.#try.run();
  }

  #item(step, isOpen) {
    const { id, label, end, outcome, details, value, below } = step;
    const twist = element("span", { class: "line-twist", "aria-hidden": "true" });
    return foldedLine({
      name: "step",
      isOpen,
      onToggle: (opens) => this.#open.set(keyOf(step), opens),
      parts: [
        twist,
        element("span", { class: "step-what", title: [label, end].filter(Boolean).join(" · ") },
          element("span", { class: hasId(id) ? "step-id" : "step-id dim", text: hasId(id) ? id : `step ${id ?? ""}` }),
          element("span", { class: "step-label", text: label }),
          element("span", { class: "step-end", text: end ?? "" })),
        element("span", { class: "step-outcome" }, toneWord(outcome)),
        element("span", { class: "step-time", text: formatMs(step.elapsedMs) }),
      ],
      body: () => [
        below.length > 0 ? element("ul", { class: "step-below", "aria-label": "What it did" }, below.map(belowRow)) : undefined,
        this.#valueOf(step, value),
        details ? element("details", { class: "step-details" }, element("summary", { text: "Details" }), preText(details, `Details of ${id ?? label}`)) : undefined,
      ],
    });
  }

  #valueOf(step, value) {
    if (value === undefined || value === null) {
      const words = { skipped: "It was skipped, and left nothing.", waiting: "It waits for an answer.", failed: "It failed, and left nothing." };
      return element("p", { class: "dim", text: words[step.outcome] ?? "It left nothing." });
    }
    const tree = valueTree(value, { name: `Outcome of ${step.id ?? step.label}`, onPick: (path, part) => this.#pick(tree, step, path, part) });
    return tree;
  }

  #pick(tree, step, path, value) {
    for (const other of this.#list.querySelectorAll(".value-tree")) if (other !== tree) unpick(other);
    const isAlone = this.#steps.length === 1;
    const expressions = expressionsFor({ step, isAlone, path, value });
    if (expressions.length === 0) return this.#show([element("p", { class: "step-hint" }, "Give this step an ", element("code", { text: "id" }), ", so that others can read what it left.")]);
    this.#show(expressions.map(({ label, text, tries }) =>
      element("div", { class: "step-way" },
        element("span", { class: "step-way-label", text: label }),
        element("code", { class: "step-way-text", title: text, text }),
        element("span", { class: "step-way-actions" },
          element("button", { type: "button", class: "quiet small", "aria-label": `Try ${text}`, text: "Try", onclick: () => this.#try.set(tries) }),
          copyButton(() => text, { name: `Copy ${text}` })))));
  }

  #show(parts) {
    this.#expression.replaceChildren(...parts);
  }

  #showHint() {
    this.#show([element("p", { class: "step-hint", text: "Choose a value to get the expression that reads it." })]);
  }
}

const keyOf = ({ id, label, at }) => (hasId(id) ? id : `${at} ${label}`);

/** The steps of the called entry, each with what it did below it. */
function stepsOf(trace) {
  const steps = [];
  for (const row of trace) {
    if ((row.depth ?? 0) === 0 || steps.length === 0) steps.push({ ...row, at: steps.length, below: [] });
    else steps.at(-1).below.push(row);
  }
  return steps;
}

/** A program, a request, or a step of a tool that was used. */
function belowRow({ kind, depth, id, label, end, outcome, elapsedMs }) {
  const row = element("li", { class: "step-below-row" },
    element("span", { class: `trace-kind ${kind}`, text: kind }),
    element("span", { class: "step-below-what", title: label, text: hasId(id) ? `${id} ${label}` : label }),
    element("span", { class: "step-end", text: end ?? "" }),
    outcome === "ok" ? undefined : toneWord(outcome),
    element("span", { class: "step-time", text: formatMs(elapsedMs) }));
  row.style.setProperty("--depth", Math.min(depth - 1, 6));
  return row;
}

function emptyView(entry, hasRun) {
  const id = entry?.id ?? "draft";
  const yaml = stepsYaml(id);
  const about = element("p", { class: "dim", text: "Each step with an id leaves its outcome for later steps and for the result:" });
  if (hasRun) return element("div", { class: "steps-empty" }, element("p", { class: "drawer-empty-title", text: `${id} has no steps` }), about, toPaste(yaml, "A tool with steps"));
  return element("div", { class: "steps-empty" },
    element("p", { class: "drawer-empty-title", text: "Run it to see what each step leaves." }),
    element("details", {}, element("summary", { text: "How steps are written" }), about, toPaste(yaml, "A tool with steps")));
}
