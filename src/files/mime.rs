//! MIME types, by file name and then by content.

use std::path::Path;

/// The types of source files by extension, where the usual tables have none or another (`.ts` is a video).
const EXTENSION_OVERRIDES: &[(&str, &str)] = &[
    ("adoc", "text/asciidoc"),
    ("astro", "text/x-astro"),
    ("bash", "text/x-shellscript"),
    ("bat", "text/x-bat"),
    ("c", "text/x-c"),
    ("cc", "text/x-c++"),
    ("cjs", "text/javascript"),
    ("clj", "text/x-clojure"),
    ("cmake", "text/x-cmake"),
    ("cpp", "text/x-c++"),
    ("cs", "text/x-csharp"),
    ("cts", "text/typescript"),
    ("dart", "text/x-dart"),
    ("diff", "text/x-diff"),
    ("dockerfile", "text/x-dockerfile"),
    ("ex", "text/x-elixir"),
    ("exs", "text/x-elixir"),
    ("fish", "text/x-shellscript"),
    ("go", "text/x-go"),
    ("gql", "application/graphql"),
    ("graphql", "application/graphql"),
    ("h", "text/x-c"),
    ("handlebars", "text/x-handlebars-template"),
    ("hpp", "text/x-c++"),
    ("hs", "text/x-haskell"),
    ("ipynb", "application/x-ipynb+json"),
    ("java", "text/x-java"),
    ("jl", "text/x-julia"),
    ("jsonl", "application/jsonl"),
    ("kt", "text/x-kotlin"),
    ("kts", "text/x-kotlin"),
    ("mdx", "text/mdx"),
    ("mjs", "text/javascript"),
    ("mk", "text/x-makefile"),
    ("mod", "text/plain"),
    ("mts", "text/typescript"),
    ("ndjson", "application/x-ndjson"),
    ("nix", "text/x-nix"),
    ("org", "text/org"),
    ("patch", "text/x-diff"),
    ("php", "text/x-php"),
    ("pl", "text/x-perl"),
    ("pm", "text/x-perl"),
    ("proto", "text/x-protobuf"),
    ("ps1", "text/x-powershell"),
    ("py", "text/x-python"),
    ("pyi", "text/x-python"),
    ("r", "text/x-r"),
    ("rb", "text/x-ruby"),
    ("rs", "text/x-rust"),
    ("rst", "text/x-rst"),
    ("scala", "text/x-scala"),
    ("scm", "text/x-scheme"),
    ("sh", "text/x-shellscript"),
    ("sql", "application/sql"),
    ("svelte", "text/x-svelte"),
    ("swift", "text/x-swift"),
    ("tex", "text/x-tex"),
    ("tf", "text/x-terraform"),
    ("toml", "application/toml"),
    ("tpl", "text/plain"),
    ("ts", "text/typescript"),
    ("tsx", "text/tsx"),
    ("vue", "text/x-vue"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zig", "text/x-zig"),
    ("zsh", "text/x-shellscript"),
];

/// Types by whole file name.
const FILE_NAME_TYPES: &[(&str, &str)] = &[
    ("cmakelists.txt", "text/x-cmake"),
    ("containerfile", "text/x-dockerfile"),
    ("dockerfile", "text/x-dockerfile"),
    ("gemfile", "text/x-ruby"),
    ("gnumakefile", "text/x-makefile"),
    ("justfile", "text/plain"),
    ("license", "text/plain"),
    ("makefile", "text/x-makefile"),
    ("rakefile", "text/x-ruby"),
    ("readme", "text/plain"),
];

/// The type of a file by its name, else by the start of its content.
pub fn mime_of(path: &str, head: &[u8]) -> &'static str {
    mime_by_name(path).unwrap_or_else(|| if is_text(head) { "text/plain" } else { "application/octet-stream" })
}

/// The type of a file by its name alone.
pub fn mime_by_name(path: &str) -> Option<&'static str> {
    let path = Path::new(path);
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    let overridden = extension.as_deref().and_then(|extension| lookup(EXTENSION_OVERRIDES, extension));
    lookup(FILE_NAME_TYPES, &name).or(overridden).or_else(|| mime_guess::from_ext(&extension?).first_raw())
}

/// Whether a text is a MIME type (RFC 6838), with parameters or without.
pub fn is_mime_type(text: &str) -> bool {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "!#$&-^_.+".contains(character);
    let part = |part: &str| !part.is_empty() && part.chars().all(is_allowed);
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    essence.split_once('/').is_some_and(|(kind, name)| part(kind) && part(name))
}

fn lookup(table: &[(&str, &'static str)], key: &str) -> Option<&'static str> {
    let at = table.binary_search_by_key(&key, |(name, _)| *name).ok()?;
    table.get(at).map(|(_, mime)| *mime)
}

/// Whether a head is text; it may end inside a character.
fn is_text(head: &[u8]) -> bool {
    !head.contains(&0) && std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_unique() {
        for table in [EXTENSION_OVERRIDES, FILE_NAME_TYPES] {
            assert!(table.is_sorted_by(|a, b| a.0 < b.0), "a name that is out of order is never found");
        }
    }

    #[test]
    fn file_name_wins_over_content() {
        for (path, mime) in [
            ("src/main.rs", "text/x-rust"),
            ("a/b.ts", "text/typescript"),
            ("B.TSX", "text/tsx"),
            ("log.jsonl", "application/jsonl"),
            ("folio.yaml", "application/yaml"),
            ("Cargo.toml", "application/toml"),
            ("docs/a.md", "text/markdown"),
            ("house.hbs", "text/x-handlebars-template"),
            ("sub/Makefile", "text/x-makefile"),
            ("Dockerfile", "text/x-dockerfile"),
            ("logo.png", "image/png"),
            ("logo.svg", "image/svg+xml"),
            ("a.json", "application/json"),
        ] {
            assert_eq!(mime_of(path, &[0, 1]), mime);
        }
    }

    #[test]
    fn unknown_name_falls_back_to_content() {
        assert_eq!(mime_of("notes", b"plain"), "text/plain");
        assert_eq!(mime_of("notes", b""), "text/plain");
        assert_eq!(mime_of("notes", "caf\u{e9}".as_bytes().split_last().unwrap().1), "text/plain");
        assert_eq!(mime_of("notes", b"a\0b"), "application/octet-stream");
        assert_eq!(mime_of("a.unknown", b"\xff\xfe"), "application/octet-stream");
        assert_eq!(mime_by_name("notes"), None);
    }
}
