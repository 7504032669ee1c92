// The manifests that the page is shown with: one of every kind, a large one, and one that is hostile.

export const HELLO = `folio: 1
server: { name: desk }
partials: partials/*.hbs
env: { DESK_TOKEN: { secret: true } }
prompts:
  greet:
    description: Greet somebody, with a style that fits
    arguments:
      who: { description: Whom to greet, required: true, complete: [Ada, Alan] }
      style: { description: How, enum: [warm, formal, brief], default: warm }
      times: { type: integer, minimum: 1, maximum: 9, description: How often }
    messages:
      - user: "Say a {{style}} hello to {{who}}{{#if times}} {{times}} times{{/if}}."
      - assistant: "# Certainly"
  review:
    title: Review a change
    description: Look at a change as a careful colleague would
    arguments:
      path: { description: The file, default: src/main.rs }
      tone: { description: How it sounds, enum: [warm, formal, brief, strict, kind] }
      points: { type: integer, minimum: 1, maximum: 20, default: 5, description: How many at most }
    text: { file: prompts/review.md }
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
  data: { uri: "docs://data", mimeType: application/json, text: '{ "list": [1, 2], "deep": { "key": "value" } }' }
  dot:
    uri: "docs://dot"
    mimeType: image/png
    blob: iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==
  page: { uri: "docs://page/{name}", description: A page, text: "Page {{name}}" }
${Array.from({ length: 12 }, (_, at) => `  section-${at}: { uri: "docs://handbook/part-${at >> 2}/section-${at}.md", mimeType: text/markdown, text: "# Section ${at}" }\n`).join("")}tools:
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
    result: { structuredContent: { total: 3, files: [{ name: a.md, size: 10 }, { name: b.md, size: 2, tags: [x] }, { name: c.md, size: 30 }] } }
  confirm:
    description: Ask before anything is done
    run:
      - id: asked
        ask: { sure: { elicit: { message: "Really do it?", schema: { yes: { type: boolean, title: Yes, required: true }, why: { title: Why } } } } }
    result: { text: "{{#if steps.asked.sure.yes}}Done, {{steps.asked.sure.why}}.{{else}}Left alone.{{/if}}" }
  slow:
    description: Tells how far it is
    run:
      - progress: { progress: 1, total: 3, message: one of three }
      - log: half way
      - exec: [sleep, "1.5"]
    result: { text: finished }
  release:
    title: Draft the notes of a release
    description: Reads the commits, and drafts what to say of them
    arguments: { version: { required: true, description: The version to release } }
    run:
      - id: commits
        exec: [sh, -c, 'printf ''%s'' ''[{"hash":"a1","title":"Mend the list","odd key":1},{"hash":"b2","title":"Add a page"}]''']
        parse: json
      - id: draft
        set: { title: "Release {{version}}", first: "{{steps.commits.json.[0].title}}" }
      - id: publish
        exec: [sh, -c, 'sleep 0.05; echo "token $TOKEN"']
        env: { TOKEN: "{{env.DESK_TOKEN}}" }
    result: { text: "{{steps.draft.title}}: {{steps.draft.first}}" }
  fails:
    description: Fails at its second step
    run:
      - { id: first, set: { done: true } }
      - { id: second, exec: [sh, -c, "echo no such thing >&2; exit 3"] }
${Array.from({ length: 8 }, (_, at) => `  plain-${at}: { description: "Tool ${at}", arguments: { x: { type: integer } }, result: { text: "${at} {{x}}" } }\n`).join("")}tests:
  greets warmly: { prompt: greet, arguments: { who: Ada }, expect: { contains: a warm hello to Ada } }
  plain tells its number: { tool: plain-1, arguments: { x: 1 }, expect: { contains: "1 1" } }
`;

/** The secret that its environment has. */
export const DESK_TOKEN = "correct-horse-battery";

/** What stands beside it in its folder. */
export const FILES = {
  "partials/tone.hbs": "Write plainly{{#if tone}}, in a {{tone}} tone{{/if}}.\n",
  "prompts/review.md": `# Review {{path}}

{{> tone}}

Look at it as a careful colleague:

1. **Correctness**: what breaks, and for whom?
2. **Clarity**: what would you have to read twice?
3. **Tests**: what could fail and does not?

{{#if tone}}
> Keep it {{tone}}.
{{/if}}

Answer in at most {{points}} points.
`,
};

/** As many entries as the largest servers have. */
export const large = (count) =>
  `folio: 1\nserver: { name: archive }\nprompts:\n  greet: { text: Hello }\nresources:\n${Array.from({ length: count },
    (_, at) => `  file-${at}: { uri: "files://repo/src/mod-${Math.floor(at / 40)}/file-${at}.md", text: "File ${at}" }\n`).join("")}`;

/** What would run, load or lead astray, if any of it became markup or an address. */
export const HOSTILE = [
  "<img src=x onerror=globalThis.pwned=1>",
  "<script>globalThis.pwned=2</script>",
  "<svg onload=globalThis.pwned=3>",
  "[a](javascript:globalThis.pwned=4)",
  "\"><iframe src=https://elsewhere.invalid/></iframe>",
  "<style>@import 'https://elsewhere.invalid/x.css'</style>",
  "&lt;b&gt; \u202egnp.exe",
  "![x](https://elsewhere.invalid/x.png) <https://elsewhere.invalid> [b](data:text/html,x) [c](JaVaScRiPt:0)",
];

export const hostileManifest = () => {
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
tests:
  ${quoted[0]}: { prompt: hostile, expect: { contains: ${quoted[5]} } }
  ${quoted[1]}: { prompt: hostile, expect: { contains: "nothing of it" } }
`;
};
