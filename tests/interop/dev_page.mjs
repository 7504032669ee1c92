// The page of `folio dev` in a real browser: an edit is previewed, forms, questions, problems, two tabs, hostile values,
// and no request elsewhere. Makes the picture of it in docs/.
//
//     dev_page.mjs FOLIO MODULES [PICTURE]
//
// MODULES is the folder with `node_modules`; CHROMIUM names the browser.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

const [binary, modules, picture] = process.argv.slice(2);
const load = createRequire(join(resolve(modules), "/"));
const { chromium } = load("playwright-core");
const axe = readFileSync(load.resolve("axe-core"), "utf8");
const SOON = 20_000;

function check(what, holds, saw) {
  const text = typeof saw === "string" ? saw : JSON.stringify(saw);
  console.log(`  ${holds ? "ok  " : "FAIL"} ${what}${holds ? "" : `: ${text}`}`);
  if (!holds) throw new Error(what);
}

const HELLO = `folio: 1
server: { name: desk }
prompts:
  greet:
    description: Greet somebody, with a style that fits
    arguments:
      who: { description: Whom to greet, required: true, complete: [Ada, Alan] }
      style: { description: How, enum: [warm, formal, brief], default: warm }
      times: { type: integer, minimum: 1, description: How often }
    messages:
      - user: "Say a {{style}} hello to {{who}}{{#if times}} {{times}} times{{/if}}."
      - assistant: "# Certainly"
  report:
    description: Much Markdown
    arguments: { item: { default: first } }
    text: |
      # Findings

      1. the **{{item}}**
      2. a \`code\` and [a page](https://example.com/a)

      | name | size |
      |------|-----:|
      | one  | 1    |

      > said *so*

      ~~~
      # no heading
      ~~~

      ![a picture](https://elsewhere.invalid/p.png) [no page](javascript:globalThis.pwned=5) <b>bold</b>
resources:
  policy: { uri: "docs://policy", mimeType: text/markdown, text: "# Policy\\n\\nBe kind." }
  dot:
    uri: "docs://dot"
    mimeType: image/png
    blob: iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==
  page: { uri: "docs://page/{name}", description: A page, text: "Page {{name}}" }
tools:
  count:
    description: Count something
    arguments:
      what: { type: array, items: { type: string }, required: true }
      deep: { type: boolean, default: false }
      limit: { type: number }
    outputSchema: { type: object }
    result: { structuredContent: { what: "{{{json what}}}", limits: [1, 2], deep: "{{deep}}", limit: "{{limit}}" } }
  sizes:
    description: A list of records
    result: { structuredContent: { total: 2, files: [{ name: a.md, size: 1 }, { name: b.md, size: 2, tags: [x] }] } }
  confirm:
    description: Ask before anything is done
    run:
      - id: asked
        ask: { sure: { elicit: { message: "Really do it?", schema: { yes: { type: boolean, title: Yes, required: true }, why: { title: Why } } } } }
    result: { text: "{{#if steps.asked.sure.yes}}Done, {{steps.asked.sure.why}}.{{/if}}" }
  slow:
    description: Tells how far it is
    run:
      - progress: { progress: 1, total: 3, message: one of three }
      - exec: [sleep, "1.5"]
    result: { text: finished }
`;

/** What would run, load or lead astray, if any of it became markup or an address. */
const HOSTILE = [
  "<img src=x onerror=globalThis.pwned=1>",
  "<script>globalThis.pwned=2</script>",
  "<svg onload=globalThis.pwned=3>",
  "[a](javascript:globalThis.pwned=4)",
  "\"><iframe src=https://elsewhere.invalid/></iframe>",
  "<style>@import 'https://elsewhere.invalid/x.css'</style>",
  "&lt;b&gt; \u202egnp.exe",
  "![x](https://elsewhere.invalid/x.png) <https://elsewhere.invalid> [b](data:text/html,x) [c](JaVaScRiPt:0)",
];

