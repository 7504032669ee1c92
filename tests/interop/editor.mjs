// The schema in an editor: what the real yaml-language-server completes, shows on a key and marks red.
//
//     editor.mjs FOLIO EXAMPLES MODULES
//
// MODULES is the folder with `node_modules`.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [binary, examples, modules] = process.argv.slice(2);
const PACKAGE = join(resolve(modules), "node_modules/yaml-language-server");
const FIXTURES = join(import.meta.dirname, "../fixtures");
const SOON = 30_000;
const ERROR = 1;

function check(what, holds, saw) {
  const text = typeof saw === "string" ? saw : JSON.stringify(saw);
  console.log(`  ${holds ? "ok  " : "FAIL"} ${what}${holds ? "" : `: ${text}`}`);
  if (!holds) throw new Error(what);
}

/** Messages with a head that says how long they are, as pipes to a language server have them. */
function frames(stream, take) {
  let bytes = Buffer.alloc(0);
  stream.on("data", (more) => {
    bytes = Buffer.concat([bytes, more]);
    for (let end; (end = bytes.indexOf("\r\n\r\n")) >= 0; ) {
      const length = Number(/^Content-Length: (\d+)/im.exec(bytes.subarray(0, end))[1]);
      if (bytes.length < end + 4 + length) return;
      take(JSON.parse(bytes.subarray(end + 4, end + 4 + length)));
      bytes = bytes.subarray(end + 4 + length);
    }
  });
}

/** A language server as an editor sees it: requests by number, diagnostics by file. */
class Editor {
  #child = spawn(process.execPath, [join(PACKAGE, "bin/yaml-language-server"), "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
  #waiting = new Map();
  #count = 0;

  constructor() {
    frames(this.#child.stdout, (message) => this.#take(message));
  }

  #send(message) {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.#child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  #take({ id, method, params, result, error }) {
    if (method === "textDocument/publishDiagnostics") return this.#answer(params.uri, params.diagnostics);
    // What it asks of the editor, such as the settings: there are none.
    if (method) return id !== undefined && this.#send({ id, result: (params.items ?? []).map(() => null) });
    this.#answer(id, error ?? result);
  }

  #answer(key, value) {
    this.#waiting.get(key)?.(value);
    this.#waiting.delete(key);
  }

  #expect(key, what) {
    return new Promise((found, lost) => {
      const timer = setTimeout(() => lost(new Error(`no answer to ${what}`)), SOON);
      this.#waiting.set(key, (value) => (clearTimeout(timer), found(value)));
    });
  }

  tell(method, params) {
    this.#send({ method, params });
  }

  ask(method, params) {
    const id = ++this.#count;
    this.#send({ id, method, params });
    return this.#expect(id, method);
  }

  async initialize() {
    const textDocument = {
      hover: { contentFormat: ["markdown", "plaintext"] },
      completion: { completionItem: { snippetSupport: true, documentationFormat: ["markdown", "plaintext"] } },
    };
    const capabilities = { textDocument, workspace: { configuration: true } };
    const answer = await this.ask("initialize", { processId: process.pid, rootUri: null, capabilities });
    this.tell("initialized", {});
    return answer;
  }

  /** Opens a text as a file; returns its diagnostics. */
  open(path, text) {
    const uri = pathToFileURL(path).href;
    const found = this.#expect(uri, path);
    this.tell("textDocument/didOpen", { textDocument: { uri, languageId: "yaml", version: 1, text } });
    return found;
  }

  at(method, path, text, offset) {
    const before = text.slice(0, offset).split("\n");
    const position = { line: before.length - 1, character: before.at(-1).length };
    return this.ask(`textDocument/${method}`, { textDocument: { uri: pathToFileURL(path).href }, position });
  }

  close() {
    this.#child.kill();
  }
}

const folder = mkdtempSync(join(tmpdir(), "folio-editor-"));
const editor = new Editor();
let opened = 0;
const fresh = () => join(folder, `case-${opened++}.yaml`);

const HEAD = "folio: 1\nserver: { name: t }\n";
let MODELINE;

/** What is red in a manifest, as `LINE: WORDS`; the modeline is line 0. */
async function red(body) {
  const found = await editor.open(fresh(), `${MODELINE}\n${body}`);
  const errors = found.filter(({ severity }) => severity === ERROR);
  return errors.map(({ range, message }) => `${range.start.line}: ${message}`);
}

/** What is offered at the `|` in a manifest, by label. */
async function offered(body) {
  const [path, marked] = [fresh(), `${MODELINE}\n${body}`];
  const text = marked.replace("|", "");
  await editor.open(path, text);
  const answer = await editor.at("completion", path, text, marked.indexOf("|"));
  return new Map((answer.items ?? answer).map((item) => [item.label, item]));
}

