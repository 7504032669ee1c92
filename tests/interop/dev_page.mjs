// The page of `folio dev` in a real browser: forms, results, steps, tests, questions, problems, restarts, thousands of
// entries, hostile values, and no request elsewhere. Makes the pictures of it.
//
//     dev_page.mjs FOLIO MODULES [PICTURES [RELOADS]]
//
// MODULES is the folder with `node_modules`, PICTURES the folder for pictures, RELOADS how often the manifest is edited while
// the heap is watched; CHROMIUM names the browser.

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { FILES, HELLO, HOSTILE, hostileManifest, large } from "./dev_page_fixtures.mjs";
import { takePictures } from "./dev_page_pictures.mjs";
import {
  accessible, check, choose, chromium, closeDrawer, drawer, field, form, gone, isWide, open, openDrawer, pictures, reloadCount, result, row, runs, save, shows,
  start, until, view, watch,
} from "./dev_page_server.mjs";

/** The page keeps so many calls and reloads: before, its heap grows. */
const FULL_AT = 320;

/** An edit is previewed at once, and what it changed is marked. */
async function editing({ tab }, folder) {
  await choose(tab, "greet");
  await tab.getByText("who is required").waitFor();
  check("nothing is a mistake before it is touched", (await form(tab).locator("[aria-invalid=true]").count()) === 0);
  await field(form(tab), "who").fill("Ada");
  await shows(result(tab), "Say a warm hello to Ada.");
  await form(tab).getByRole("radio", { name: "formal" }).check();
  await shows(result(tab), "Say a formal hello to Ada.");
  check("a number is a number's field", (await field(form(tab), "times").getAttribute("type")) === "number");
  check("an argument is marked as required", (await field(form(tab), "who").getAttribute("aria-required")) === "true");
  await result(tab).getByRole("heading", { name: "Certainly" }).waitFor();
  const times = [];
  for (const words of ["good morning", "good day", "good evening", "good night", "greetings"]) {
    const began = Date.now();
    save(folder, HELLO.replace("hello to", `${words} to`));
    await shows(result(tab), `Say a formal ${words} to Ada.`);
    times.push(Date.now() - began);
  }
  console.log(`       from the save to the preview: ${times.join(", ")} ms`);
  check("what changed is marked", (await result(tab).locator(".changed").first().textContent()).includes("greetings"));
  await row(tab, "greet").locator(".tree-mark.changed").waitFor();
  await shows(result(tab).locator(".source-line.added"), "greetings");
  await tab.locator("main").focus();
  await tab.keyboard.press("n");
  await result(tab).locator(".current-change").waitFor();
  await field(form(tab), "who").fill("A");
  await tab.getByRole("option", { name: "Alan" }).click();
  await shows(result(tab), "greetings to Alan");
  await tab.reload();
  await shows(result(tab), "greetings to Alan");
  check("what was typed is no change", (await result(tab).locator(".changed").count()) === 0);
  check("the token left the address", !tab.url().includes("#"), tab.url());
  await form(tab).getByRole("button", { name: "Reset" }).click();
  await tab.getByText("who is required").waitFor();
  await field(form(tab), "who").fill("Ada");
  save(folder, HELLO);
  await shows(result(tab), "a warm hello to Ada");
  await row(tab, "review").hover();
  await tab.mouse.down();
  save(folder, HELLO.replace("\ntools:\n", "\ntools:\n  newcomer: { description: New, result: { text: New } }\n"));
  await row(tab, "newcomer").waitFor();
  await tab.mouse.up();
  check("a row is chosen though the list was drawn anew while it was pressed",
    (await row(tab, "review").getAttribute("aria-selected")) === "true");
  save(folder, HELLO);
  await choose(tab, "greet");
  await shows(result(tab), "a warm hello to Ada");
}