const hostileManifest = () => {
  const quoted = HOSTILE.map((text) => JSON.stringify(text));
  const all = JSON.stringify(HOSTILE.join("\n"));
  return `folio: 1
server: { name: desk, title: ${quoted[0]} }
prompts:
  hostile:
    title: ${quoted[1]}
    description: ${all}
    arguments: { x: { title: ${quoted[0]}, description: ${all}, default: ${quoted[2]}, enum: [${quoted.join(", ")}] } }
    text: ${JSON.stringify(`${HOSTILE.join("\n")}\n{{x}}`)}
resources:
  one: { uri: "hostile://one", name: ${quoted[0]}, title: ${quoted[4]}, mimeType: text/html, text: ${all} }
  picture: { uri: "hostile://picture", mimeType: image/svg+xml, blob: ${Buffer.from(HOSTILE[2]).toString("base64")} }
tools:
  hostile-tool:
    description: ${all}
    arguments: { y: { description: ${all}, examples: [${quoted[0]}] } }
    run:
      - id: asked
        ask: { q: { elicit: { message: ${all}, schema: { z: { title: ${quoted[0]}, description: ${all} } } } } }
    result:
      text: ${JSON.stringify(`${HOSTILE.join("\n")} {{steps.asked.q.z}} {{y}}`)}
      structuredContent: { rows: [{ ${quoted[0]}: ${quoted[1]}, ${quoted[2]}: [${quoted[3]}] }] }
`;
};

/** A server on pipes with its page, and what it said on stderr. */
async function start(folder) {
  const child = spawn(binary, ["dev", folder, "--open"], { env: { ...process.env, BROWSER: "" }, stdio: ["pipe", "pipe", "pipe"] });
  const lines = [];
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  const answers = [];
  createInterface({ input: child.stdout }).on("line", (line) => answers.push(JSON.parse(line)));
  const end = Date.now() + SOON;
  const page = () => lines.find((line) => line.startsWith("page: "));
  while (!page() && Date.now() < end) await delay(10);
  if (!page()) throw new Error(`no page:\n${lines.join("\n")}`);
  return { child, lines, answers, address: page().slice(6) };
}

/** A tab, and everything in it that must not be. */
async function open(context, address) {
  const tab = await context.newPage();
  const origin = new URL(address).origin;
  const faults = [];
  tab.on("console", (message) => ["error", "warning"].includes(message.type()) && faults.push(message.text()));
  tab.on("pageerror", (error) => faults.push(String(error)));
  tab.on("request", (request) => {
    const { protocol, origin: to } = new URL(request.url());
    if (protocol !== "data:" && to !== origin) faults.push(`request to ${request.url()}`);
  });
  tab.on("dialog", (dialog) => (faults.push(dialog.message()), dialog.dismiss()));
  await tab.goto(address);
  return { tab, faults };
}

/** Writes beside and renames, as editors do. */
function save(folder, text) {
  writeFileSync(join(folder, "folio.yaml~"), text);
  renameSync(join(folder, "folio.yaml~"), join(folder, "folio.yaml"));
}

const exactly = (text, more = "") => new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}${more}$`);
const entry = (tab, name) => tab.locator("#entries button", { hasText: exactly(name) });
/** A field by its label, which has a star where it is required. */
const field = (place, name) => place.getByLabel(exactly(name, "( \\*)?"));
const result = (tab) => tab.getByRole("region", { name: "Result" });
const shows = (place, text) => place.filter({ hasText: text }).first().waitFor({ timeout: SOON });
const gone = (place) => place.waitFor({ state: "detached", timeout: SOON });

async function accessible(tab, what) {
  // The page's policy forbids scripts of its own; the browser's debugger may run one.
  const found = await tab.evaluate(`${axe}; axe.run(document, { resultTypes: ["violations"] })`);
  check(`axe finds nothing in ${what}`, found.violations.length === 0,
    found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`));
}

