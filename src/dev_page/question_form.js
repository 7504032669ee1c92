// Answers in the page what a call asks its client: a conversation in the place of the result.

import { element, freshId, media } from "/elements.js";
import { SchemaForm } from "/schema_form.js";

/** A message that may not fit its bubble. */
const LONG_MESSAGE = 600;

/**
 * Shows the questions of an `input_required` result one by one; the answers by key. What was asked and answered stays in `place`,
 * until that is emptied.
 *
 * @param options.earlier the answers of the last run, by key, which are offered
 * @param options.onAnswered (key, answer) is told each answer as it may be kept: without what must not be shown
 */
export async function askQuestions(inputRequests, place, signal, { earlier = {}, onAnswered } = {}) {
  const requests = Object.entries(inputRequests ?? {});
  const asked = requests.filter(([, { method }]) => method !== "roots/list").map(([key]) => key);
  const responses = [];
  for (const [key, { method, params }] of requests) {
    const count = asked.length > 1 ? `${asked.indexOf(key) + 1} of ${asked.length}` : undefined;
    const last = Object.hasOwn(earlier, key) ? earlier[key] : undefined;
    if (method === "roots/list") {
      responses.push([key, { roots: [] }]);
      continue;
    }
    const question = questionOf(method, params ?? {});
    const answer = await askOne(question, { place, signal, count, last });
    responses.push([key, answer]);
    onAnswered?.(key, question.toKeep?.(answer) ?? answer);
  }
  return Object.fromEntries(responses);
}

/** The conversation of a place, which may be a log itself. */
function logOf(place) {
  const found = place.querySelector(":scope > .ask-log");
  if (found) return found;
  const named = place.getAttribute("role") === "log" ? {} : { role: "log", "aria-label": "Conversation" };
  const log = element("div", { class: "ask-log", tabindex: "-1", ...named });
  place.replaceChildren(log);
  return log;
}

function who(text, count) {
  const counted = count ? element("span", { class: "ask-count", text: count }) : undefined;
  return element("p", { class: "ask-who" }, element("span", { text }), counted);
}

const messageOf = (text) =>
  text === "" ? undefined : element("p", { class: "ask-message", text, ...(text.length > LONG_MESSAGE ? { tabindex: "0" } : {}) });

/** Asks one question, and leaves a line of what was answered. */
function askOne(question, { place, signal, count, last }) {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const log = logOf(place);
    const mistake = element("p", { class: "form-mistake", role: "alert", hidden: true });
    const turn = element("div", { class: "ask-turn" });
    const end = (reply) => {
      signal?.removeEventListener("abort", abort);
      const hadFocus = turn.contains(document.activeElement);
      turn.className = "ask-turn ask-answered";
      turn.replaceChildren(
        element("div", { class: "ask-asked" }, who(question.who), messageOf(question.about)),
        element("div", { class: `ask-reply ask-${reply.kind}` }, reply.parts));
      if (hadFocus) log.focus({ preventScroll: true });
    };
    const abort = () => {
      turn.remove();
      if (log.childElementCount === 0) log.remove();
      reject(signal.reason);
    };
    const refuse = ({ words, value, failure }) => {
      end({ kind: "refused", parts: [words] });
      if (failure) reject(new Error(failure));
      else resolve(value);
    };
    const button = (text, kind, onclick) => element("button", { type: "button", class: kind, text, onclick });
    const answer = element("button", { type: "submit", class: "primary", text: question.submitLabel });
    const offered = last !== undefined && question.offers(last);
    const again = offered ? button("Same as last time", "quiet ask-again", () => (question.fill(last), answer.focus())) : undefined;
    const refusals = question.refusals.map((refusal) => button(refusal.label, "quiet", () => refuse(refusal)));
    const form = element("form", { class: "ask-bubble", novalidate: true, "aria-label": question.name },
      who(question.who, count), messageOf(question.message), question.element, mistake,
      element("div", { class: "ask-actions" }, answer, again, element("span", { class: "ask-refusals" }, refusals)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { value, error } = question.read();
      // What is wrong is told at its field, which has the focus then.
      const isTold = !error || question.focusMistake?.();
      mistake.hidden = isTold;
      mistake.textContent = isTold ? "" : error;
      if (!error) {
        end({ kind: "given", parts: question.reply() });
        resolve(value);
      }
    });
    signal?.addEventListener("abort", abort, { once: true });
    turn.append(form);
    log.append(turn);
    const active = document.activeElement;
    const takesFocus = active === null || active === document.body || place.contains(active);
    if (takesFocus && !question.focus?.()) answer.focus();
  });
}

function questionOf(method, params) {
  if (method === "sampling/createMessage") return samplingQuestion(params);
  return params.mode === "url" ? visitQuestion(params) : formQuestion(params);
}

const text = (value) => (typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value));

const REFUSALS = [
  { label: "Decline", words: "Declined", value: { action: "decline" } },
  { label: "Cancel", words: "Cancelled", value: { action: "cancel" } },
];

