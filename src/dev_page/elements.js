// Builds elements. Everything that comes from a manifest or a reply becomes text: nothing here takes markup.

/** An element with properties that are safe, and children that are elements, texts or lists of them, however many. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") made.className = value;
    else if (key === "text") made.textContent = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat()) if (child !== undefined && child !== null) made.append(child);
  return made;
}

let last = 0;

/** An id for a label or a description. */
export const freshId = (prefix) => `${prefix}-${(last += 1)}`;

/** The media that a browser shows without running anything in it: no SVG, no HTML. */
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"];
const AUDIO = /^audio\/[a-z0-9.+-]+$/;

/** A picture or a sound of base64, or a note where the browser must not show it. */
export function media(mimeType, data, name) {
  const type = String(mimeType ?? "").toLowerCase().split(";")[0].trim();
  const isBase64 = /^[A-Za-z0-9+/=_-]*$/.test(data);
  if (isBase64 && IMAGES.includes(type)) {
    return element("img", { src: `data:${type};base64,${data}`, alt: name || `picture, ${type}` });
  }
  if (isBase64 && AUDIO.test(type)) {
    return element("audio", { controls: true, src: `data:${type};base64,${data}`, "aria-label": name || "sound" });
  }
  return element("p", { class: "dim", text: `${type || "bytes"}, ${data.length} characters of base64` });
}
