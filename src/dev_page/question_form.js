// Answers in the page what a call asks its client.

import { element, freshId } from "/elements.js";
import { SchemaForm } from "/schema_form.js";

/** Shows the questions of an `input_required` result one by one; the answers by key. */
export async function askQuestions(inputRequests, place, signal) {
  const responses = {};
  for (const [key, { method, params }] of Object.entries(inputRequests ?? {})) {
    responses[key] = await askOne(method, params ?? {}, place, signal);
  }
  place.replaceChildren();
  return responses;
}

function askOne(method, params, place, signal) {
  if (method === "roots/list") return { roots: [] };
  return new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    const question = method === "sampling/createMessage" ? samplingQuestion(params) : elicitation(params);
    const error = element("p", { class: "error-text", role: "alert" });
    const submit = () => {
      const { value, error: wrong } = question.read();
      if (wrong) error.textContent = wrong;
      else resolve(value);
    };
    const buttons = [
      element("button", { type: "submit", class: "primary", text: question.submitLabel }),
      ...question.refusals.map(([label, value]) => element("button", { type: "button", text: label, onclick: () => resolve(value) })),
    ];
    const legend = element("legend", { text: question.legend });
    const message = element("p", { class: "description", text: question.message });
    const fields = element("fieldset", {}, legend, message, question.element, error, element("div", { class: "actions" }, ...buttons));
    const form = element("form", { novalidate: true, "aria-label": question.legend }, fields);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      submit();
    });
    place.replaceChildren(form);
    (form.querySelector("input, textarea, select") ?? buttons[0]).focus();
  });
}

/** A form, or a page that the user is asked to visit. */
function elicitation(params) {
  const refusals = [["Decline", { action: "decline" }], ["Cancel", { action: "cancel" }]];
  const message = params.message ?? "";
  if (params.mode === "url") {
    const address = element("pre", { text: params.url ?? "" });
    const read = () => ({ value: { action: "accept" } });
    return { legend: "The server asks to visit", message, element: address, read, submitLabel: "Done", refusals };
  }
  const form = new SchemaForm(params.requestedSchema ?? {});
  const read = () => {
    const { values, error, missing } = form.read();
    if (missing) return { error: `${missing} is required` };
    return error ? { error } : { value: { action: "accept", content: values } };
  };
  return { legend: "The server asks", message, element: form.element, read, submitLabel: "Answer", refusals };
}

/** What a model is asked, answered by hand. */
function samplingQuestion(params) {
  const id = freshId("sample");
  const answer = element("textarea", { id, rows: 4 });
  const asked = (params.messages ?? []).map(({ role, content }) =>
    element("pre", { text: `${role}: ${[content].flat().map((block) => block?.text ?? JSON.stringify(block)).join("\n")}` }));
  const view = element("div", {}, ...asked, element("label", { class: "block", for: id, text: "The model's answer" }), answer);
  const read = () => ({
    value: { role: "assistant", model: "by-hand", stopReason: "endTurn", content: { type: "text", text: answer.value } },
  });
  const message = params.systemPrompt ?? "";
  return { legend: "The server asks a model", message, element: view, read, submitLabel: "Answer", refusals: [] };
}