async function completions() {
  console.log("completion");
  for (const body of ["folio: |", "folio: |\nserver: { name: t }\n", "folio: |\nprompts: {}\n"]) {
    check(`\`folio:\` is completed in ${JSON.stringify(body)}`, [...(await offered(body)).keys()].join() === "1", body);
  }
  const tool = `${HEAD}tools:\n  t:\n    description: T\n    run:`;
  for (const [what, body, labels] of [
    ["an empty file", "|", ["folio", "server", "prompts"]],
    ["the top", "folio: 1\n|", ["server", "env", "packs", "connections", "folders", "prompts", "resources", "tools", "tests"]],
    ["a prompt", `${HEAD}prompts:\n  p:\n    |`, ["description", "arguments", "text", "messages"]],
    ["a resource", `${HEAD}resources:\n  r:\n    |`, ["uri", "text", "file", "root", "run"]],
    ["an argument", `${HEAD}prompts:\n  p:\n    text: x\n    arguments:\n      who:\n        |`, ["required", "type", "enum", "within"]],
    ["a run", `${tool}\n      |`, ["exec", "http", "file", "ask"]],
    ["a step", `${tool}\n      - |`, ["id", "exec", "http", "when"]],
    ["a request", `${tool}\n      http:\n        |`, ["url", "query", "retry", "paginate"]],
    ["a format", `${tool}\n      exec: [ls]\n      parse: |`, ["json", "jsonl", "csv", "lines"]],
    ["a connection", `${HEAD}connections:\n  api:\n    |`, ["url", "auth", "retry"]],
  ]) {
    const found = await offered(body);
    check(`keys of ${what}`, labels.every((label) => found.has(label)), [...found.keys()]);
  }
  const first = await offered("|");
  check("an empty file begins with the version", first.get("folio").insertText === "folio: 1", first.get("folio"));
  const format = await offered(`${tool}\n      exec: [ls]\n      |`);
  check("a key with choices ends in a colon", format.get("parse").insertText.startsWith("parse: "), format.get("parse"));
}

const HOVERED = `${HEAD}include: a.yaml
packs:
  git: { path: packs/git, allow: [exec] }
connections:
  api: { url: "https://a.example", auth: { bearer: x } }
folders:
  notes: { path: notes, write: true }
prompts:
  greet:
    arguments: { who: { complete: { glob: "*.md" }, within: roots } }
    text: { file: a.md }
  talk: { messages: [{ user: x }] }
resources:
  day: { uri: "day://today", run: { exec: [date] }, result: { text: x } }
tools:
  one:
    description: One
    run: { script: { shell: sh, text: ls }, parse: json, onExit: { 1: x }, sandbox: { network: none } }
  two:
    description: Two
    annotations: { readOnlyHint: true }
    run:
      - http: { url: "https://a.example/x", query: { a: b }, retry: { attempts: 2 }, paginate: { next: link } }
        onFail: continue
      - log: { data: x }
      - notify: { updated: "day://today" }
    timeout: 10s
tests:
  hello: { tool: one, mock: { script: { stdout: x } }, expect: { contains: x } }
`;

/** The keys with a shape, and a beginning of their example. */
const SHAPES = {
  server: "{ name: ", include: "[", packs: "{ git: ", allow: "[exec", connections: "{ api: ", auth: "{ bearer: ",
  folders: "{ notes: ", prompts: "{ greet: ", arguments: "{ who: ", complete: "[low, ", text: "{ file: ", messages: "[{ user: ",
  user: "{ image: ", resources: "{ policy: ", run: "{ exec: ", exec: "[git, ", result: "{ text: ", tools: "{ list: ",
  script: "{ shell: ", onExit: "{ 1: ", sandbox: "{ read: ", annotations: "{ readOnlyHint: ", http: "{ url: ",
  query: "{ q: ", retry: "{ attempts: ", paginate: "{ next: ", log: "{ level: ", notify: "{ updated: ", tests: "{ greets: ",
  mock: "{ exec: ", expect: "{ contains: ", contains: "[open, ",
};

