// The client of HTTP+SSE in the official TypeScript SDK, version 1, against `docs`: directly, and behind a
// proxy that takes a prefix off the path.
//
//     typescript_sse.mjs FOLIO EXAMPLES MODULES
//
// MODULES is the folder with `node_modules`.

import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

const [binary, examples, modules] = process.argv.slice(2);
const load = createRequire(join(resolve(modules), "/"));
const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { SSEClientTransport } = load("@modelcontextprotocol/sdk/client/sse.js");
const { ToolListChangedNotificationSchema } = load("@modelcontextprotocol/sdk/types.js");
const VERSION = JSON.parse(readFileSync(join(modules, "node_modules/@modelcontextprotocol/sdk/package.json"))).version;
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

/** A server over HTTP+SSE, and where it listens. */
async function serve(folder) {
  const server = spawn(binary, ["serve", folder, "--http=127.0.0.1:0", "--sse"], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  for await (const line of createInterface({ input: server.stderr })) {
    const found = /^serving HTTP\+SSE on (\S+)$/.exec(line);
    if (found) {
      server.stderr.resume();
      return { url: new URL(found[1]), end: () => (server.kill(), ended) };
    }
  }
  throw new Error("the server said not where it listens");
}

/** A proxy under `/outside`, which it takes off. */
async function proxy(to) {
  const server = createServer((incoming, answer) => {
    if (!incoming.url.startsWith("/outside/")) return answer.writeHead(404).end();
    const headers = { ...incoming.headers, host: to.host, "x-forwarded-prefix": "/outside" };
    const path = incoming.url.slice("/outside".length);
    const onward = request({ host: to.hostname, port: to.port, method: incoming.method, path, headers }, (response) => {
      answer.writeHead(response.statusCode, response.headers);
      response.pipe(answer);
    });
    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const end = () => (server.closeAllConnections(), server.close());
  return { url: new URL(`http://127.0.0.1:${server.address().port}/outside/sse`), end };
}

async function ask(url, folder) {
  const client = new Client({ name: "interop", version: "1" });
  let heard = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard++);
  await client.connect(new SSEClientTransport(url));
  await client.ping();
  const uris = (await client.listResources()).resources.map((resource) => resource.uri);
  check("resources/list", uris.includes("handbook://guide/start.md"), uris);
  same("tools/list", (await client.listTools()).tools.map((tool) => tool.name), ["search-handbook"]);
  const { contents } = await client.readResource({ uri: "handbook://guide/start.md" });
  same("resources/read", contents[0].text, readFileSync(join(folder, "guide/start.md"), "utf8"));
  const found = await client.callTool({ name: "search-handbook", arguments: { text: "the" } });
  check("tools/call", !found.isError && found.content[0].text.includes("guide/"), found);
  const refused = await client.readResource({ uri: "handbook://nobody" }).catch((error) => error);
  same("nothing is there", refused.code, -32002);
  const path = join(folder, "folio.yaml");
  const old = readFileSync(path, "utf8");
  writeFileSync(path, old.replace("\ntools:\n", "\ntools:\n  count:\n    description: Counts\n    result: { text: One }\n"));
  await until("tools/list_changed", () => heard, () => String(heard));
  same("what is listed then", (await client.listTools()).tools.map((tool) => tool.name), ["count", "search-handbook"]);
  await client.close();
  writeFileSync(path, old);
}

const late = setTimeout(() => {
  console.error("it takes too long");
  process.exit(1);
}, 60_000);
for (const behind of [false, true]) {
  const place = mkdtempSync(join(tmpdir(), "folio-docs-"));
  const folder = join(place, "docs");
  cpSync(join(examples, "docs"), folder, { recursive: true });
  console.log(`docs over HTTP+SSE, TypeScript ${VERSION}${behind ? ", behind a proxy" : ""}`);
  const server = await serve(folder);
  const outside = behind ? await proxy(server.url) : server;
  try {
    await ask(outside.url, folder);
  } finally {
    if (behind) outside.end();
    await server.end();
    rmSync(place, { recursive: true });
  }
}
clearTimeout(late);
