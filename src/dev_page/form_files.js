// A file that is dropped or picked, as base64.

import { element } from "/elements.js";

/** What a form takes of a file. */
const MAX_FILE_BYTES = 16 << 20;

const UNITS = ["bytes", "kB", "MB"];

/** A size as people read it. */
function sizeOf(bytes) {
  const unit = bytes < 1000 ? 0 : bytes < 1_000_000 ? 1 : 2;
  return `${unit === 0 ? bytes : (bytes / 1000 ** unit).toFixed(1)} ${UNITS[unit]}`;
}

function readBase64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result.slice(reader.result.indexOf(",") + 1)));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

export function fileControl(schema, { id, label }) {
  const isUrlSafe = /^base64url$/i.test(schema.contentEncoding ?? "");
  const target = element("input", { id, type: "file", class: "form-file-input", accept: schema.contentMediaType });
  const words = element("span", { class: "form-file-words" });
  const clear = element("button", { type: "button", class: "form-icon form-remove", "aria-label": `Remove the file of ${label}` });
  const zone = element("div", { class: "form-file" }, element("span", { class: "form-file-icon", "aria-hidden": "true" }), words, target, clear);
  let value;
  let error;
  let last = 0;
  const show = (name, detail) => {
    const isGiven = value !== undefined;
    zone.classList.toggle("form-has-file", isGiven);
    clear.hidden = !isGiven && error === undefined;
    const part = (kind, text) => element("span", { class: kind, text });
    if (isGiven) words.replaceChildren(part("form-file-name", name), part("form-file-size", detail));
    else words.replaceChildren("Drop a file, or choose one");
  };
  const write = (written) => {
    last += 1;
    value = written === undefined || written === "" ? undefined : String(written);
    error = undefined;
    target.value = "";
    show("file", value && sizeOf(Math.floor(value.replace(/=+$/, "").length * 3 / 4)));
  };
  const tell = () => zone.dispatchEvent(new Event("input", { bubbles: true }));
  const take = async (file) => {
    const mine = (last += 1);
    error = undefined;
    try {
      if (file.size > MAX_FILE_BYTES) throw new Error(`larger than ${MAX_FILE_BYTES >> 20} MiB`);
      const text = await readBase64(file);
      if (mine !== last) return;
      value = isUrlSafe ? text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "") : text;
    } catch (failure) {
      if (mine !== last) return;
      value = undefined;
      error = failure.message;
    }
    show(file.name, sizeOf(file.size));
    tell();
  };
  // The form hears of a file when it is read, not when it is picked.
  target.addEventListener("input", (event) => event.stopPropagation());
  target.addEventListener("change", () => target.files.length && take(target.files[0]));
  for (const [kind, isOver] of [["dragenter", true], ["dragover", true], ["dragleave", false], ["drop", false]]) {
    target.addEventListener(kind, () => zone.classList.toggle("form-is-over", isOver));
  }
  clear.addEventListener("click", () => {
    write(undefined);
    tell();
    target.focus();
  });
  write(undefined);
  return { element: zone, target, read: () => (error ? { error } : { value }), keep: () => value, write };
}