async function hovers() {
  console.log("hovers");
  const [path, text] = [fresh(), `${MODELINE}\n${HOVERED}`];
  const found = await editor.open(path, text);
  check("a right manifest is not red", found.length === 0, found);
  const hover = async (key) => {
    const place = new RegExp(`(?<=[\\n {\\[])${key}:`).exec(text.slice(MODELINE.length));
    // Within the key: its beginning is also the end of what is above.
    const { contents } = await editor.at("hover", path, text, MODELINE.length + place.index + 1);
    return contents;
  };
  for (const [key, example] of Object.entries(SHAPES)) {
    const contents = await hover(key);
    const snippets = [...contents.value.matchAll(/(?<!\\)`([^`]+)(?<!\\)`/g)].map(([, snippet]) => snippet);
    const holds = contents.kind === "markdown" && snippets.some((snippet) => snippet.replace(`${key}: `, "").startsWith(example));
    check(`\`${key}\` has an example as code`, holds, contents);
  }
  for (const [key, words] of [
    ["within", "Only allows paths inside of folders: `roots`"],
    ["onFail", "What a failure does: `continue` goes on"],
    ["parse", "* `jsonl`: A JSON value in each line."],
    ["folio", "The version of this language: 1."],
    ["timeout", "The time limit of a call. The default is 30s."],
    ["git", "Another folder with a manifest"],
  ]) {
    const { value } = await hover(key);
    check(`\`${key}\` says what it is`, value.includes(words) && !value.includes("\\`"), value);
  }
}

const LONG = "a".repeat(65);
const ONE_ACTION = "exec, script, http, file, tool, read, prompt, ask, log, progress, sleep, set, notify, fail".replace(/\w+/g, "`$&`");

/** Mistakes, and all that is red for each: the body begins in line 3. */
const MISTAKES = [
  ["no action", "tools:\n  t:\n    description: T\n    run: {}\n", [`6: expected exactly one of ${ONE_ACTION}`]],
  ["a step without an action", "tools:\n  t:\n    description: T\n    run:\n      - id: one\n", [`7: expected exactly one of ${ONE_ACTION}`]],
  ["two actions", 'tools:\n  t:\n    description: T\n    run:\n      exec: [ls]\n      http: { url: "https://a.example" }\n', ["8: multiple actions, expected one: write a list of steps"]],
  ["two actions in a step", 'tools:\n  t:\n    description: T\n    run:\n      - http: { url: "https://a.example" }\n        exec: [ls]\n', ["7: multiple actions, expected one: write a list of steps"]],
  ["neither text nor messages", "prompts:\n  p:\n    description: P\n", ["4: expected exactly one of `text`, `messages`"]],
  ["an empty prompt", "prompts:\n  p: {}\n", ["4: expected exactly one of `text`, `messages`"]],
  ["text and messages", "prompts:\n  p:\n    text: x\n    messages: [{ user: y }]\n", ["6: expected only one of `text`, `messages`"]],
  ["only a run in a prompt", "prompts:\n  p:\n    run: { exec: [ls] }\n", ["4: expected exactly one of `text`, `messages`"]],
  ["no content of a resource", 'resources:\n  r: { uri: "a://b" }\n', ["4: expected exactly one of `text`, `blob`, `file`, `root`, `run`"]],
  ["two contents of a resource", 'resources:\n  r:\n    uri: "a://b"\n    file: a.md\n    text: b\n', ["6: expected only one of `text`, `blob`, `file`, `root`, `run`"]],
  ["two operations on files", "folders: { n: n }\ntools:\n  t:\n    description: T\n    run:\n      file:\n        in: n\n        read: a\n        remove: a\n", [/^11: expected only one of `read`, `write`,/]],
  ["a name with a space", "prompts:\n  my prompt: { text: x }\n", ["4: invalid name: use 1 to 64 letters, digits, `_` and `-`"]],
  ["a long name", `tools:\n  ok: { description: T }\n  ${LONG}: { description: T }\n`, ["5: invalid name: use 1 to 64 letters, digits, `_` and `-`"]],
  ["a name of an argument", "prompts:\n  p:\n    text: x\n    arguments:\n      a-b: {}\n", ["7: invalid name: use letters, digits and `_`, and start with a letter or `_`"]],
  ["a name of a variable", "env:\n  MY TOKEN: {}\n", ["4: invalid name: use letters, digits and `_`, and start with a letter or `_`"]],
  ["an unknown key", "prompts:\n  p: { text: x, txt: y }\n", ["4: Property txt is not allowed."]],
  ["an unknown key at the top", "promts: {}\n", ["3: Property promts is not allowed."]],
  ["an unknown action", "tools:\n  t:\n    description: T\n    run: { exce: [ls] }\n", ["6: Property exce is not allowed."]],
  ["a list for a text", "prompts:\n  p: { text: x, description: [1] }\n", ["4: Incorrect type. Expected one of string, null."]],
  ["a list for a map", "tools: [a]\n", ["3: expected a map, such as `tools: { list: { description: List files, run: { exec: [ls] } } }`"]],
  ["a list of arguments", "prompts:\n  p:\n    text: x\n    arguments:\n      - name: who\n", ["7: expected a map, such as `arguments: { who: { required: true } }`"]],
  ["a text for a list", "tools:\n  t:\n    description: T\n    run: { exec: ls }\n", ['6: expected a list, such as `exec: [git, log, "{{branch}}"]`']],
  ["a duration without a unit", "tools:\n  t:\n    description: T\n    timeout: 10\n", ["6: expected a number with `ms`, `s`, `m` or `h`, such as `10s`"]],
  ["a duration with another unit", "tools:\n  t:\n    description: T\n    timeout: 10 sec\n", ["6: expected a number with `ms`, `s`, `m` or `h`, such as `10s`"]],
  ["a size without a unit", "tools:\n  t:\n    description: T\n    maxOutput: 1000\n", ["6: expected a number with `B`, `KiB`, `MiB` or `GiB`, such as `64KiB`"]],
  ["a size with another unit", "tools:\n  t:\n    description: T\n    maxOutput: 5MB\n", ["6: expected a number with `B`, `KiB`, `MiB` or `GiB`, such as `64KiB`"]],
  ["an unknown choice", "tools:\n  t:\n    description: T\n    run:\n      exec: [ls]\n      parse: xml\n", ['8: Value is not accepted. Valid values: "json", "jsonl", "csv", "lines".']],
];