async function editing({ tab }, folder) {
  await entry(tab, "greet").click();
  await tab.getByText("who is required").waitFor();
  await field(tab, "who").fill("Ada");
  await shows(result(tab), "Say a warm hello to Ada.");
  check("a form has choices", (await field(tab, "style").locator("option").allTextContents()).includes("formal"));
  await field(tab, "style").selectOption({ label: "formal" });
  await shows(result(tab), "Say a formal hello to Ada.");
  check("a number is a number's field", (await field(tab, "times").getAttribute("type")) === "number");
  check("Markdown is shown as text", (await result(tab).locator("pre", { hasText: "# Certainly" }).count()) === 1);
  check("an argument is marked as required", (await field(tab, "who").getAttribute("aria-required")) === "true");
  const began = Date.now();
  save(folder, HELLO.replace("hello to", "good morning to"));
  await shows(result(tab), "Say a formal good morning to Ada.");
  console.log(`       from the save to the preview: ${Date.now() - began} ms`);
  check("what changed is marked", (await result(tab).locator("mark").textContent()).includes("good morning"));
  if (picture) {
    await tab.setViewportSize({ width: 1000, height: 500 });
    await tab.screenshot({ path: picture });
    check("the picture is small", statSync(picture).size < 150_000, statSync(picture).size);
    await tab.setViewportSize({ width: 1280, height: 720 });
  }
  await field(tab, "who").fill("A");
  await tab.getByRole("group", { name: "Suggestions for who" }).getByRole("button", { name: "Alan" }).click();
  await shows(result(tab), "good morning to Alan");
  await tab.reload();
  await shows(result(tab), "good morning to Alan");
  check("what was typed is no change", (await result(tab).locator("mark").count()) === 0);
  check("the token left the address", !tab.url().includes("#"), tab.url());
}

async function entries({ tab }) {
  await entry(tab, "docs://policy").click();
  await shows(result(tab), "Be kind.");
  await entry(tab, "docs://dot").click();
  await result(tab).locator("img[src^='data:image/png']").waitFor();
  await entry(tab, "docs://page/{name}").click();
  await field(tab, "name").fill("one two");
  await shows(result(tab), "Page one two");
  await tab.getByLabel("Filter").fill("count");
  await gone(entry(tab, "greet"));
  await entry(tab, "count").focus();
  await tab.keyboard.press("Enter");
  await field(tab, "what").fill('["a", "b"]');
  check("a tool does not run by itself", (await result(tab).locator(".message").count()) === 0);
  await tab.getByRole("button", { name: "Run" }).click();
  await result(tab).getByText("Structured result").waitFor();
  await shows(result(tab).locator(".tree"), "limits");
  check("what is no list of records is no table", (await result(tab).locator("table").count()) === 0);
  await tab.getByLabel("Filter").fill("sizes");
  await entry(tab, "sizes").click();
  await tab.getByRole("button", { name: "Run" }).click();
  const table = result(tab).getByRole("table", { name: "files" });
  await table.waitFor();
  check("columns are those of all records", (await table.locator("th").allTextContents()).join() === "name,size,tags");
  check("a record is a row", (await table.locator("tbody tr").nth(1).locator("td").nth(1).textContent()) === "2");
  await result(tab).getByText("As a tree").click();
  await shows(result(tab).locator(".tree"), "total");
  await accessible(tab, "a table");
  await tab.getByLabel("Filter").fill("count");
  await entry(tab, "count").click();
  await field(tab, "what").fill("[");
  await tab.getByRole("button", { name: "Run" }).click();
  await shows(result(tab), "not JSON");
  await tab.getByLabel("Filter").fill("");
}

