//! The mistakes that authors make, as a table: where, what they write, and what to write instead (pattern.rs).
//!
//! The first row that fits counts. A row with `help` says that where it is not enough to show what to write; one that is
//! `maybe` is shown, and not written by `check --fix`.

use super::{Rule, rule};
use crate::diagnostic::Code;
use crate::manifest::prompt::{SYSTEM_ROLE, SYSTEM_ROLE_HELP};

pub(super) const METHODS: &str = "get|head|post|put|patch|delete|options|GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS";

const VERSION_HELP: &str =
    "write `folio: 1`, the version of this language; that of your server is `server: { version: … }`";
const CLIENT_STARTS: &str = "remove it: a client starts `folio serve`; `folio install` writes that into its file";
const LISTEN: &str = "write `http: { listen: \"127.0.0.1:8080\" }` at the top";
const PERMISSIONS: &str =
    "name each action that it needs, of `exec`, `script`, `http`, `ask`, `files` and `read`: `allow: [exec]`";
const MODEL: &str = "remove it, and what belongs to it: the client chooses the model and its settings";
const ROLE: &str = "unexpected key `role`: a message is named after its role";
const NO_SHELL: &str =
    "no shell reads it: write `script: { shell: sh, text: … }`, where arguments are variables, as in \"$x\"";
const ONE_SHELL: &str = "remove it: `exec` runs without a shell, and `script: { shell: sh, text: … }` with one";
const VARIABLES: &str = "write `script: { shell: …, text: … }`, where arguments are variables, as in \"$x\"";
const QUESTION: &str = "it is a question";
const LATER_STEPS: &str = "write `{meant}`: later steps read it as `steps.ID.answer`";
const UNKNOWN_TYPE: &str =
    "unknown type `{t}`, expected one of `array`, `boolean`, `integer`, `null`, `number`, `object`, `string`";
const UNNAMED: &str = "missing name of a question";
const EACH_ITSELF: &str = "each argument says so itself";
const OPERATION: &str = "write `run: { http: { method: GET, url: \"https://HOST/…\" } }`; `folio init DIR --openapi FILE` writes all tools of a description";

/// A tool from which no error follows.
const OPERATION_TOOL: &str = "{ description: …, run: { script: { shell: sh, text: '' } } }";

/// Steps from which no error follows, whether or not the interpreter is there.
pub(super) const SCRIPT_STEP: &str = "{ script: { shell: sh, text: '' } }";

/// Words that several rules take for one another.
pub(super) const WORDS: &[(&str, &str)] = &[
    ("@args", "args|arguments|argv|params"),
    ("@call", "call|call_tool|callTool|invoke|uses|use"),
    ("@command", "command|cmd|program"),
    ("@everything", "all|*|any|true|everything"),
    ("@function", "handler|action|execute|entrypoint|main|module|function|func"),
    ("@method", METHODS),
    ("@program", "npx|npm|uvx|uv|deno|bun|ruby|git|make|curl|cargo|go"),
    ("@values", "arguments|args|argv|params|with|input|inputs|vars"),
];

