// Writes a call into the manifest as a test: shown as a diff first.

import { diffView } from "/diff_view.js";
import { element } from "/elements.js";

const PREVIEW_DELAY_MS = 200;

/** Asks for the name of the test, shows what would be written, and writes it. */
export function openSaveTest(api, call) {
  const name = element("input", { type: "text", value: `${call.id.replace(/^.*:\/\//, "")} works`, spellcheck: "false", autocomplete: "off" });
  const preview = element("div", { class: "save-preview", "aria-live": "polite" });
  const save = element("button", { type: "submit", class: "primary", text: "Write", disabled: true });
  const close = () => dialog.close();
  const form = element("form", { class: "dialog-body", method: "dialog" },
    element("h2", { text: "Save as test" }), element("label", {}, "Name", name), preview,
    element("div", { class: "dialog-actions" }, element("button", { type: "button", text: "Cancel", onclick: close }), save));
  const dialog = element("dialog", { "aria-label": "Save as test" }, form);
  const send = (write) => api.request("test/save", { ...call, name: name.value, write });
  let number = 0;
  const show = async () => {
    const mine = (number += 1);
    if (!preview.childElementCount) preview.replaceChildren(element("p", { class: "dim", text: "checking…" }));
    const said = await send(false).catch(({ message }) => ({ refusal: message }));
    if (mine !== number) return;
    save.disabled = said.refusal !== undefined;
    preview.replaceChildren(said.refusal === undefined
      ? element("div", {}, element("p", { class: "dim", text: said.file }), diffView(said.diff))
      : element("p", { class: "error-text", text: said.refusal }));
  };
  let timer;
  name.addEventListener("input", () => {
    save.disabled = true;
    clearTimeout(timer);
    timer = setTimeout(show, PREVIEW_DELAY_MS);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (save.disabled) return;
    save.disabled = true;
    const said = await send(true).catch(({ message }) => ({ refusal: message }));
    if (said.refusal === undefined) return close();
    preview.replaceChildren(element("p", { class: "error-text", text: said.refusal }));
    save.disabled = false;
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  name.select();
  show();
}
