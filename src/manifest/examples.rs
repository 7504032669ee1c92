//! Examples of keys whose value has a shape, for whoever writes another one.

/// Examples by key; `KEY.*` is an entry of the map under `KEY`.
const EXAMPLES: &[(&str, &str)] = &[
    ("admin", "admin: { listen: \"127.0.0.1:9464\" }"),
    ("allow", "allow: [localhost]"),
    ("annotations", "annotations: { readOnlyHint: true }"),
    ("arguments", "arguments: { text: { description: A text } }"),
    ("arguments.*", "text: { type: string }"),
    ("audit", "audit: { file: /var/log/folio/audit.jsonl }"),
    ("auth", "auth: { bearer: \"{{env.TOKEN}}\" }"),
    ("basic", "basic: { username: me, password: \"{{env.PASSWORD}}\" }"),
    ("caller", "caller: { id: ada, roles: [ops] }"),
    ("callerHeaders", "callerHeaders: [X-Desk-Key]"),
    ("connections", "connections: { api: { url: \"https://api.example\" } }"),
    ("connections.*", "api: { url: \"https://api.example\" }"),
    ("content", "content: [{ text: \"{{result}}\" }]"),
    ("drain", "drain: { delay: 5s, timeout: 25s }"),
    ("env", "env: { TOKEN: { secret: true } }"),
    (
        "exchange",
        "exchange: { tokenUrl: \"https://login.example/token\", clientId: desk, clientSecret: \"{{env.SECRET}}\" }",
    ),
    ("exec", "exec: [git, log]"),
    ("expect", "expect: [404]"),
    ("file", "file: { read: notes.md, in: notes }"),
    ("complete", "complete: [low, high]"),
    ("implies", "implies: { desk.admin: [desk.write] }"),
    ("introspect", "introspect: { url: \"https://id.example/introspect\", clientId: desk }"),
    ("okExit", "okExit: [0, 1]"),
    ("perCaller", "perCaller: { calls: 600, per: 1m }"),
    ("rateLimit", "rateLimit: { calls: 10, per: 1m }"),
    ("roles", "roles: [ops, lead]"),
    ("scopes", "scopes: [read]"),
    ("set", "set: { total: \"{{count}}\" }"),
    ("skills", "skills: { dir: skills }"),
    ("store", "store: { redis: \"{{env.REDIS_URL}}\" }"),
    ("telemetry", "telemetry: otlp"),
    ("tests", "tests: { greets: { prompt: greet, expect: { contains: hello } } }"),
    ("tests.*", "greets: { prompt: greet, expect: { contains: hello } }"),
    ("tokens", "tokens: { ci: { sha256: 1e9ec03e3ba712ca10efd10f92d9112d253042ddc04b216f6b9a0074092475cc } }"),
    ("tokens.*", "ci: { sha256: 1e9ec03e3ba712ca10efd10f92d9112d253042ddc04b216f6b9a0074092475cc }"),
    ("trustedProxies", "trustedProxies: [127.0.0.1]"),
    ("icons", "icons: [{ src: icon.png }]"),
    ("folders", "folders: { notes: { path: notes, write: true } }"),
    ("folders.*", "notes: { path: notes, write: true }"),
    ("form", "form: { name: \"{{name}}\" }"),
    ("header", "header: { name: X-Api-Key, value: \"{{env.KEY}}\" }"),
    ("headers", "headers: { Accept: application/json }"),
    ("http", "http: { url: \"https://api.example/items\" }"),
    ("include", "include: [tools/*.yaml]"),
    ("messages", "messages: [{ user: Hello }]"),
    ("multipart", "multipart: { file: { file: report.pdf } }"),
    ("oauth2", "oauth2: { tokenUrl: \"https://login.example/token\", clientId: me, clientSecret: \"{{env.SECRET}}\" }"),
    ("on", "on: [429, 5xx]"),
    ("onError", "onError: { 404: No such item, default: Try later }"),
    ("paginate", "paginate: { next: link }"),
    ("prompts", "prompts: { greet: { text: Say hello } }"),
    ("prompts.*", "greet: { text: Say hello }"),
    ("partials", "partials: partials/*.hbs"),
    ("query", "query: { q: \"{{text}}\" }"),
    ("resources", "resources: { policy: { uri: \"docs://policy\", file: policy.md } }"),
    ("resources.*", "policy: { uri: \"docs://policy\", file: policy.md }"),
    ("result", "result: { text: \"{{result}}\" }"),
    ("retry", "retry: { attempts: 3 }"),
    ("scopes", "scopes: [read]"),
    ("select", "select: \"items[].{id: id, name: name}\""),
    ("server", "server: { name: my-server }"),
    ("text", "text: \"Say hello to {{who}}.\""),
    ("tools", "tools: { list: { description: List files, run: { exec: [ls] } } }"),
    ("tools.*", "list: { description: List files, run: { exec: [ls] } }"),
];

/// An example of a key, or of an entry of its map.
pub fn example_of(key: &str) -> Option<&'static str> {
    EXAMPLES.iter().find(|(name, _)| *name == key).map(|(_, example)| *example)
}

#[cfg(test)]
mod tests {
    use super::EXAMPLES;
    use crate::diagnostic::Report;
    use crate::yaml::parse;

    #[test]
    fn examples_are_yaml_of_their_key() {
        for (key, example) in EXAMPLES {
            let mut report = Report::default();
            let file = report.sources.add("example.yaml", (*example).to_owned());
            let document = parse(file, &mut report).unwrap();
            assert!(!report.has_errors(), "{example}");
            let value = document.json(document.root());
            let name = key.strip_suffix(".*").unwrap_or(key);
            let entries = value.as_object().unwrap();
            assert_eq!(entries.len(), 1, "{example}");
            assert!(key.ends_with(".*") || entries.contains_key(name), "{example}");
        }
    }
}
