// The official TypeScript SDK's client against four examples, over stdio and HTTP, in both generations: what the
// Inspector's command line cannot show, the notices of changed lists, and what a client is asked and told on the way.
//
//     typescript_sdk.mjs FOLIO EXAMPLES MODULES
//
// MODULES is the folder with `node_modules`.

import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

const [binary, examples, modules] = process.argv.slice(2);
const load = createRequire(join(resolve(modules), "/"));
const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");
const VERSION = JSON.parse(readFileSync(join(modules, "node_modules/@modelcontextprotocol/client/package.json"))).version;
const SOON = 20_000;

function check(what, holds, saw) {
  const text = typeof saw === "string" ? saw : JSON.stringify(saw);
  console.log(`  ${holds ? "ok  " : "FAIL"} ${what}: ${holds && text.length > 160 ? `${text.slice(0, 157)}...` : text}`);
  if (!holds) throw new Error(what);
}

function same(what, saw, wanted) {
  check(what, isDeepStrictEqual(saw, wanted), saw);
}

/** Waits until something is so. */
async function until(what, holds, saw) {
  const end = Date.now() + SOON;
  while (!(await holds()) && Date.now() < end) await delay(10);
  check(what, await holds(), saw());
}

/** An edit of the manifest: a text that stands in it once, and what takes its place. */
function edit(folder, old, fresh) {
  const path = join(folder, "folio.yaml");
  const parts = readFileSync(path, "utf8").split(old);
  if (parts.length !== 2) throw new Error(`${path} holds ${old} ${parts.length - 1} times`);
  writeFileSync(path, parts.join(fresh));
}

/** A client with the names that it heard of, by kind: each notice makes it list anew. */
async function connect(transport, mode) {
  const heard = [];
  const told = (kind) => ({
    onChanged: (error, entries) => heard.push([kind, error ? String(error) : entries.map((entry) => entry.name).sort()]),
  });
  const listChanged = { tools: told("tools"), prompts: told("prompts"), resources: told("resources") };
  const versionNegotiation = { mode: mode === "legacy" ? "legacy" : { pin: mode } };
  const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
  const client = new Client({ name: "interop", version: "1" }, { capabilities, listChanged, versionNegotiation });
  const [asked, answers, logs] = [[], [], []];
  const note = (request) => asked.push(request.params);
  client.setRequestHandler("elicitation/create", (request) => (note(request), answers.shift()));
  client.setRequestHandler("sampling/createMessage", (request) => {
    note(request);
    return { role: "assistant", content: { type: "text", text: " In short. " }, model: "interop" };
  });
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///work/desk", name: "Desk" }] }));
  client.setNotificationHandler("notifications/message", ({ params }) => void logs.push(params));
  await client.connect(transport);
  return { client, heard, asked, answers, logs, mode };
}

async function hello({ client, heard }, folder) {
  same("prompts/list", (await client.listPrompts()).prompts.map((prompt) => prompt.name), ["greet"]);
  const got = await client.getPrompt({ name: "greet", arguments: { who: "Ada" } });
  same("prompts/get", got.messages, [{ role: "user", content: { type: "text", text: "Say hello to Ada." } }]);
  const refused = await client.getPrompt({ name: "greet" }).catch((error) => error);
  same("an argument is missing", [refused.code, /who/.test(refused.message)], [-32602, true]);
  edit(folder, "\nprompts:\n", '\nprompts:\n  farewell: { description: Say goodbye, text: "Say goodbye." }\n');
  await until("prompts/list_changed", () => heard.length, () => heard);
  same("what is listed then", heard, [["prompts", ["farewell", "greet"]]]);
}

async function docs({ client, heard }, folder) {
  const uris = (await client.listResources()).resources.map((resource) => resource.uri);
  check("resources/list", uris.includes("handbook://guide/start.md"), uris);
  const templates = (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate);
  check("resources/templates/list", templates.includes("term://{name}"), templates);
  same("tools/list", (await client.listTools()).tools.map((tool) => tool.name), ["search-handbook"]);
  const { contents } = await client.readResource({ uri: "handbook://guide/start.md" });
  same("resources/read", contents[0].text, readFileSync(join(folder, "guide/start.md"), "utf8"));
  const found = await client.callTool({ name: "search-handbook", arguments: { text: "the" } });
  check("tools/call", !found.isError && found.content[0].text.includes("guide/"), found);
  const reference = { type: "ref/resource", uri: "term://{name}" };
  const { completion } = await client.complete({ ref: reference, argument: { name: "name", value: "ten" } });
  same("completion/complete", completion.values, ["tenant"]);
  writeFileSync(join(folder, "guide/new.md"), "# New\n");
  await until("resources/list_changed", () => heard.length, () => heard);
  check("what is listed then", heard[0][0] === "resources" && heard[0][1].includes("guide/new.md"), heard[0]);
  edit(folder, "\ntools:\n", "\ntools:\n  count:\n    description: Counts\n    result: { text: One }\n");
  await until("tools/list_changed", () => heard.length > 1, () => heard);
  same("what is listed then", heard.slice(1), [["tools", ["count", "search-handbook"]]]);
}