/** A form to be filled. */
function formQuestion(params) {
  const message = text(params.message);
  const form = new SchemaForm(params.requestedSchema ?? {}, { fillsDefaults: true });
  const read = () => {
    const { values, error, missing } = form.read({ shows: true });
    if (missing !== undefined) return { error: `${missing} is required` };
    return error ? { error } : { value: { action: "accept", content: values } };
  };
  const reply = () => {
    const given = form.summary();
    if (given.length === 0) return ["Accepted"];
    const part = (kind, text) => element("span", { class: kind, text });
    return given.map(([label, value]) => element("p", { class: "ask-pair" }, part("ask-label", label), " ", part("ask-value", value)));
  };
  return {
    name: "The server asks", who: "The server asks you", message, about: message, element: form.element, read, reply,
    submitLabel: "Answer", refusals: REFUSALS,
    focus: () => form.focus(), focusMistake: () => form.focusMistake(),
    toKeep: (answer) => (answer.action === "accept" ? { ...answer, content: form.kept({ secrets: false }) } : answer),
    offers: (last) => last?.action === "accept" && Object.keys(last.content ?? {}).length > 0,
    fill: (last) => form.write(last.content),
  };
}

/** An address that the user is asked to visit. */
function visitQuestion(params) {
  const message = text(params.message);
  const written = text(params.url);
  const address = URL.canParse(written) ? new URL(written) : undefined;
  const isWeb = address !== undefined && ["http:", "https:"].includes(address.protocol);
  const parts = isWeb ? addressParts(address) : [written];
  const link = isWeb
    ? element("a", { class: "ask-open", href: address.href, target: "_blank", rel: "noopener noreferrer", text: "Open" })
    : element("p", { class: "form-hint", text: "This is no address of the web, so it cannot be opened here." });
  return {
    name: "The server asks to visit", who: "The server asks you to visit", message, about: message ? `${message}\n${written}` : written,
    element: element("div", { class: "ask-visit" }, element("p", { class: "ask-address" }, parts), link),
    read: () => ({ value: { action: "accept" } }), reply: () => ["Visited"], submitLabel: "Done", refusals: REFUSALS, offers: () => false,
    focus: () => (isWeb ? (link.focus(), true) : false),
  };
}

/** An address whose host is seen first, whatever stands before it. */
function addressParts({ protocol, username, password, host, pathname, search, hash }) {
  const user = username || password ? `${username}${password ? ":••••" : ""}@` : "";
  return [element("span", { text: `${protocol}//${user}` }), element("strong", { text: host }), element("span", { text: pathname + search + hash })];
}

/** What a model is asked, answered by hand. */
function samplingQuestion(params) {
  const id = freshId("sample");
  const answer = element("textarea", { id, class: "form-text ask-sample", rows: 3, spellcheck: "false" });
  const bubble = (role, content) => {
    const side = ["assistant", "system"].includes(role) ? role : "user";
    return element("div", { class: `ask-said ask-said-${side}` }, element("p", { class: "ask-role", text: role }), content);
  };
  const system = text(params.systemPrompt);
  const messages = Array.isArray(params.messages) ? params.messages : [];
  const said = [
    ...(system ? [bubble("system", messageOf(system))] : []),
    ...messages.map(({ role, content }) => bubble(text(role), [content].flat().map(contentOf))),
  ];
  const wishes = [
    params.maxTokens === undefined ? undefined : `at most ${text(params.maxTokens)} tokens`,
    params.temperature === undefined ? undefined : `temperature ${text(params.temperature)}`,
    ...[params.modelPreferences?.hints ?? []].flat().map((hint) => hint?.name && `preferably ${text(hint.name)}`),
  ].filter(Boolean);
  const view = element("div", { class: "form ask-samples" }, said,
    element("div", { class: "form-row" },
      element("div", { class: "form-head" }, element("label", { class: "form-label", for: id, text: "The model's answer" })),
      answer, wishes.length ? element("p", { class: "form-hint", text: wishes.join(", ") }) : undefined));
  const last = messages.at(-1);
  return {
    name: "The server asks a model", who: "The server asks a model", message: "", about: text([last?.content].flat()[0]?.text),
    element: view, submitLabel: "Answer",
    read: () => ({ value: { role: "assistant", model: "by-hand", stopReason: "endTurn", content: { type: "text", text: answer.value } } }),
    reply: () => [element("p", { class: "ask-message", text: answer.value || "An empty answer" })],
    // A result of a model cannot say that there is none: the call ends.
    refusals: [{ label: "Decline", words: "Declined", failure: "declined to answer for the model" }],
    offers: (earlier) => typeof earlier?.content?.text === "string" && earlier.content.text !== "",
    fill: (earlier) => (answer.value = earlier.content.text),
    focus: () => (answer.focus(), true),
  };
}

/** A block of what was said to a model. */
function contentOf(block) {
  if (block?.type === "text") return messageOf(text(block.text)) ?? element("p", { class: "ask-message" });
  if (block?.type === "image") return media(block.mimeType, text(block.data), "picture for the model");
  if (block?.type === "audio") return media(block.mimeType, text(block.data), "sound for the model");
  return element("p", { class: "ask-message ask-raw", text: text(block) });
}