/** Markdown is rendered where that is wanted, and what changed in it is marked. */
async function markdown({ tab }, folder) {
  await entry(tab, "report").click();
  await shows(result(tab).locator("pre"), "# Findings");
  await tab.getByLabel("Render Markdown").check();
  const rendered = result(tab).locator(".markdown");
  await rendered.getByRole("heading", { name: "Findings" }).waitFor();
  const texts = async (selector) => (await rendered.locator(selector).allTextContents()).join("|");
  check("a list is a list", (await texts("ol > li")) === "the first|a code and a page", await texts("ol > li"));
  check("letters are strong or code", (await texts("strong, em, code")) === "first|code|so", await texts("strong, em, code"));
  check("a table is a table", (await texts("th, td")) === "name|size|one|1", await texts("th, td"));
  check("a fence is no Markdown", (await texts("pre")) === "# no heading", await texts("pre"));
  check("links lead to the web alone", (await texts("a")) === "a page", await texts("a"));
  check("markup is text, and pictures are named", (await texts("p")).includes("[picture: a picture] [no page](javascript:globalThis.pwned=5) <b>bold</b>"), await texts("p"));
  check("no picture is loaded", (await result(tab).locator("img").count()) === 0);
  await field(tab, "item").fill("second");
  await shows(rendered, "the second");
  check("what is typed is not marked", (await rendered.locator(".changed").count()) === 0);
  save(folder, HELLO.replace("said *so*", "said *nothing*"));
  await shows(rendered.locator(".changed"), "said nothing");
  check("the changed block alone is marked", (await texts(".changed")) === "said nothing", await texts(".changed"));
  await accessible(tab, "rendered Markdown");
  await tab.reload();
  await shows(rendered, "the second");
  check("the choice is kept", await tab.getByLabel("Render Markdown").isChecked());
  await tab.getByLabel("Render Markdown").uncheck();
  await shows(result(tab).locator("pre"), "# Findings");
}

/** Texts on which a pattern with two repetitions side by side would take minutes, or a list of children is too long. */
async function longTexts({ tab }) {
  const paragraphs = (text) => `${text.repeat(18_000 / text.length)}\n\n`.repeat(10);
  const runs = {
    "a heading": `# a${" ".repeat(190_000)}x`, "a fence": `~~~${" ".repeat(190_000)}\``, "a long fence": `${"~".repeat(190_000)}\``,
    "fences and lines": `${"\`".repeat(95_000)}\n${"a\n".repeat(45_000)}`, "a table": `|a|\n${" ".repeat(190_000)}x`,
    "a row of a table": `|a|\n-${" ".repeat(190_000)}x`, "addresses of links": `[a](${"x".repeat(18_000)}\n\n`.repeat(10),
    pictures: paragraphs("!["), addresses: paragraphs("<http://"), "a list": "-\n".repeat(95_000), "cells": `|a|\n|-|\n${"|".repeat(95_000)}`,
  };
  for (const [what, text] of Object.entries(runs)) {
    const took = await tab.evaluate(async (text) => {
      const { markdownView } = await import("/markdown_view.js");
      const began = performance.now();
      markdownView(text, "x");
      return performance.now() - began;
    }, text);
    check(`${what} of 190 kB is rendered in time`, took < 5000, `${took} ms`);
  }
}

/** An entry as clients show it. */
async function clients({ tab }) {
  const choice = tab.getByLabel("Show as");
  await entry(tab, "greet").click();
  await shows(result(tab), "to Alan");
  await choice.selectOption("claude-code");
  await shows(tab.locator("#entry .notes"), "/mcp__desk__greet");
  await choice.selectOption("gemini");
  await shows(tab.locator("#entry .notes"), "in gemini: /greet");
  await shows(result(tab), "2 messages: the first message alone is sent");
  check("what a client leaves out is not there", (await result(tab).locator(".message").count()) === 1);
  await accessible(tab, "a client's view");
  await choice.selectOption("codex");
  await shows(tab.locator("#entry .notes"), "codex does not show it");
  await shows(tab.locator("#entry .notes"), "prompts are not shown");
  await shows(tab.locator("#entry .notes"), "its model gets it by the tool `get-prompt`");
  check("a prompt is not in codex", (await result(tab).locator(".message").count()) === 0);
  await entry(tab, "docs://page/{name}").click();
  await choice.selectOption("gemini");
  await shows(tab.locator("#entry .notes"), "gemini does not show it");
  await entry(tab, "sizes").click();
  await tab.getByRole("button", { name: "Run" }).click();
  await result(tab).getByText("Structured result").waitFor();
  await shows(tab.locator("#entry .notes"), "mcp_desk_sizes");
  await choice.selectOption("codex");
  await gone(result(tab).getByText("Structured result"));
  await choice.selectOption("claude-code");
  await result(tab).getByText("Structured result").waitFor();
  check("claude-code takes the structure alone", (await result(tab).locator(".message").count()) === 0);
  await tab.reload();
  await shows(tab.locator("#entry .notes"), "mcp__desk__sizes");
  await choice.selectOption("");
  await gone(tab.locator("#entry .notes"));
}

