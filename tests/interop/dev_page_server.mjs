// Servers with the page of `folio dev`, tabs of a real browser on it, and what there is to see in them.

import { spawn } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

import { DESK_TOKEN } from "./dev_page_fixtures.mjs";

export const [binary, modules, pictures, reloadCount = 360] = process.argv.slice(2);
const load = createRequire(join(resolve(modules), "/"));
export const { chromium } = load("playwright-core");
const axe = readFileSync(load.resolve("axe-core"), "utf8");
export const SOON = 20_000;

export function check(what, holds, saw) {
  const text = typeof saw === "string" ? saw : JSON.stringify(saw);
  console.log(`  ${holds ? "ok  " : "FAIL"} ${what}${holds ? "" : `: ${text}`}`);
  if (!holds) throw new Error(what);
}

/** Asks again and again until something holds. */
export async function until(what, holds, within = SOON) {
  const end = Date.now() + within;
  let saw;
  while (!(saw = await holds())) {
    if (Date.now() > end) check(what, false, `not within ${within} ms`);
    await delay(20);
  }
  return saw;
}

/** A server on pipes with its page, and what it said on stderr. */
export async function start(folder) {
  const child = spawn(resolve(binary), ["dev", "--open"], { cwd: folder, env: { ...process.env, BROWSER: "", DESK_TOKEN }, stdio: ["pipe", "pipe", "pipe"] });
  const lines = [];
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  const answers = [];
  createInterface({ input: child.stdout }).on("line", (line) => answers.push(JSON.parse(line)));
  const page = () => lines.find((line) => line.startsWith("page: "));
  await until("the page is served", page);
  const stop = () => new Promise((ended) => (child.on("exit", ended), child.kill()));
  return { child, lines, answers, stop, address: page().slice(6) };
}

/** Notes everything in a tab that must not be. */
export function watch(tab, address) {
  const { origin } = new URL(address);
  const faults = [];
  tab.on("console", (message) => ["error", "warning"].includes(message.type()) && faults.push(message.text()));
  tab.on("pageerror", (error) => faults.push(String(error)));
  tab.on("request", (request) => {
    const { protocol, origin: to } = new URL(request.url());
    if (protocol !== "data:" && to !== origin) faults.push(`request to ${request.url()}`);
  });
  tab.on("dialog", (dialog) => (faults.push(dialog.message()), dialog.dismiss()));
  return faults;
}

export async function open(context, address) {
  const tab = await context.newPage();
  const faults = watch(tab, address);
  await tab.goto(address);
  return { tab, faults };
}

/** Writes beside and renames, as editors do. */
export function save(folder, text, file = "folio.yaml") {
  writeFileSync(join(folder, `${file}~`), text);
  renameSync(join(folder, `${file}~`), join(folder, file));
}

const exactly = (text, more = "") => new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}${more}$`);

/** The row of an entry, by what stands in it. */
export const row = (tab, label) => tab.locator(".tree-row", { has: tab.locator(".tree-label").getByText(label, { exact: true }) });

/** Chooses an entry by its whole name, wherever its row is. */
export async function choose(tab, id) {
  await tab.getByLabel("Filter").fill(id);
  await tab.locator(`.tree-row[title=${JSON.stringify(id)}]`).first().click();
  // In a narrow window the entries are gone by now.
  if (await tab.getByLabel("Filter").isVisible()) await tab.getByLabel("Filter").fill("");
  await tab.locator("main .entry").waitFor();
}

/** A field by its label. */
export const field = (place, name) => place.getByLabel(exactly(name, "( \\*)?"));
export const form = (tab) => tab.locator(".entry-form");
export const result = (tab) => tab.getByRole("region", { name: "Result", exact: true });
export const view = (tab, name) => result(tab).getByRole("tab", { name, exact: true });
export const drawer = (tab) => tab.locator("#drawer-panel");
export const shows = (place, text) => place.filter({ hasText: text }).first().waitFor({ timeout: SOON });
export const gone = (place) => place.waitFor({ state: "detached", timeout: SOON });

/** Opens a drawer, whatever is open. */
export async function openDrawer(tab, title) {
  const button = tab.locator(".drawer-bar button", { hasText: title });
  if ((await button.getAttribute("aria-expanded")) !== "true") await button.click();
}

export async function closeDrawer(tab) {
  const close = tab.getByRole("button", { name: "Close the drawer" });
  if (await close.isVisible()) await close.click();
}

export async function runs(tab) {
  await form(tab).getByRole("button", { name: "Run" }).click();
}

/** No barrier for those who do not see or point, in both themes. */
export async function accessible(tab, what) {
  for (const colorScheme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await tab.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
    // The page's policy forbids scripts of its own; the browser's debugger may run one.
    const found = await tab.evaluate(`${axe}; axe.run(document, { resultTypes: ["violations"] })`);
    check(`axe finds nothing in ${what}, ${colorScheme}`, found.violations.length === 0,
      found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).slice(0, 3).join(" ")}`));
  }
  await tab.emulateMedia({ colorScheme: "light" });
}

/** Whether the page is wider than its window. */
export const isWide = (tab) => tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