/** Entries of each kind, and what they give. */
async function entries({ tab }) {
  await choose(tab, "docs://policy");
  await shows(result(tab), "Be kind.");
  await choose(tab, "docs://data");
  await shows(result(tab), "deep");
  await choose(tab, "docs://dot");
  await result(tab).locator("img[src^='data:image/png']").waitFor();
  await choose(tab, "docs://page/{name}");
  await field(form(tab), "name").fill("one two");
  await shows(result(tab), "Page one two");
  await choose(tab, "count");
  await field(form(tab), "what 1").fill("apples");
  check("a tool does not run by itself", (await result(tab).locator(".message").count()) === 0);
  await tab.keyboard.press("Control+Enter");
  await shows(result(tab).locator(".body"), "apples");
  check("what is no list of records is no table", (await result(tab).locator("table").count()) === 0);
  await choose(tab, "sizes");
  await runs(tab);
  const table = result(tab).getByRole("table", { name: "files" });
  await table.waitFor();
  check("columns are those of all records", (await table.locator("th").allTextContents()).join() === "name,size,tags");
  const sizes = () => table.locator("tbody tr td:nth-child(2)").allTextContents();
  check("records are rows", (await sizes()).join() === "10,2,30", await sizes());
  await table.getByRole("button", { name: "size" }).click();
  check("rows are sorted as numbers", (await sizes()).join() === "2,10,30", await sizes());
  await accessible(tab, "a table");
}

/** Markdown is rendered, or shown as it is written. */
async function markdown({ tab }, folder) {
  await choose(tab, "report");
  const rendered = result(tab).locator(".markdown");
  await rendered.getByRole("heading", { name: "Findings" }).waitFor();
  const texts = async (selector) => (await rendered.locator(selector).allTextContents()).map((text) => text.trim()).join("|");
  check("a list is a list", (await texts("ol > li")) === "the first|a code and a page", await texts("ol > li"));
  check("letters are strong or code", (await texts("strong, em")) === "first|so", await texts("strong, em"));
  check("a table is a table", (await texts("th, td")) === "name|size|one|1", await texts("th, td"));
  check("a fence is no Markdown", (await texts("pre")) === "# no heading", await texts("pre"));
  check("links lead to the web alone", (await texts("a")) === "a page", await texts("a"));
  check("markup is text, and pictures are named", (await rendered.textContent()).includes("[picture: a picture]"), await rendered.textContent());
  check("markup is text", (await rendered.textContent()).includes("<b>bold</b>"), await rendered.textContent());
  check("no picture is loaded", (await result(tab).locator("img").count()) === 0);
  await field(form(tab), "item").fill("second");
  await shows(rendered, "the second");
  check("what is typed is not marked", (await rendered.locator(".changed").count()) === 0);
  save(folder, HELLO.replace("said *so*", "said *nothing*"));
  await shows(rendered.locator(".changed"), "said nothing");
  check("the changed block alone is marked", (await texts(".changed")) === "said nothing", await texts(".changed"));
  await accessible(tab, "rendered Markdown");
  await result(tab).getByRole("button", { name: "Markdown" }).click();
  await shows(result(tab).locator("pre.text"), "# Findings");
  await tab.reload();
  await shows(result(tab).locator("pre.text"), "# Findings");
  await result(tab).getByRole("button", { name: "Markdown" }).click();
  await rendered.getByRole("heading", { name: "Findings" }).waitFor();
}

