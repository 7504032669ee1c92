// The token of this run, by which the server knows the page.

const KEY = "token";
const PATTERN = /^[0-9a-f]{48}$/;
const channel = new BroadcastChannel("token");

/** The token from the address, which is then taken off it, or of this tab before it was loaded again. */
export function takeToken() {
  const fromAddress = location.hash.slice(1);
  if (PATTERN.test(fromAddress)) {
    sessionStorage.setItem(KEY, fromAddress);
    history.replaceState(null, "", location.pathname);
    // Tabs of an earlier run go on with it.
    channel.postMessage(fromAddress);
  }
  return sessionStorage.getItem(KEY);
}

/** Loads this tab again once a tab of another run is opened. */
export function followNextRun() {
  channel.addEventListener("message", ({ data }) => {
    if (!PATTERN.test(data) || data === sessionStorage.getItem(KEY)) return;
    sessionStorage.setItem(KEY, data);
    location.reload();
  });
  // The address of another run, opened in the same tab.
  addEventListener("hashchange", () => location.reload());
}