/** Mistakes at the head, where the text is all there is. */
const HEADS = [
  ["another version", "folio: 2\nserver: { name: t }\n", ["1: expected `1`"]],
  ["a version in quotes", "folio: '1'\nserver: { name: t }\n", ["1: expected `1`"]],
  ["no version", "server: { name: t }\n", ['1: Missing property "folio".']],
  ["no server", "folio: 1\n", ['1: Missing property "server".']],
  ["a name of a server", "folio: 1\nserver: { name: My Server }\n", ["2: invalid name: use 1 to 64 of `a-z 0-9 -`, with `.` and one `/` between"]],
];

async function mistakes() {
  console.log("mistakes");
  for (const [what, body, wanted] of [...MISTAKES.map(([what, body, wanted]) => [what, HEAD + body, wanted]), ...HEADS]) {
    const saw = await red(body);
    const same = (words, at) => (wanted[at] instanceof RegExp ? wanted[at].test(words) : wanted[at] === words);
    check(what, saw.length === wanted.length && saw.every(same), saw);
  }
}

/** The manifests of the cases of a fixture, by title. */
function cases(name) {
  const letters = { "‹CR›": "\r", "‹BOM›": "\ufeff", "‹TAB›": "\t" };
  const whole = `\n${readFileSync(join(FIXTURES, name), "utf8")}`;
  return whole.split("\n--- ").slice(1).map((text) => {
    const [title, ...lines] = text.replace(/\n+$/, "").split("\n");
    const [manifest] = `${lines.join("\n")}\n`.split("+++ ");
    const own = manifest.startsWith("#!") || manifest.startsWith("folio:");
    const body = own ? manifest.replace(/^#!/, "") : HEAD + manifest;
    return [title, body.replace(/‹\w+›/g, (name) => letters[name])];
  });
}

async function rightManifests() {
  console.log("right manifests");
  const all = cases("right.txt");
  check("there are many", all.length >= 40, all.length);
  const saw = await Promise.all(all.map(async ([title, body]) => [title, await red(body)]));
  const wrong = saw.filter(([, errors]) => errors.length > 0);
  check(`${all.length} of them are not red`, wrong.length === 0, JSON.stringify(wrong, null, 1));
  for (const name of readdirSync(examples)) {
    const path = join(examples, name, "folio.yaml");
    if (!existsSync(path)) continue;
    const text = readFileSync(path, "utf8");
    const saw = await editor.open(path, text);
    check(`${name} is not red`, saw.length === 0, saw);
    const worse = await editor.open(join(examples, name, "worse.yaml"), `${text}\nno-such-key: 1\n`);
    check(`${name} is red where it is wrong`, worse.length === 1 && worse[0].severity === ERROR, worse);
  }
}

const { version } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
console.log(`yaml-language-server ${version}`);
try {
  const made = spawnSync(binary, ["init", folder], { encoding: "utf8" });
  check("`folio init` makes a folder", made.status === 0, made.stderr);
  const manifest = readFileSync(join(folder, "folio.yaml"), "utf8");
  MODELINE = manifest.split("\n")[0];
  check("its manifest begins with the modeline", MODELINE === "# yaml-language-server: $schema=./folio.schema.json", MODELINE);
  await editor.initialize();
  check("its manifest is not red", (await editor.open(join(folder, "folio.yaml"), manifest)).length === 0, manifest);
  await completions();
  await hovers();
  await mistakes();
  await rightManifests();
} finally {
  editor.close();
  rmSync(folder, { recursive: true });
}