/** What each step left, the expression that reads it, and one that is tried. */
async function steps({ tab }) {
  await choose(tab, "release");
  await runs(tab);
  await shows(form(tab), /required/);
  check("a mistake is at its field", (await field(form(tab), "version").getAttribute("aria-invalid")) === "true");
  await field(form(tab), "version").fill("2.0");
  await runs(tab);
  await shows(result(tab), "Release 2.0: Mend the list");
  await view(tab, "Steps").click();
  const panel = tab.locator(".result-panel");
  await shows(panel, "publish");
  await shows(panel, "Mend the list");
  check("a secret is in no step", !(await panel.textContent()).includes("correct-horse-battery"));
  await panel.getByText('"Release 2.0"').first().click();
  await shows(panel, "{{steps.draft.title}}");
  await accessible(tab, "steps");
  const tried = panel.getByRole("textbox").last();
  await tried.fill("{{steps.draft.first}}!");
  await shows(panel, "Mend the list!");
  await tried.fill("{{steps.draft.first");
  await shows(panel.locator("[class*=error]"), /\S/);
  await choose(tab, "fails");
  await runs(tab);
  await shows(panel, "failed");
  await view(tab, "Rendered").click();
}

/** What went over the wire, in the newest version and in an older one. */
async function wire({ tab }) {
  await choose(tab, "greet");
  await field(form(tab), "who").fill("Ada");
  await shows(result(tab), "Ada");
  await view(tab, "Wire").click();
  const panel = tab.locator(".result-panel");
  await shows(panel, "prompts/get");
  await panel.getByRole("combobox").selectOption("2025-06-18");
  await panel.getByRole("button", { name: /Send/ }).click();
  await shows(panel, "initialize");
  await accessible(tab, "the wire");
  await view(tab, "Source").click();
  await shows(panel, "Say a {{style}} hello");
  check("the source is there once", (await result(tab).locator(".source").count()) === 1);
  await accessible(tab, "the source");
  await view(tab, "Rendered").click();
}

/** An entry as clients show it. */
async function clients({ tab }) {
  await choose(tab, "greet");
  await shows(result(tab), "to Ada");
  await view(tab, "As a client").click();
  const panel = tab.locator(".result-panel");
  const choice = panel.getByLabel("Show as");
  await choice.selectOption("claude-code");
  await shows(panel, "/mcp__desk__greet");
  await choice.selectOption("gemini");
  await shows(panel, "in gemini: /greet");
  await shows(panel, "2 messages: the first message alone is sent");
  await until("what a client leaves out is not there", async () => (await panel.locator(".message").count()) === 1);
  await accessible(tab, "a client's view");
  await choice.selectOption("codex");
  await shows(panel, "codex does not show it");
  await shows(panel, "its model gets it by the tool `get-prompt`");
  check("a prompt is not in codex", (await panel.locator(".message").count()) === 0);
  await tab.reload();
  await shows(panel, "codex does not show it");
  await choose(tab, "sizes");
  await runs(tab);
  await view(tab, "As a client").click();
  await choice.selectOption("claude-code");
  await shows(panel, "mcp__desk__sizes");
  await panel.getByRole("table", { name: "files" }).waitFor();
  check("claude-code takes the structure alone", (await panel.locator(".message.role-content").count()) === 0);
  await view(tab, "Rendered").click();
}

/** Questions are answered in the place of the result; progress is seen there. */
async function questions({ tab }) {
  await choose(tab, "confirm");
  await runs(tab);
  const question = tab.getByRole("form", { name: "The server asks" });
  await question.getByText("Really do it?").waitFor();
  check("it can be declined and cancelled once", (await question.getByRole("button", { name: /Decline|Cancel/ }).count()) === 2);
  await accessible(tab, "a question");
  await field(question, "Yes").check();
  await field(question, "Why").fill("for the test");
  await question.getByRole("button", { name: "Answer" }).click();
  await shows(result(tab), "Done, for the test.");
  await runs(tab);
  await question.getByRole("button", { name: /Same as/ }).click();
  check("the last answers are offered", (await field(question, "Why").inputValue()) === "for the test");
  await question.getByRole("button", { name: "Decline" }).click();
  await shows(result(tab), /declin/i);
  await choose(tab, "slow");
  await runs(tab);
  await shows(result(tab).locator(".result-status"), "one of three");
  await result(tab).getByRole("progressbar").waitFor();
  await shows(result(tab).locator(".result-log"), "half way");
  await shows(result(tab), "finished");
}

