// A certified authorization server and the official TypeScript SDK's client against a server with `http.auth`: without a
// token, by the metadata, with PKCE, with too little scope and after a step-up; tokens of both forms; keys that change.
//
//     authorization.mjs FOLIO MODULES
//
// MODULES is the folder with `node_modules`: `oidc-provider` and `@modelcontextprotocol/client`.

import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [binary, modules] = process.argv.slice(2);
const load = createRequire(join(resolve(modules), "/"));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = load("@modelcontextprotocol/client");
const { default: Provider } = await import(
  pathToFileURL(join(resolve(modules), "node_modules/oidc-provider/lib/index.js"))
);
const REDIRECT = "http://127.0.0.1:9/callback";

function check(what, holds, saw) {
  console.log(`  ${holds ? "ok  " : "FAIL"} ${what}: ${typeof saw === "string" ? saw : JSON.stringify(saw)}`);
  if (!holds) throw new Error(what);
}

/** A port that nobody listens on. */
function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

function signingKey(kid) {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid, alg: "RS256", use: "sig" };
}

/** The authorization server, with tokens of this form for each resource. */
async function startIssuer(port, keys, format) {
  const scopes = ["desk.use", "desk.write"];
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    jwks: { keys },
    scopes: ["openid", "offline_access", ...scopes],
    clients: [
      { client_id: "interop", application_type: "native", token_endpoint_auth_method: "none", redirect_uris: [REDIRECT],
        grant_types: ["authorization_code"], response_types: ["code"] },
      { client_id: "ci", client_secret: "ci-secret-4711", grant_types: ["client_credentials"], redirect_uris: [], response_types: [] },
      { client_id: "desk", client_secret: "desk-secret-4711", grant_types: ["client_credentials"], redirect_uris: [], response_types: [] },
    ],
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_, __, one) => one,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({ scope: scopes.join(" "), audience: resource, accessTokenFormat: format }),
      },
    },
    clientDefaults: { token_endpoint_auth_method: "client_secret_basic" },
    pkce: { required: () => true },
  });
  return new Promise((done) => {
    const server = provider.listen(port, "127.0.0.1", () => done(server));
  });
}

/** Signs a user in and consents, as a browser would; what the client is then called back with. */
async function browse(start) {
  const cookies = new Map();
  let [url, form] = [start, null];
  for (let hops = 0; hops < 20; hops++) {
    const headers = { cookie: [...cookies].map((pair) => pair.join("=")).join("; ") };
    const request = form ? { method: "POST", body: form, headers } : { headers };
    const response = await fetch(url, { ...request, redirect: "manual" });
    for (const cookie of response.headers.getSetCookie()) {
      const [name, value] = cookie.split(";")[0].split("=");
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    form = null;
    if (location?.startsWith(REDIRECT)) return new URL(location).searchParams;
    if (location) {
      url = new URL(location, url);
      continue;
    }
    const page = await response.text();
    const action = page.match(/<form[^>]*action="([^"]+)"/)?.[1];
    if (!action) throw new Error(`no form at ${url}: ${page.slice(0, 500)}`);
    form = new URLSearchParams({ prompt: page.includes('value="login"') ? "login" : "consent", login: "ann", password: "x" });
    url = new URL(action, url);
  }
  throw new Error("the browser goes in circles");
}

/** What a client keeps of its authorization, and the URLs that its user is sent to. */
class Account {
  visited = [];
  get redirectUrl() { return REDIRECT; }
  get clientMetadata() {
    return { client_name: "interop", redirect_uris: [REDIRECT], grant_types: ["authorization_code"], response_types: ["code"],
      token_endpoint_auth_method: "none" };
  }
  clientInformation() { return { client_id: "interop" }; }
  tokens() { return this.saved; }
  saveTokens(tokens) { this.saved = tokens; }
  redirectToAuthorization(url) { this.visited.push(url); }
  saveDiscoveryState(state) { this.discovery = state; }
  discoveryState() { return this.discovery; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
}

/** Does it; where a token is wanted, the user signs in, and it is done again. */
async function authorized(account, connect, work) {
  let transport = connect();
  for (let round = 0; round < 2; round++) {
    const before = account.visited.length;
    const client = new Client({ name: "interop", version: "1" });
    try {
      await client.connect(transport);
      const result = await work(client);
      await client.close();
      return result;
    } catch (error) {
      if (account.visited.length === before) throw error;
      await transport.finishAuth(await browse(account.visited.at(-1)));
      transport = connect();
    }
  }
  throw new Error("the token is not enough");
}

async function startFolio(folder, port, env) {
  const child = spawn(binary, ["serve", folder, "--http", `127.0.0.1:${port}`], { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  await new Promise((done, failed) => {
    child.stderr.on("data", (text) => {
      log += text;
      if (log.includes("listening on")) done();
    });
    child.on("exit", () => failed(new Error(log)));
  });
  return child;
}

async function clientCredentials(issuer, resource, scope) {
  const authorization = `Basic ${Buffer.from("ci:ci-secret-4711").toString("base64")}`;
  const body = new URLSearchParams({ grant_type: "client_credentials", resource, scope });
  const request = () => fetch(`${issuer}/token`, { method: "POST", body, headers: { authorization } });
  // A connection that is kept may be one to the server before.
  const response = await request().catch(request);
  return (await response.json()).access_token;
}

async function statusOf(resource, token) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: {
    protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "a", version: "1" } } });
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", authorization: `Bearer ${token}` };
  return (await fetch(resource, { method: "POST", body, headers })).status;
}

