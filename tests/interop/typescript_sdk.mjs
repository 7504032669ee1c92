// The official TypeScript SDK's client against `hello` and `docs`, over stdio and HTTP, in both generations: what the
// Inspector's command line cannot show, the notices of changed lists.
//
//     typescript_sdk.mjs FOLIO EXAMPLES MODULES
//
// MODULES is the folder with `node_modules`.

import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  const client = new Client({ name: "interop", version: "1" }, { listChanged, versionNegotiation });
  await client.connect(transport);
  return { client, heard };
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

/** A server over HTTP, and where it listens. */
async function serve(folder) {
  const server = spawn(binary, ["serve", folder, "--http=127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
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
    if (over === "HTTP") server = await serve(folder);
    const transport = server
      ? new StreamableHTTPClientTransport(server.url)
      : new StdioClientTransport({ command: binary, args: ["serve", folder] });
    const peer = await connect(transport, mode);
    await { hello, docs }[name](peer, folder);
    await peer.client.close();
  } finally {
    await server?.end();
    rmSync(place, { recursive: true });
  }
}

const late = setTimeout(() => {
  console.error("it takes too long");
  process.exit(1);
}, 120_000);
for (const mode of ["legacy", "2026-07-28"])
  for (const over of ["stdio", "HTTP"]) for (const name of ["hello", "docs"]) await session(name, over, mode);
clearTimeout(late);