/** Problems lead to their places, and what is certain is mended. */
async function problems({ tab }, folder, other) {
  await choose(tab, "greet");
  await shows(result(tab), "Ada");
  save(folder, HELLO.replace("{{who}}", "{{whom}}"));
  await shows(tab.locator("#status"), "serving the last good version");
  await row(tab, "greet").locator(".tree-mark.broken").waitFor();
  await openDrawer(tab, "Problems");
  await openDrawer(other.tab, "Problems");
  await shows(other.tab.locator("#drawer-panel"), "whom");
  const link = drawer(tab).locator("a").first();
  const line = HELLO.split("\n").findIndex((text) => text.includes("{{who}}")) + 1;
  const [, lineSeen, column] = (await link.textContent()).match(/:(\d+):(\d+)$/);
  check("a problem has its line", Number(lineSeen) === line, lineSeen);
  const opens = `${realpathSync(folder)}/folio.yaml:${lineSeen}:${column}`;
  check("a link opens the editor", (await link.getAttribute("href")) === `vscode://file${opens}`, await link.getAttribute("href"));
  await tab.getByLabel("Open places in").selectOption("Zed");
  check("another editor opens it", (await link.getAttribute("href")) === `zed://file${opens}`);
  await accessible(tab, "the problems");
  await shows(result(tab), "Ada");
  save(folder, HELLO.replace("  report:\n    description", "  report:\n    descripton"));
  await drawer(tab).getByRole("button", { name: /^Fix/ }).first().click();
  await shows(drawer(tab), "description");
  await drawer(tab).getByRole("button", { name: "Apply" }).click();
  await shows(tab.locator("#status"), "no errors");
  check("the mend is written", readFileSync(join(folder, "folio.yaml"), "utf8") === HELLO);
  save(folder, HELLO.replace("  greet:", "  welcome: { text: Welcome }\n  greet:"));
  await row(tab, "welcome").waitFor();
  await row(other.tab, "welcome").waitFor();
  await closeDrawer(other.tab);
  save(folder, HELLO);
  await gone(row(tab, "welcome"));
}

/** Tests run beside, fail where they should, and are written from a call. */
async function tests({ tab }, folder) {
  await shows(tab.locator(".drawer-bar"), "2 passed");
  await row(tab, "greet").locator(".tree-mark.passed").waitFor();
  await openDrawer(tab, "Tests");
  await shows(drawer(tab), "greets warmly");
  save(folder, HELLO.replace("a {{style}} hello", "a {{style}} farewell"));
  await shows(tab.locator(".drawer-bar"), "1 failed");
  await row(tab, "greet").locator(".tree-mark.failed").waitFor();
  await drawer(tab).getByText("greets warmly").first().click();
  await shows(drawer(tab), "a warm farewell to Ada");
  await accessible(tab, "a failed test");
  save(folder, HELLO);
  await shows(tab.locator(".drawer-bar"), "2 passed");
  await choose(tab, "greet");
  await field(form(tab), "who").fill("Grace");
  await shows(result(tab), "Grace");
  await form(tab).getByRole("button", { name: "Copy…" }).click();
  await tab.getByRole("menuitem", { name: "Save as test…" }).click();
  const dialog = tab.getByRole("dialog", { name: "Save as test" });
  await dialog.getByLabel("Name").fill("greets Grace");
  await shows(dialog, "greets Grace");
  await shows(dialog.locator(".save-preview"), "a warm hello to Grace");
  await accessible(tab, "a test that is about to be written");
  check("nothing is written before", readFileSync(join(folder, "folio.yaml"), "utf8") === HELLO);
  await dialog.getByRole("button", { name: "Write" }).click();
  await shows(tab.locator(".drawer-bar"), "3 passed");
  check("the test is in the manifest", readFileSync(join(folder, "folio.yaml"), "utf8").includes("greets Grace"));
  save(folder, HELLO);
  await shows(tab.locator(".drawer-bar"), "2 passed");
  await closeDrawer(tab);
}