async function questions({ tab }) {
  await entry(tab, "confirm").click();
  await tab.getByRole("button", { name: "Run" }).click();
  const form = tab.getByRole("form", { name: "The server asks" });
  await form.getByText("Really do it?").waitFor();
  await accessible(tab, "a question");
  await field(form, "Yes").check();
  await field(form, "Why").fill("for the test");
  await form.getByRole("button", { name: "Answer" }).click();
  await shows(result(tab), "Done, for the test.");
  await entry(tab, "slow").click();
  await tab.getByRole("button", { name: "Run" }).click();
  await tab.getByText("one of three").waitFor();
  await tab.getByRole("progressbar").waitFor();
  await shows(result(tab), "finished");
}

async function problems({ tab }, folder, other) {
  await entry(tab, "greet").click();
  await shows(result(tab), "Alan");
  save(folder, HELLO.replace("{{who}}", "{{whom}}"));
  await tab.locator("#problem-list pre", { hasText: "{{whom}}" }).waitFor();
  await shows(tab.locator("#problems"), "folio.yaml:");
  await shows(other.tab.locator("#problem-list"), "whom");
  const link = tab.locator("#problem-list a");
  const line = HELLO.split("\n").findIndex((text) => text.includes("{{who}}")) + 1;
  const place = (await link.first().textContent()).match(/:(\d+):(\d+)$/);
  check("a problem has its line", Number(place[1]) === line, place);
  const opens = `${realpathSync(folder)}/folio.yaml:${place[1]}:${place[2]}`;
  check("a link opens the editor", (await link.first().getAttribute("href")) === `vscode://file${opens}`, await link.first().getAttribute("href"));
  await tab.getByLabel("Open places in").selectOption("Zed");
  check("another editor opens it", (await link.first().getAttribute("href")) === `zed://file${opens}`);
  await tab.reload();
  await link.first().waitFor();
  check("the editor is kept", (await link.first().getAttribute("href")).startsWith("zed:"));
  await accessible(tab, "the problems");
  await shows(tab.locator("#status"), "serving the last good version");
  await shows(result(tab), "Alan");
  save(folder, HELLO.replace("  greet:", "  welcome: { text: Welcome }\n  greet:"));
  await tab.locator("#problems").waitFor({ state: "hidden" });
  await entry(tab, "welcome").waitFor();
  await entry(other.tab, "welcome").waitFor();
  await shows(tab.locator("#call-list"), "fixed");
}

/** The calls of another client are shown, with what was sent and answered. */
async function calls({ tab }, server) {
  const client = { name: "another <b>client</b>", version: "7" };
  const say = (message) => server.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  say({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: client } });
  say({ method: "notifications/initialized" });
  say({ id: 2, method: "prompts/get", params: { name: "greet", arguments: { who: "Grace" } } });
  const row = tab.locator("#call-list li", { hasText: "another <b>client</b>: prompts/get greet" });
  await row.locator("summary").first().click();
  await shows(row, "2025-06-18");
  await shows(row, "Grace");
  check("the call is on stderr", server.lines.some((line) => line.includes("get greet: ok")), server.lines);
  check("stdout is the wire", server.answers.every((message) => message.jsonrpc === "2.0"), server.answers);
  await accessible(tab, "the log of calls");
}

