//! The names that other formats have for keys, and their keys that have no equal here.

/// Keys, each with its names in other formats.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("arguments", &["args", "params", "parameters", "input", "inputs", "variables", "vars"]),
    ("exec", &["command", "cmd", "program", "entrypoint", "argv"]),
    ("text", &["content", "template", "prompt", "body"]),
    ("description", &["desc", "summary", "help", "doc"]),
    ("inputSchema", &["input_schema", "schema"]),
    ("result", &["output", "returns"]),
    ("run", &["steps", "action", "handler"]),
    ("when", &["if", "condition"]),
    ("each", &["loop", "foreach"]),
    ("cwd", &["workdir", "working_dir", "working-directory", "workingDirectory"]),
    ("env", &["environment"]),
    ("enum", &["values", "options", "choices", "allowed"]),
    ("minimum", &["min"]),
    ("maximum", &["max"]),
    ("pattern", &["regex", "regexp"]),
    ("uri", &["url", "uriTemplate", "uri_template"]),
    ("url", &["uri", "endpoint", "base_url", "baseUrl", "base"]),
    ("mimeType", &["mime", "contentType", "content_type"]),
    ("query", &["params", "search"]),
    ("json", &["data", "payload", "requestBody", "request_body"]),
    ("contains", &["includes", "include", "has", "text", "output", "content"]),
    ("equals", &["equal", "exact", "is"]),
    ("matches", &["regex", "regexp", "pattern"]),
    ("rev", &["ref", "tag", "branch", "version", "commit"]),
    ("git", &["url", "repo", "repository"]),
    ("allow", &["permissions", "grants"]),
    ("default", &["value"]),
    ("secret", &["sensitive", "masked"]),
    ("message", &["msg"]),
    ("use", &["connection"]),
    ("if", &["when", "condition"]),
    ("then", &["args", "arguments", "do"]),
    ("log", &["print"]),
    ("onFail", &["on_failure", "onFailure", "on_error", "catch"]),
    ("title", &["label", "displayName", "display_name"]),
    ("allowedOrigins", &["origins", "allowed_origins"]),
    ("include", &["imports", "import", "extends", "includes"]),
    ("outputSchema", &["output_schema", "outputs"]),
];

/// The known key that is called by another name elsewhere.
pub fn correct_key(key: &str, known: &'static [&'static str]) -> Option<&'static str> {
    let mut meant = SYNONYMS.iter().filter(|(_, synonyms)| synonyms.contains(&key)).map(|(name, _)| *name);
    meant.find_map(|meant| known.iter().find(|name| **name == meant)).copied()
}

/// Keys without an equal, each with a key of the map where they are found, and what to do instead.
const REMARKS: &[(&str, &str, &str)] = &[
    ("retries", "exec", "a program runs once; a request repeats with `retry: { attempts: 3 }` in `http`"),
    ("docker", "exec", "write `exec: [docker, run, --rm, IMAGE, PROGRAM]`"),
    ("image", "exec", "write `exec: [docker, run, --rm, IMAGE, PROGRAM]`"),
    (
        "transport",
        "instructions",
        "remove it: `folio serve` speaks over stdio, and `folio serve --http ADDRESS` over HTTP",
    ),
    ("command", "instructions", "remove it: a client starts `folio serve`; `folio install` writes that into its file"),
    ("args", "instructions", "remove it: a client starts `folio serve`; `folio install` writes that into its file"),
    ("port", "instructions", "write `http: { listen: \"127.0.0.1:8080\" }` at the top"),
    ("host", "instructions", "write `http: { listen: \"127.0.0.1:8080\" }` at the top"),
    ("listen", "instructions", "write `http: { listen: \"127.0.0.1:8080\" }` at the top"),
    ("capabilities", "instructions", "remove it: folio says what it can do by what the manifest holds"),
    ("capabilities", "prompts", "remove it: folio says what it can do by what the manifest holds"),
    ("port", "listen", "write `listen: \"127.0.0.1:8080\"`"),
    ("host", "listen", "write `listen: \"127.0.0.1:8080\"`"),
    ("cors", "listen", "write `allowedOrigins: [\"https://app.example\"]`, the pages that may call"),
    ("auth", "listen", "write `token: \"{{env.TOKEN}}\"`, the bearer that callers show"),
    ("example", "pattern", "write `examples: [ … ]`, a list"),
    ("nullable", "pattern", "remove it: an argument that is not `required` may be absent"),
    ("placeholder", "pattern", "write it into `description`, or as `examples: [ … ]`"),
    ("hint", "pattern", "write it into `description`, or as `examples: [ … ]`"),
    ("schema", "pattern", "write its keys into the argument itself"),
    ("in", "pattern", "remove it: the template of `run` says where an argument goes"),
    ("image_url", "image", "write `image: FILE`, the path of a picture beside the manifest"),
    ("$ref", "messages", "write `<<: *NAME` with an anchor `&NAME`, or put the text into a partial"),
    ("$ref", "rateLimit", "write `<<: *NAME` with an anchor `&NAME`"),
    ("responses", "rateLimit", "remove it, or write the schema of the answer as `outputSchema`"),
    ("returns", "rateLimit", "write `result: { text: … }`, or the schema of the answer as `outputSchema`"),
    ("if", "rateLimit", "write `when` in a step of `run`"),
    ("timeout-minutes", "rateLimit", "write `timeout`, such as `timeout: 5m`"),
    ("timeout-minutes", "exec", "write `timeout`, such as `timeout: 5m`"),
    ("depends_on", "rateLimit", "remove it: `run` is a list of steps, and a step with `tool` calls another tool"),
    ("needs", "rateLimit", "remove it: `run` is a list of steps, and a step with `tool` calls another tool"),
    ("readOnly", "rateLimit", "write `annotations: { readOnlyHint: true }`"),
    ("read_only", "rateLimit", "write `annotations: { readOnlyHint: true }`"),
    ("destructive", "rateLimit", "write `annotations: { destructiveHint: true }`"),
    ("idempotent", "rateLimit", "write `annotations: { idempotentHint: true }`"),
    ("type", "exec", "remove it: a key such as `exec` or `http` says what a step does"),
    ("servers", "prompts", "a manifest is one server: write `server: { name: … }`"),
    ("scripts", "prompts", "write each as a tool: `tools: { test: { description: …, run: { exec: [npm, test] } } }`"),
    ("volumes", "prompts", "remove it: `folders` holds where steps with `file` may work"),
];

/// What to do about a key that has no equal.
pub(super) fn remark(key: &str, known: &[&str]) -> Option<&'static str> {
    let (_, _, help) = REMARKS.iter().find(|(name, owner, _)| *name == key && known.contains(owner))?;
    Some(help)
}