/** What stands in a form is passed on as a command, as JSON and as a test. */
async function copies({ tab }) {
  await choose(tab, "greet");
  await field(form(tab), "who").fill("Ada L");
  const copied = async (name, what) => {
    await form(tab).getByRole("button", { name: "Copy…" }).click();
    await tab.getByRole("menuitem", { name }).click();
    await shows(result(tab).locator(".result-status"), `copied the ${what}`);
    return tab.evaluate("navigator.clipboard.readText()");
  };
  const command = await copied("Copy as folio get", "command");
  await shows(result(tab), "Ada L");
  await shows(result(tab).locator(".result-status"), "copied the command");
  check("a form is copied as a command", command.startsWith("folio get greet 'who=Ada L'"), command);
  const json = await copied("Copy as JSON", "JSON");
  check("a form is copied as JSON", JSON.parse(json).who === "Ada L", json);
  const test = await copied("Copy as test", "test");
  check("a form is copied as a test", test.startsWith("tests:\n") && test.includes('"who":"Ada L"'), test);
}

/** The calls of another client are shown, with what was sent and answered, and what they did. */
async function calls({ tab }, server) {
  const client = { name: "another <b>client</b>", version: "7" };
  const say = (message) => server.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  say({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: client } });
  say({ method: "notifications/initialized" });
  say({ id: 2, method: "prompts/get", params: { name: "greet", arguments: { who: "Grace" } } });
  say({ id: 3, method: "tools/call", params: { name: "release", arguments: { version: "3.1" } } });
  await openDrawer(tab, "Calls");
  await drawer(tab).getByRole("searchbox").or(drawer(tab).locator("input")).first().fill("another");
  await shows(drawer(tab), "another <b>client</b>");
  // The calls of this page have the same name, and are hidden.
  await drawer(tab).getByText("release", { exact: true }).filter({ visible: true }).first().click();
  await shows(drawer(tab), "2025-06-18");
  await shows(drawer(tab), "publish");
  check("a secret is in no call", !(await drawer(tab).textContent()).includes("correct-horse-battery"));
  check("the call is on stderr", server.lines.some((line) => line.includes("get greet: ok")), server.lines);
  check("stdout is the wire", server.answers.every((message) => message.jsonrpc === "2.0"), server.answers);
  await accessible(tab, "the list of calls");
  await drawer(tab).locator("input").first().fill("");
  await closeDrawer(tab);
}

/** Without a mouse. */
async function keyboard({ tab }) {
  await tab.locator("main").focus();
  await tab.keyboard.press("/");
  await tab.keyboard.type("sizs");
  await tab.keyboard.press("Enter");
  await shows(form(tab).locator(".entry-title"), "sizes");
  await tab.getByLabel("Filter").fill("");
  await tab.keyboard.press("ArrowDown");
  const active = () => tab.evaluate("document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.textContent");
  await tab.keyboard.press("Home");
  check("arrows go through the tree", (await active()).includes("Prompts"), await active());
  await tab.keyboard.press("ArrowLeft");
  await gone(row(tab, "greet"));
  await tab.keyboard.press("ArrowRight");
  await row(tab, "greet").waitFor();
  await tab.keyboard.press("Control+k");
  await tab.keyboard.type("policy");
  await tab.keyboard.press("Enter");
  await shows(result(tab), "Be kind.");
  await tab.keyboard.press("Control+k");
  await tab.keyboard.type("show tests");
  await accessible(tab, "the palette");
  await tab.keyboard.press("Enter");
  await shows(drawer(tab), "greets warmly");
  await closeDrawer(tab);
}