async function hostile({ tab }, folder) {
  save(folder, hostileManifest());
  await entry(tab, "hostile").click();
  await shows(result(tab), HOSTILE[0]);
  await tab.getByLabel("Render Markdown").check();
  await shows(result(tab).locator(".markdown"), HOSTILE[3]);
  await tab.getByLabel("Show as").selectOption("claude-code");
  await field(tab, HOSTILE[0]).selectOption({ label: HOSTILE[1] });
  await shows(result(tab), HOSTILE[1]);
  await accessible(tab, "hostile values");
  await entry(tab, "hostile://one").click();
  await shows(result(tab), HOSTILE[4]);
  await entry(tab, "hostile://picture").click();
  await shows(result(tab), "image/svg+xml");
  check("SVG is no picture here", (await result(tab).locator("img").count()) === 0);
  await entry(tab, "hostile-tool").click();
  await field(tab, "y").fill(HOSTILE[0]);
  await tab.getByRole("button", { name: "Run" }).click();
  const form = tab.getByRole("form", { name: "The server asks" });
  await field(form, HOSTILE[0]).fill(HOSTILE[1]);
  await form.getByRole("button", { name: "Answer" }).click();
  await result(tab).getByRole("table", { name: "rows" }).waitFor();
  await tab.getByLabel("Show as").selectOption("");
  await shows(result(tab).locator(".markdown"), HOSTILE[3]);
  await accessible(tab, "hostile results");
  save(folder, hostileManifest().replace("text: ", `nonsense: ${JSON.stringify(HOSTILE[0])}\n    text: `));
  await shows(tab.locator("#problems"), "nonsense");
  const links = await tab.locator("#entry a").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  check("links lead to the web alone", links.every((href) => href === "https://elsewhere.invalid"), links);
  for (const tag of ["img", "iframe", "svg", "#layout script", "#layout style", "a[href^='javascript']"]) {
    check(`no ${tag}`, (await tab.locator(tag).count()) === 0);
  }
  check("nothing ran", (await tab.evaluate("globalThis.pwned")) === undefined);
}

/** The form, the list and the result without a mouse, in a narrow window, in the dark. */
async function presentation(browser, address, folder) {
  const context = await browser.newContext({ viewport: { width: 360, height: 640 }, colorScheme: "dark" });
  const { tab, faults } = await open(context, address);
  await entry(tab, "greet").waitFor();
  await accessible(tab, "a narrow window in the dark");
  const isWide = () => tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
  check("a narrow window does not scroll sideways", !(await isWide()));
  await entry(tab, "report").click();
  await tab.getByLabel("Render Markdown").check();
  await tab.getByLabel("Show as").selectOption("claude-code");
  await result(tab).locator(".markdown table").waitFor();
  await accessible(tab, "Markdown in a narrow window in the dark");
  check("rendered Markdown does not scroll sideways", !(await isWide()));
  await tab.getByLabel("Render Markdown").uncheck();
  await entry(tab, "sizes").click();
  await tab.getByRole("button", { name: "Run" }).press("Enter");
  await result(tab).getByRole("table", { name: "files" }).waitFor();
  await accessible(tab, "a table in a narrow window in the dark");
  check("a table does not scroll sideways", !(await isWide()));
  await tab.getByLabel("Show as").selectOption("");
  await entry(tab, "greet").focus();
  await tab.keyboard.press("ArrowDown");
  check("arrows go through the list", (await tab.evaluate("document.activeElement.textContent")) !== "greet");
  const led = await context.newPage();
  writeFileSync(join(folder, "redirect.html"), `<!doctype html><meta http-equiv="refresh" content="0;url=${address}">`);
  await led.goto(`file://${join(folder, "redirect.html")}`);
  await entry(led, "greet").waitFor();
  const refused = await context.newPage();
  await refused.goto(new URL("/", address).href);
  await shows(refused.locator("#status"), "it holds the token");
  check("nothing is amiss in a narrow window", faults.length === 0, faults);
  await context.close();
}

const folder = mkdtempSync(join(tmpdir(), "folio-dev-page-"));
let server, browser;
try {
  save(folder, HELLO);
  server = await start(folder);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  const context = await browser.newContext();
  const [first, second] = [await open(context, server.address), await open(context, server.address)];
  await editing(first, folder);
  await accessible(first.tab, "an entry");
  await entries(first);
  await markdown(first, folder);
  await longTexts(first);
  await clients(first);
  await questions(first);
  await problems(first, folder, second);
  await calls(first, server);
  await presentation(browser, server.address, folder);
  await hostile(first, folder);
  for (const { faults } of [first, second]) check("no error, and no request elsewhere", faults.length === 0, faults);
  console.log("the page of `folio dev` holds");
} finally {
  await browser?.close();
  server?.child.kill();
  rmSync(folder, { recursive: true });
}
