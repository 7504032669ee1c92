// What the browser keeps of the page, so that it comes back as it was.

/** What is kept under a key, or `fallback`. */
export function kept(key, fallback) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? fallback;
  } catch {
    return fallback;
  }
}

export function keep(key, value) {
  try {
    if (value === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // A browser may keep nothing, or what is too large: it holds until the page is closed.
  }
}