/** Nothing of a manifest becomes markup, an address or a script, in any view. */
async function hostile({ tab }, folder) {
  save(folder, hostileManifest());
  await choose(tab, "hostile");
  await shows(result(tab), HOSTILE[0]);
  await form(tab).getByRole("combobox").selectOption({ label: HOSTILE[1] });
  await shows(result(tab), HOSTILE[1]);
  for (const name of ["Source", "Wire", "As a client", "Rendered"]) {
    await view(tab, name).click();
    await accessible(tab, `hostile values, ${name}`);
  }
  await choose(tab, "hostile://one");
  await shows(result(tab), HOSTILE[4]);
  await choose(tab, "hostile://picture");
  await shows(result(tab), "image/svg+xml");
  check("SVG is no picture here", (await result(tab).locator("img").count()) === 0);
  await choose(tab, "hostile-tool");
  await field(form(tab), "y").fill(HOSTILE[0]);
  await runs(tab);
  const question = tab.getByRole("form", { name: "The server asks" });
  await field(question, HOSTILE[0]).fill(HOSTILE[1]);
  await question.getByRole("button", { name: "Answer" }).click();
  await result(tab).getByRole("table", { name: "rows" }).waitFor();
  await view(tab, "Steps").click();
  await accessible(tab, "hostile steps");
  for (const title of ["Calls", "Tests"]) {
    await openDrawer(tab, title);
    await shows(drawer(tab), title === "Calls" ? "hostile-tool" : HOSTILE[1]);
    await accessible(tab, `hostile ${title}`);
  }
  save(folder, hostileManifest().replace("text: ", `nonsense: ${JSON.stringify(HOSTILE[0])}\n    text: `));
  await openDrawer(tab, "Problems");
  await shows(drawer(tab), "nonsense");
  const links = await tab.locator("a[href^='http']").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  check("links lead to the web alone", links.every((href) => href.startsWith("https://elsewhere.invalid")), links);
  for (const tag of ["img", "iframe", "svg", "#layout script", "#layout style", "a[href^='javascript' i]", "a[href^='data' i]"]) {
    check(`no ${tag}`, (await tab.locator(tag).count()) === 0);
  }
  check("nothing ran", (await tab.evaluate("globalThis.pwned")) === undefined);
  await closeDrawer(tab);
  await view(tab, "Rendered").click();
  save(folder, HELLO);
  await row(tab, "greet").waitFor();
}

/** In a narrow window nothing is lost. */
async function narrow(browser, address, folder) {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  const { tab, faults } = await open(context, address);
  await tab.getByRole("button", { name: "Entries" }).click();
  await row(tab, "greet").click();
  await field(form(tab), "who").fill("Ada");
  await shows(result(tab), "hello to Ada");
  check("a narrow window does not scroll sideways", !(await isWide(tab)));
  await accessible(tab, "a narrow window");
  for (const [name, within] of [["report", "Findings"], ["review", "careful colleague"]]) {
    await tab.getByRole("button", { name: "Entries" }).click();
    await choose(tab, name);
    await shows(result(tab), within);
    check(`${name} does not scroll sideways`, !(await isWide(tab)));
  }
  const led = await context.newPage();
  writeFileSync(join(folder, "redirect.html"), `<!doctype html><meta http-equiv="refresh" content="0;url=${address}">`);
  await led.goto(`file://${join(folder, "redirect.html")}`);
  await led.locator("#status.good").waitFor();
  const refused = await context.newPage();
  await refused.goto(new URL("/", address).href);
  await shows(refused.locator("#status"), "it holds the token");
  check("nothing is amiss in a narrow window", faults.length === 0, faults);
  await context.close();
}