async function assistant({ client, asked, logs, mode }, folder) {
  const told = [];
  const options = { onprogress: ({ progress, total, message }) => void told.push([progress, total, message]) };
  const modern = mode !== "legacy";
  if (!modern) await client.setLoggingLevel("debug");
  const _meta = modern ? { "io.modelcontextprotocol/logLevel": "debug" } : {};
  const call = (name, args, more) => client.callTool({ name, arguments: args, _meta }, more);
  const answer = await call("summarize-meeting", { meeting: "kick-off" }, options);
  same("a tool that asks the client's model", answer.content, [{ type: "text", text: "# kick-off\n\nIn short.\n" }]);
  const minutes = readFileSync(join(folder, "minutes/kick-off.md"), "utf8");
  same("what its model was asked", [asked[0].maxTokens, asked[0].messages[0].content.text.trim()], [400, minutes.trim()]);
  // What comes together with an answer the SDK tells nobody, and it adds words of its own: what is told is in order.
  const steps = [[1, 3, "Reading the minutes"], [2, 3, "Asking for a summary"], [3, 3, "Done"]];
  const ours = told.filter(([, total]) => total === 3);
  same("how far it was", ours, steps.filter(([done]) => ours.some(([progress]) => progress === done)));
  await until("log messages", () => logs.length > 1, () => logs);
  same("who spoke", logs.map((log) => [log.level, log.logger]), [["debug", "summarize"], ["info", "summarize-meeting"]]);
  same("the client's roots", (await call("folders", {})).content[0].text, "file:///work/desk\n");

  told.length = 0;
  const enough = new AbortController();
  const waiting = call("wait", { seconds: 10 }, { ...options, signal: enough.signal }).catch((error) => error);
  await until("a call is under way", () => told.length, () => told);
  enough.abort("enough");
  check("it is cancelled", (await waiting) instanceof Error || (await waiting) === "enough", String(await waiting));
  same("and the next is answered", (await call("wait", { seconds: 0.01 })).content[0].text, "Waited 0.01 s.");
}

async function askFirst({ client, asked, answers }, folder) {
  const desk = deskOf(folder);
  const note = join(desk, "plan.txt");
  writeFileSync(note, "Buy milk\n");
  const call = async (name, args) => {
    const answer = await client.callTool({ name, arguments: args });
    return [answer.content[0].text, answer.isError ?? false];
  };
  answers.push({ action: "decline" });
  same("a person says no", [await call("delete-note", { name: "plan" }), existsSync(note)], [["`plan` is kept.", false], true]);
  check("what was asked", asked[0].message.includes("It begins: Buy milk"), asked);
  answers.push({ action: "accept", content: { sure: true } });
  same("a person says yes", [await call("delete-note", { name: "plan" }), existsSync(note)], [["Deleted `plan`.", false], false]);

  answers.push({ action: "accept", content: { mail: "ada@desk.example", role: "editor" } });
  answers.push({ action: "accept", content: { send: true } });
  same("two rounds", await call("invite", {}), ["Invited ada@desk.example.", false]);
  check("the second depends on the first", asked.at(-1).message.includes("an invitation as editor"), asked.at(-1));
  answers.push({ action: "accept", content: { mail: "bob@desk.example" } }, { action: "cancel" });
  const [text, failed] = await call("invite", {});
  check("the second is cancelled", failed && text.includes("the user cancelled"), text);
  const lines = readFileSync(join(desk, "invited.txt"), "utf8").split("\n").slice(0, -1);
  const wanted = ["ada@desk.example asked for", "ada@desk.example invited", "bob@desk.example asked for"];
  same("each effect happened once", lines, wanted);
}

/** The folder that the tools of `ask-first` work on. */
function deskOf(folder) {
  return join(folder, "..", "desk");
}

/** A server over HTTP, and where it listens. */
async function serve(folder, env) {
  const server = spawn(binary, ["serve", folder, "--http=127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"], env });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  for await (const line of createInterface({ input: server.stderr })) {
    const found = /^listening on (\S+)$/.exec(line);
    if (found) {
      server.stderr.resume();
      return { url: new URL(found[1]), end: () => (server.kill(), ended) };
    }
    console.log(`  ${line}`);
  }
  throw new Error("the server said not where it listens");
}

async function session(name, over, mode) {
  const place = mkdtempSync(join(tmpdir(), `folio-${name}-`));
  const folder = join(place, name);
  cpSync(join(examples, name), folder, { recursive: true });
  console.log(`${name} over ${over}, TypeScript ${VERSION}, ${mode}`);
  let server;
  try {
    mkdirSync(deskOf(folder));
    const env = { ...process.env, DESK: deskOf(folder) };
    if (over === "HTTP") server = await serve(folder, env);
    const transport = server
      ? new StreamableHTTPClientTransport(server.url)
      : new StdioClientTransport({ command: binary, args: ["serve", folder], env });
    const peer = await connect(transport, mode);
    await SESSIONS[name](peer, folder);
    await peer.client.close();
  } finally {
    await server?.end();
    rmSync(place, { recursive: true });
  }
}

const SESSIONS = { hello, docs, assistant, "ask-first": askFirst };
const late = setTimeout(() => {
  console.error("it takes too long");
  process.exit(1);
}, 120_000);
for (const mode of ["legacy", "2026-07-28"])
  for (const over of ["stdio", "HTTP"]) for (const name of Object.keys(SESSIONS)) await session(name, over, mode);
clearTimeout(late);
