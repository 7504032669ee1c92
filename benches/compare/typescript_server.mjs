// Usage: typescript_server.mjs MODULES, the folder with `node_modules`.

import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const load = createRequire(join(resolve(process.argv[2]), "/"));
const { McpServer } = load("@modelcontextprotocol/server");
const { serveStdio } = load("@modelcontextprotocol/server/stdio");
const z = load("zod");

serveStdio(() => {
  const server = new McpServer({ name: "desk", version: "1.0.0" });
  const echo = { description: "Says a text back", inputSchema: z.object({ text: z.string() }) };
  server.registerTool("echo", echo, ({ text }) => ({ content: [{ type: "text", text }] }));
  const said = (role, text) => ({ role, content: { type: "text", text } });
  const argsSchema = z.object({ kind: z.enum(["bugs", "bytes", "style"]), text: z.string().default("") });
  server.registerPrompt("review", { description: "Review a text", argsSchema }, ({ kind, text }) => ({
    messages: [said("user", `Review for ${kind}: ${text}`), said("assistant", "Here is what I see.")],
  }));
  server.registerResource("notes", "desk://notes", { mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "Some notes." }],
  }));
  return server;
});