/** After a restart the page comes back as it was, in the tab that was open, too. */
async function restart(browser, folder, server) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const { tab } = await open(context, server.address);
  await choose(tab, "review");
  await field(form(tab), "path").fill("src/lib.rs");
  await shows(result(tab), "Review src/lib.rs");
  await openDrawer(tab, "Tests");
  await server.stop();
  await shows(tab.locator("#status"), "away");
  const next = await start(folder);
  check("the page is where it was", new URL(next.address).origin === new URL(server.address).origin, [next.address, server.address]);
  const fresh = await open(context, next.address);
  for (const one of [fresh.tab, tab]) {
    await one.locator("#status.good").waitFor();
    await shows(result(one), "Review src/lib.rs");
    await shows(drawer(one), "greets warmly");
  }
  await context.close();
  return next;
}

/** Thousands of entries, and many reloads. */
async function largeServer(browser) {
  const folder = mkdtempSync(join(tmpdir(), "folio-dev-page-"));
  const manifest = large(2000);
  save(folder, manifest);
  const server = await start(folder);
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const { tab, faults } = await open(context, server.address);
    await shows(result(tab), "Hello");
    check("folders are closed where there is much", (await tab.locator(".tree-row").count()) < 20);
    await tab.getByLabel("Filter").fill("file-199");
    await until("the filter finds", async () => (await tab.locator(".tree-row").count()) > 10);
    check("what is not seen is no element", (await tab.locator(".tree-row").count()) < 60);
    await tab.getByLabel("Filter").fill("");
    const times = [];
    for (let at = 0; at < 5; at += 1) {
      const began = Date.now();
      save(folder, manifest.replace("text: Hello", `text: Hello ${at}`));
      await shows(result(tab), `Hello ${at}`);
      times.push(Date.now() - began);
    }
    console.log(`       from the save to the preview, of 2,000: ${times.join(", ")} ms`);
    check("no error among thousands", faults.length === 0, faults);
    await context.close();
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true });
  }
}

/** The heap after many reloads is that after a few. */
async function reloads({ tab }, folder) {
  const devtools = await tab.context().newCDPSession(tab);
  const heap = async () => {
    await devtools.send("HeapProfiler.collectGarbage");
    return (await devtools.send("Runtime.getHeapUsage")).usedSize;
  };
  await choose(tab, "greet");
  await field(form(tab), "who").fill("Ada");
  let early;
  for (let at = 1; at <= reloadCount; at += 1) {
    save(folder, HELLO.replace("hello to", `hello ${at} to`));
    await shows(result(tab), `hello ${at} to`);
    if (at === FULL_AT) early = await heap();
  }
  const late = await heap();
  console.log(`       the heap after ${FULL_AT} and ${reloadCount} reloads: ${early >> 10} and ${late >> 10} KiB`);
  check("the heap stays as it is", late < early * 1.2, [early, late]);
}

const folder = mkdtempSync(join(tmpdir(), "folio-dev-page-"));
for (const [name, text] of Object.entries(FILES)) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}
let server, browser;
try {
  save(folder, HELLO);
  server = await start(folder);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  const permissions = ["clipboard-read", "clipboard-write"];
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, permissions });
  const [first, second] = [await open(context, server.address), await open(context, server.address)];
  // A tab behind another is drawn but once a second.
  await first.tab.bringToFront();
  await editing(first, folder);
  await accessible(first.tab, "an entry");
  await entries(first);
  await markdown(first, folder);
  await steps(first);
  await wire(first);
  await clients(first);
  await questions(first);
  await problems(first, folder, second);
  await tests(first, folder);
  await copies(first);
  await calls(first, server);
  await keyboard(first);
  await hostile(first, folder);
  await narrow(browser, server.address, folder);
  if (pictures) await takePictures(browser, server.address, folder, pictures);
  await reloads(first, folder);
  for (const { faults } of [first, second]) check("no error, and no request elsewhere", faults.length === 0, faults);
  save(folder, HELLO);
  await context.close();
  server = await restart(browser, folder, server);
  await largeServer(browser);
  console.log("the page of `folio dev` holds");
} finally {
  await browser?.close();
  server?.child.kill();
  rmSync(folder, { recursive: true });
}
