// What stands where no entry does: what to write next.

import { copyButton } from "/copy_button.js";
import { element } from "/elements.js";

const FIRST_PROMPT = `prompts:
  greet:
    description: Greet somebody
    arguments:
      who: { description: Whom to greet, required: true }
    text: Say hello to {{who}}.
`;

/** There is no entry yet. */
export const emptyView = () =>
  element("div", { class: "empty" },
    element("h2", { text: "Write the first entry" }),
    element("p", { text: "Add this to folio.yaml and save. It appears here at once." }),
    element("pre", { tabindex: "0", "aria-label": "A first prompt", text: FIRST_PROMPT }),
    element("div", {}, copyButton(() => FIRST_PROMPT)));

/** The entry that was shown is not there any more. */
export const goneView = () =>
  element("div", { class: "empty" }, element("h2", { text: "This entry is gone" }), element("p", { text: "Choose another at the left." }));