pub(super) const RULES: &[Rule] = &[
    // The top.
    rule("version", "$v:first-version", "1").message("expected an integer, found {found}"),
    rule("version", "$v:no-integer", "1").message("expected an integer, found {found}").help(VERSION_HELP),
    rule("manifest", "{ version: =1, without folio|name: }", "{ folio: 1 }")
        .help("write `{meant}`, the version of this language; that of your server is `server: { version: … }`"),
    rule("manifest", "{ version: $v, without folio|name: }", "{ folio: 1 }").help(VERSION_HELP).maybe(),
    rule("manifest", "{ prompts: $p:glob, without include: }", "{ include: $p }")
        .message("expected a map, found {found}")
        .code(Code::WrongType)
        .at("p"),
    rule("manifest", "{ tools: $p:glob, without include: }", "{ include: $p }")
        .message("expected a map, found {found}")
        .code(Code::WrongType)
        .at("p"),
    rule("manifest", "$list:list", "{ folio: 1, server: { name: my-server } }")
        .help("a manifest is a file of its own: `folio init DIR` writes one"),
    rule("server", "$name:text", "{ name: $name }"),
    rule("server", "{ command: $c, args: $a }", "{}").help(CLIENT_STARTS),
    rule("server", "{ host: $h, port: $p }", "{}").help(LISTEN),
    rule("server", "{ transport: $t, command?: $c, port?: $p }", "{}")
        .help("remove it: `folio serve` speaks over stdio, and `folio serve --http ADDRESS` over HTTP"),
    rule("skills", "$dir:text", "{ dir: $dir }"),
    rule("variables", "$list:assignments", "$list:variables").maybe(),
    rule("variables", "$list:named", "$list:by-name"),
    rule("packs folders", "$list:paths", "$list:by-path"),
    rule("pack", "$path:text", "{ path: $path }"),
    rule("grants", "$all=@everything", "[exec, script, http, ask, files]")
        .message("invalid permission `{all}`")
        .code(Code::BadValue).at("all")
        .help(PERMISSIONS),
    rule("grants", "['$all=@everything']", "[exec, script, http, ask, files]")
        .message("invalid permission `{all}`")
        .code(Code::BadValue).at("all")
        .help(PERMISSIONS),
    rule("grants", "$names:commas", "$names:split"),
    rule("grants", "$name:scalar", "[$name]"),
    // Prompts, tools and resources.
    rule("prompts", "$path:path", "{}").help("write `include: prompts/*.md`, with the path of your files"),
    rule("tools", "$path:path", "{}").help("write `include: tools/*.yaml`, with the path of your files"),
    rule("resources", "$path:path", "{}").help("write `resources: { files: { uri: \"files://{+path}\", root: FOLDER } }`"),
    rule("prompts", "['$file:file']", "{ NAME: { text: { file: $file:path } } }").reads("{}").maybe(),
    rule("prompts", "$list:with-text", "{ NAME: { text: … } }").reads("{}").maybe(),
    rule("tools", "$list:functions", "{ NAME: { description: …, arguments: …, run: … } }").reads("{}").maybe(),
    rule("tools", "$list:with-text", "{ NAME: { description: …, run: … } }").reads("{}").maybe(),
    rule("resources", "$list:with-text", "{ NAME: { uri: …, text: … } }").reads("{}").maybe(),
    rule("prompts tools resources", "$list:named", "$list:by-name"),
    rule("prompt", "$file:file", "{ text: { file: $file } }"),
    rule("prompt", "$text:text", "{ text: $text }"),
    rule("tool", "$command:words", "{ description: …, run: { exec: $command:words } }").maybe(),
    rule("prompt", "{ argument-hint?: $a, allowed-tools?: $b }", "{}")
        .help("remove it, or serve the folder as it is: `packs: { NAME: { path: …, format: claude-commands } }`")
        .foreign(),
    rule(
        "prompt",
        "{ model?: $a, temperature?: $b, max_tokens|maxTokens?: $c, top_p|topP?: $d, config?: $e, provider?: $f }",
        "{}",
    )
    .help(MODEL),
    rule("prompt", "{ system: $s, user?: $u, assistant?: $a, without text|messages: }", "{ messages: [{ user: $s }, { user: $u }, { assistant: $a }] }")
        .code(Code::Role)
        .message(SYSTEM_ROLE)
        .help(SYSTEM_ROLE_HELP),
    rule("prompt", "{ system: $system }", "{}").code(Code::Role).message(SYSTEM_ROLE).help(SYSTEM_ROLE_HELP),
    rule("prompt", "{ user?: $u, assistant?: $a, without text|messages: }", "{ messages: [{ user: $u }, { assistant: $a }] }")
        .note("it belongs to `messages`"),
    rule("prompt", "{ user?: $u, assistant?: $a }", "{}")
        .note("it belongs to `messages`")
        .help("write it as an item of `messages`"),
    rule("prompt", "{ input: { schema: $schema:map }, without arguments: }", "{ arguments: $schema }"),
    rule("prompt", "{ file|path|filename|src|source|template_file: $file:scalar, without text|messages: }", "{ text: { file: $file } }"),
    rule("resource", "{ dir|directory|folder: $folder:scalar, without text|blob|file|root|run: }", "{ root: $folder }"),
    rule("resource", "{ path|filename|src|source|template_file: $file:scalar, without text|blob|file|root|run: }", "{ file: $file }"),
    rule("tool", "{ output|returns: $text:text, without result: }", "{ result: { text: $text:outcome } }"),
    rule("tool", "{ text: $text:text, select?: $select, without result: }", "{ result: { select: $select, text: $text:outcome } }")
        .note("it belongs to `result`"),
    rule("tool", "{ method: $a, path?: $b, operationId?: $c, requestBody?: $d, responses?: $e, tags?: $f, summary?: $g, security?: $h, consumes?: $i, produces?: $j, without url|run: }", OPERATION_TOOL)
        .note("it describes an operation of an API")
        .help(OPERATION),
    rule("tool", "{ operationId|requestBody|responses: $a, path?: $b, requestBody?: $d, responses?: $e, tags?: $f, summary?: $g, security?: $h, consumes?: $i, produces?: $j, without url|run: }", OPERATION_TOOL)
        .note("it describes an operation of an API")
        .help(OPERATION),
    rule("tool", "{ commands|cmds|script|scripts|steps|run: $list:commands }", "{ run: $list:steps }")
        .message("unexpected list in `{key}`: each command is a step"),
    rule("tool", "{ commands|cmds|script|scripts: $list:texts }", "{ run: $list:steps }")
        .message("unexpected list in `{key}`: each command is a step"),
    rule("tool", "{ run: { script|scripts|commands|cmds: $list:texts } }", "{ run: $list:steps }")
        .message("unexpected list in `script`: each command is a step"),
    rule("tool", "{ @function: $c:list, without run|result: }", "{ run: { exec: $c } }"),
    rule("tool", "{ @function: $c:command, without run|result: }", "{ run: { exec: $c:words } }"),
    rule("tool", "{ @function: $c:scalar, without run|result: }", "{ run: { exec: [PROGRAM] } }")
        .reads("{ run: { script: { shell: sh, text: '' } } }")
        .help("no function of a program is called: write `run: { exec: [PROGRAM] }`, or `http`"),
    rule("result", "$text:text", "{ text: $text }"),
    // Arguments.
    rule("prompt tool", "{ properties: $p:map, required?: $r:texts, type?: =object, without arguments|inputSchema|input_schema: }", "{ arguments: $p:require($r) }")
        .note("arguments are in `arguments`, by name"),
    rule("prompt tool", "{ required: $r:texts, arguments: $a:map }", "{ arguments: $a:require($r) }").note(EACH_ITSELF),
    rule("prompt tool", "{ parameters|params|args|input|inputs: { type?: =object, properties: $p:map, required?: $r:texts }, without arguments: }", "{ arguments: $p:require($r) }"),
    rule("prompt tool", "{ parameters|params|input|inputs: $list:parameters, without arguments: }", "{ arguments: $list:by-parameter }"),
    rule("prompt tool", "{ parameters|params|input|inputs: $list:named, without arguments: }", "{ arguments: $list:by-name }"),
    rule("prompt", "{ inputSchema|input_schema|schema: { properties: $p:map, required?: $r }, without arguments: }", "{ arguments: $p:require($r) }"),
    rule("arguments", "{ type: =object, properties: $p:map, required?: $r:texts, description?: $d, additionalProperties?: $e }", "$p:require($r)")
        .message("expected the arguments by name, found a JSON Schema")
        .code(Code::WrongType)
        .at("properties")
        .help("write `arguments: {meant}`"),
    rule("arguments", "{ properties: $p:map, required: $r:texts }", "$p:require($r)")
        .message("expected the arguments by name, found a JSON Schema")
        .code(Code::WrongType)
        .at("properties")
        .help("write `arguments: {meant}`"),
    rule("arguments", "{ required: $r:names }", "$all:require($r)")
        .message("unknown argument `required`: each argument says so itself")
        .help("write `arguments: {meant}`"),
    rule("arguments", "$list:parameters", "$list:by-parameter"),
    rule("arguments", "$list:named", "$list:by-name"),
    rule("argument", "$t:type-expression", "$t:argument"),
    rule("argument", "=required", "{ required: true }"),
    rule("argument", "=optional", "{ required: false }"),
    rule("argument", "$file:file", "{ default: $file }").maybe(),
    rule("argument", "$text:text", "{ description: $text }").maybe(),
    rule("argument", "$values:scalars", "{ enum: $values }"),
    rule("argument", "$n:number", "{ type: $n:type-of, default: $n }").maybe(),
    rule("argument", "$b:bool", "{ required: true }").reads("{ type: boolean }").maybe(),
    rule("argument", "{ type: $t:form-type, enum|options|choices|values: $o }", "{ enum: $o }")
        .message("unknown type `{t}`")
        .code(Code::Schema)
        .at("t"),
    rule("argument", "{ type: $t:foreign-type }", "{ type: $t:type }").message(UNKNOWN_TYPE).code(Code::Schema).at("t"),
    rule("argument", "{ type: $list:values, without enum: }", "{ enum: $list }")
        .message("expected types in `type`, found values")
        .code(Code::Schema),
    rule("argument", "{ optional: $o:bool, without required: }", "{ required: $o:not }"),
    rule("argument", "{ min: $m, with type: =integer|number, without minimum: }", "{ minimum: $m }"),
    rule("argument", "{ max: $m, with type: =integer|number, without maximum: }", "{ maximum: $m }"),
    rule("argument", "{ min: $m, with type: =array, without minItems: }", "{ minItems: $m }"),
    rule("argument", "{ max: $m, with type: =array, without maxItems: }", "{ maxItems: $m }"),
    rule("argument", "{ min: $m, without minLength|minimum: }", "{ minLength: $m }"),
    rule("argument", "{ max: $m, without maxLength|maximum: }", "{ maxLength: $m }"),
    rule("argument", "{ pattern: $p:slashed }", "{ pattern: $p:inside }")
        .message("the slashes around a pattern are part of it: nothing matches")
        .code(Code::BadValue)
        .at("p")
        .warning(),
    rule("enum", "$names:commas", "$names:split"),
    rule("enum", "$map:map", "$map:keys").maybe(),
    rule("enum list", "$value:scalar", "[$value]"),
    // Messages.
    rule("messages", "$text:text", "[{ user: $text }]"),
    rule("messages", "{ user: $u, assistant: $a }", "[{ user: $u }, { assistant: $a }]")
        .message("expected a list, found a map")
        .code(Code::WrongType)
        .at("all"),
    rule("messages", "$map:map", "[$map]"),
    rule("message", "$text:text", "{ user: $text }"),
    rule("message", "{ human: $text }", "{ user: $text }"),
    rule("message", "{ ai|model: $text }", "{ assistant: $text }"),
    rule("message", "{ role: $r=system, content|text: $c }", "{ user: $c }").code(Code::Role).at("r").message(SYSTEM_ROLE).help(SYSTEM_ROLE_HELP),
    rule("message", "{ role: $r=user, content|text: $c:text }", "{ user: $c }").message(ROLE),
    rule("message", "{ role: $r=assistant, content|text: $c:text }", "{ assistant: $c }").message(ROLE),
    rule("message", "{ role: =user, content: { type?: =text, text: $c:text } }", "{ user: $c }").message(ROLE),
    rule("message", "{ role: =assistant, content: { type?: =text, text: $c:text } }", "{ assistant: $c }").message(ROLE),
    rule("message", "{ role: =user, content: [{ type: =text, text: $c:text }] }", "{ user: $c }").message(ROLE),
    rule("message", "{ role: =assistant, content: [{ type: =text, text: $c:text }] }", "{ assistant: $c }").message(ROLE),
    rule("message", "{ role: =user, content|text: $c }", "{ user: … }").message(ROLE).maybe(),
    rule("message", "{ role: =assistant, content|text: $c }", "{ assistant: … }").message(ROLE).maybe(),
    rule("message", "{ type: =text, text: $text:text, without user|assistant|role: }", "{ user: $text }")
        .note("a message is named after its role"),
    // What runs.
    rule("run step", "$command:words", "{ exec: $command:words }").message("expected a map or a list, found a string"),
    rule("run step", "$command:text", "{ exec: $command:words }").message("expected a map or a list, found a string").help(NO_SHELL),
    rule("run", "$argv:argv", "{ exec: $argv }").message("expected a map or a list of maps, found a list"),
    rule("run", "{ steps: $list:list }", "$list").help("write the list of steps as the value of `run`").at("steps"),
    rule("run", "{ parallel: $list:list }", "$list")
        .message("expected a number in `parallel`, found a list of steps")
        .at("parallel")
        .code(Code::WrongType)
        .help("write the list as the value of `run`: steps run one after the other, and `parallel` is for `each`"),
    rule("step request", "{ maxOutput|outputSchema|result: $x }", "{}").help("write `{key}` beside `run`"),
    rule("step request", "{ select: $x }", "{}").help("write `result: { select: … }` beside `run`"),
    rule("step", "{ timeout: $t:scalar, without ask: }", "{ timeout: }").silent(),
    rule("step", "{ uri|request|fetch: $r:map, without http: }", "{ http: $r }"),
    rule("step", "{ name: $n }", "{}").help("write it as a comment; later steps know a step by its `id`"),
    rule("step", "{ elicit: $q:map }", "{ ask: { answer: { elicit: $q } } }").note(QUESTION),
    rule("step", "{ sample: $q:map }", "{ ask: { answer: { sample: $q } } }").note(QUESTION),
    rule("step", "{ roots: $q:map }", "{ ask: { answer: { roots: $q } } }").note(QUESTION),
    rule("step", "{ $kind=elicit|sample|roots: $q }", "{ log: '' }")
        .note(QUESTION)
        .help("write `ask: { answer: { {kind}: … } }`"),
    rule("step", "{ continue-on-error|ignore_errors|continueOnError|ignoreErrors: $x }", "{ onFail: continue }").reads("{}"),
    rule("step", "{ depends_on|dependsOn|needs|after: $x }", "{}").help("remove it: steps run one after the other, in the order written"),
    rule("step", "{ tool: $name:text, @values: $a:map }", "{ tool: { name: $name, arguments: $a } }"),
    rule("step", "{ prompt: $name:text, @values: $a:map }", "{ prompt: { name: $name, arguments: $a } }"),
    rule("step", "{ @call: $name:text, @values: $a:map }", "{ tool: { name: $name, arguments: $a } }"),
    rule("step", "{ @call: $name:text }", "{ tool: $name }"),
    rule("step", "{ @command|exec: $c:text, @args: $a:list, shell?: $s }", "{ exec: [$c:words..., $a...] }"),
    rule("step", "{ @command: $c:list, @args?: $a:list, shell?: $s }", "{ exec: [$c..., $a...] }"),
    rule("step", "{ @command: $c:words, shell?: $s }", "{ exec: $c:words }"),
    rule("step", "{ @command: $c:text, shell?: $s }", "{ exec: $c:words }").help(NO_SHELL),
    rule("step", "{ exec: $c, shell: $s }", "{ exec: $c }").help(ONE_SHELL),
    rule("step", "{ script: $text:text, shell: $shell }", "{ script: { shell: $shell, text: $text } }").reads(SCRIPT_STEP),
    rule("step", "{ shell|bash|sh: $c:words }", "{ exec: $c:words }"),
    rule("step", "{ $shell=bash|sh|zsh|pwsh|node: $c:list }", "{ exec: [$shell, $c...] }").reads(SCRIPT_STEP),
    rule("step", "{ python|python3: $c:list }", "{ exec: [python3, $c...] }").reads(SCRIPT_STEP),
    rule("step", "{ python|python3: $c:program-file, @args?: $a:list }", "{ exec: [python3, $c:words..., $a...] }").reads(SCRIPT_STEP),
    rule("step", "{ $p=node|@program: $c:program-file, @args?: $a:list }", "{ exec: [$p, $c:words..., $a...] }").reads(SCRIPT_STEP),
    rule("step", "{ $p=@program: $c:words, @args?: $a:list }", "{ exec: [$p, $c:words..., $a...] }").reads(SCRIPT_STEP),
    rule("step", "{ python|python3: $c:with-tags, @args?: $a }", "{ script: { shell: python3, text: $c } }").reads(SCRIPT_STEP).help(VARIABLES).maybe(),
    rule("step", "{ python|python3: $c, @args?: $a }", "{ script: { shell: python3, text: $c } }").reads(SCRIPT_STEP),
    rule("step", "{ $shell=bash|zsh|pwsh|node: $c:with-tags, @args?: $a }", "{ script: { shell: $shell, text: $c } }").reads(SCRIPT_STEP).help(VARIABLES).maybe(),
    rule("step", "{ $shell=bash|zsh|pwsh|node: $c, @args?: $a }", "{ script: { shell: $shell, text: $c } }").reads(SCRIPT_STEP),
    rule("step", "{ shell|sh|run: $c:with-tags, @args?: $a }", "{ script: { shell: sh, text: $c } }").reads(SCRIPT_STEP).help(VARIABLES).maybe(),
    rule("step", "{ shell|sh|run: $c, @args?: $a }", "{ script: { shell: sh, text: $c } }").reads(SCRIPT_STEP),
    rule("exec", "{ @command|exec: $c:text, @args?: $a:list }", "[$c:words..., $a...]"),
    rule("exec", "$command:words", "$command:words"),
    rule("exec", "$command:text", "$command:words").help(NO_SHELL),
    rule("script", "$text:text", "{ shell: sh, text: '' }").help("write `script: { shell: sh, text: … }`, with the shell that reads it"),
    rule("script", "{ file: $file:scalar, shell: $shell, without text: }", "{ shell: $shell, text: { file: $file } }"),
    rule("script", "{ file: $file:scalar, without text: }", "{ shell: $file:shell, text: { file: $file } }").maybe(),
    rule("script", "{ run|script|command|code|source|inline|body|content: $text, without text: }", "{ text: $text }"),
    rule("values", "$list:assignments", "$list:assigned").maybe(),
    rule("codes", "$code:exit-code", "['$code:number']"),
    rule("reference", "{ tool|prompt|@call: $name, without name: }", "{ name: $name }"),
    // Requests.
    rule("request", "$text:request", "{ method: $text:method, url: $text:url }"),
    rule("request", "$url:text", "{ url: $url }"),
    rule("request", "{ $method=@method: $url, without url|use|method: }", "{ method: $method:upper, url: $url }"),
    rule("request", "{ body: $json:json-body, without json: }", "{ json: $json }")
        .message("expected a string or `{ file: … }`, found {found}")
        .code(Code::WrongType).at("json"),
    rule("auth", "{ type: =bearer|Bearer, token|value: $token }", "{ bearer: $token }").at("type"),
    rule("hosts", "=all|any|true", "[]").help("name the hosts, as in `[localhost, 10.0.0.0/8]`; `[\"*\"]` is every host"),
    rule("hosts", "$host:scalar", "[$host]"),
    // Questions.
    rule("ask", "$text:text", "{ answer: { elicit: { message: $text } } }").message(UNNAMED).code(Code::WrongType).help(LATER_STEPS).maybe(),
    rule("ask", "{ elicit?: $e:question, sample?: $s:question, roots?: $r:question }", "{ answer: { elicit: $e, sample: $s, roots: $r } }").message(UNNAMED).code(Code::WrongType).help(LATER_STEPS).at(""),
    rule("ask", "{ message?: $m:question, schema?: $s:question, url?: $u:question }", "{ answer: { elicit: { message: $m, schema: $s, url: $u } } }").message(UNNAMED).code(Code::WrongType).help(LATER_STEPS).at(""),
    // Tests.
    rule("tests", "$list:named", "$list:by-name"),
    rule("test", "{ call: $name, without tool: }", "{ tool: $name }"),
    rule("test", "{ get: $name, without prompt: }", "{ prompt: $name }"),
    rule("test", "{ read: $name, without resource: }", "{ resource: $name }"),
    rule("expect", "$text:scalar", "{ contains: $text }").maybe(),
    rule("expect", "$texts:scalars", "{ contains: $texts }").maybe(),
    rule("expect", "{ error: $e=true, without isError: }", "{ isError: true }")
        .message("expected a text that the error contains, found {found}")
        .code(Code::WrongType)
        .at("e")
        .help("write `isError: true` for a tool, or `error: …` with words of the error"),
    rule("expect", "{ error: $e:bool }", "{}")
        .reads("{ isError: false }")
        .message("expected a text that the error contains, found {found}")
        .code(Code::WrongType)
        .at("e")
        .help("write `error: …` with words of the error, or leave it out where none is expected"),
];
