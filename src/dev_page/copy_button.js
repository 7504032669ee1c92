// A button that copies a text, and says whether it did.

import { element } from "/elements.js";

const SHOWN_MS = 1600;

/** @param text gives what is copied, at the press: a text, or the promise of one */
export function copyButton(text, { label = "Copy", name } = {}) {
  const button = element("button", { type: "button", class: "quiet copy-button", "aria-label": name, text: label });
  const said = element("span", { class: "copy-said", role: "status" });
  let timer;
  const say = (isCopied) => {
    clearTimeout(timer);
    button.classList.toggle("copied", isCopied);
    // The button keeps its width: the words for it stand beside, where there are more than one.
    button.textContent = isCopied ? "Copied" : label;
    said.className = isCopied ? "hidden-text" : "copy-said";
    said.textContent = isCopied ? "Copied" : "The browser does not let the page copy: select the text, and press Ctrl C.";
    timer = setTimeout(() => {
      button.classList.remove("copied");
      button.textContent = label;
      if (isCopied) said.textContent = "";
    }, SHOWN_MS);
  };
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(await text());
      say(true);
    } catch {
      // It is not there without a secure context, and may be forbidden.
      say(false);
    }
  });
  return element("span", { class: "copy" }, button, said);
}

/** A text to paste, with a button that copies it. */
export const toPaste = (text, name) =>
  element("div", { class: "to-paste" }, element("pre", { tabindex: "0", role: "group", "aria-label": name, text }), copyButton(() => text));