const folder = mkdtempSync(join(tmpdir(), "folio-authorization-"));
const children = [];
try {
  const [issuerPort, port] = [await freePort(), await freePort()];
  const [issuer, resource] = [`http://127.0.0.1:${issuerPort}`, `http://127.0.0.1:${port}/mcp`];
  writeFileSync(join(folder, "folio.yaml"), `
folio: 1
server: { name: desk }
env: { DESK_SECRET: { secret: true } }
http:
  publicUrl: ${resource}
  auth:
    issuer: ${issuer}
    scopes: [desk.use]
    claims: { id: "sub || client_id" }
    introspect: { url: "${issuer}/token/introspection", clientId: desk, clientSecret: "{{env.DESK_SECRET}}" }
tools:
  look: { description: Looks, result: { text: "{{caller.id}} looks" } }
  write: { description: Writes, scopes: [desk.write], result: { text: "{{caller.id}} writes" } }
`);
  children.push(await startFolio(folder, port, { DESK_SECRET: "desk-secret-4711" }));
  check("a token of an issuer that is not there yet", (await statusOf(resource, "a.b.c")) === 503, 503);
  const first = signingKey("first");
  let server = await startIssuer(issuerPort, [first], "jwt");

  const account = new Account();
  const connect = () => new StreamableHTTPClientTransport(new URL(resource), { authProvider: account });
  const looked = await authorized(account, connect, (client) => client.callTool({ name: "look", arguments: {} }));
  check("the client signs in by the metadata and calls", looked.content[0].text === "ann looks", looked.content[0].text);
  check("it asks for what every request needs", account.visited[0].searchParams.get("scope") === "desk.use", account.visited[0].searchParams.get("scope"));
  check("it asks for a token for this server", account.visited[0].searchParams.get("resource") === resource, resource);
  const wrote = await authorized(account, connect, (client) => client.callTool({ name: "write", arguments: {} }));
  check("it steps up and calls again", wrote.content[0].text === "ann writes", wrote.content[0].text);
  const asked = account.visited.at(-1).searchParams.get("scope").split(" ").sort().join(" ");
  check("it asked for all scopes at once", asked === "desk.use desk.write", asked);

  const jwt = await clientCredentials(issuer, resource, "desk.use");
  check("a program with client credentials", (await statusOf(resource, jwt)) === 200, 200);
  const foreign = await clientCredentials(issuer, "http://127.0.0.1:1/other", "desk.use");
  check("a token for another server", (await statusOf(resource, foreign)) === 401, 401);
  const narrow = await clientCredentials(issuer, resource, "desk.write");
  check("a token without the scope of all requests", (await statusOf(resource, narrow)) === 403, 403);

  await new Promise((done) => server.close(done).closeAllConnections());
  check("a known token while the issuer is away", (await statusOf(resource, account.saved.access_token)) === 200, 200);
  server = await startIssuer(issuerPort, [signingKey("second"), first], "jwt");
  await new Promise((done) => setTimeout(done, 10_500));
  check("a token of a new key", (await statusOf(resource, await clientCredentials(issuer, resource, "desk.use"))) === 200, 200);

  await new Promise((done) => server.close(done).closeAllConnections());
  server = await startIssuer(issuerPort, [first], "opaque");
  const opaque = await clientCredentials(issuer, resource, "desk.use");
  check("an opaque token", (await statusOf(resource, opaque)) === 200, `${opaque.length} characters`);
  check("an opaque token of nobody", (await statusOf(resource, `${opaque}x`)) === 401, 401);
  server.closeAllConnections();
  server.close();
} finally {
  children.forEach((child) => child.kill());
  rmSync(folder, { recursive: true });
}
