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

/// The images that models take, and the most frequent sounds, by the bytes that they begin with.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x89PNG", "image/png"),
    (b"\xFF\xD8\xFF", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"ID3", "audio/mpeg"),
    (b"\xFF\xFB", "audio/mpeg"),
    (b"\xFF\xF3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
];
/// The same in RIFF, where the form follows a length.
const RIFF_FORMS: &[(&[u8], &str)] = &[(b"WEBP", "image/webp"), (b"WAVE", "audio/wav")];

/// As what a client can take bytes that are said to be of some type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaForm<'a> {
    /// There are none.
    Empty,
    /// As an image, of a type that models take.
    Image(&'static str),
    /// As a sound, of this type.
    Audio(&'a str),
    /// As a text.
    Text(&'a str),
    /// As bytes of this type.
    Bytes(&'a str),
}

/// As what a client can take bytes. They count, not what they are said to be: an API refuses a conversation for good that
/// has an image of another type.
pub fn media_form<'a>(bytes: &'a [u8], said: &'a str) -> MediaForm<'a> {
    match (type_of_signature(bytes), std::str::from_utf8(bytes)) {
        _ if bytes.is_empty() => MediaForm::Empty,
        (Some(known), _) if known.starts_with("image/") => MediaForm::Image(known),
        (Some(known), _) => MediaForm::Audio(known),
        (None, Ok(text)) if is_text(bytes) => MediaForm::Text(text),
        (None, _) if said.starts_with("audio/") => MediaForm::Audio(said),
        (None, _) => MediaForm::Bytes(type_of_unknown(said)),
    }
}

/// The type of bytes that are said to be of some type, of which `head` is the beginning.
pub fn type_of_bytes<'a>(head: &[u8], said: &'a str) -> &'a str {
    known_media_type(head, said).unwrap_or_else(|| type_of_unknown(said))
}

/// The type of an image or a sound by its first bytes, where it is said to be one, or nothing is said.
pub fn known_media_type(head: &[u8], said: &str) -> Option<&'static str> {
    let is_media = said.starts_with("image/") || said.starts_with("audio/") || said == "application/octet-stream";
    type_of_signature(head).filter(|_| is_media)
}

/// Whether a type is that of an image that models take, whose bytes are always known.
pub fn is_model_image(mime_type: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    let names = ["png", "x-png", "jpeg", "jpg", "pjpeg", "gif", "webp"];
    essence.split_once('/').is_some_and(|(kind, name)| {
        kind.eq_ignore_ascii_case("image") && names.iter().any(|known| name.eq_ignore_ascii_case(known))
    })
}

/// The type of bytes of no known format.
fn type_of_unknown(said: &str) -> &str {
    if is_model_image(said) { "application/octet-stream" } else { said }
}

fn type_of_signature(head: &[u8]) -> Option<&'static str> {
    let begins = |head: &[u8], table: &[(&[u8], &'static str)]| {
        table.iter().find(|(signature, _)| head.starts_with(signature)).map(|(_, mime)| *mime)
    };
    match head {
        [b'R', b'I', b'F', b'F', _, _, _, _, form @ ..] => begins(form, RIFF_FORMS),
        _ => begins(head, SIGNATURES),
    }
}

/// The type of a file: by its bytes where they are of a known format, else by its name, else whether it is text.
pub fn mime_of(path: &str, head: &[u8]) -> &'static str {
    let (is_text, by_name) = (is_text(head), mime_by_name(path));
    let is_media = by_name.is_some_and(|name| name.starts_with("image/") || name.starts_with("audio/"));
    let known = type_of_signature(head).filter(|_| is_media || !is_text);
    known.or(by_name).unwrap_or(if is_text { "text/plain" } else { "application/octet-stream" })
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
    fn known_bytes_win_over_name_and_type() {
        let webp = b"RIFF\x22\0\0\0WEBPVP8 ";
        for (path, head, mime) in [
            ("a.jpg", &b"\x89PNG\r\n"[..], "image/png"),
            ("a", webp, "image/webp"),
            ("a.wav", b"ID3\x03\0", "audio/mpeg"),
            ("a.md", b"GIF89a and other formats", "text/markdown"),
            ("a", b"ID3 tags", "text/plain"),
        ] {
            assert_eq!(mime_of(path, head), mime, "{path}");
        }
        for (bytes, said, form) in [
            (&b"\xFF\xD8\xFF\xE0"[..], "image/jpg", MediaForm::Image("image/jpeg")),
            (webp, "audio/wav", MediaForm::Image("image/webp")),
            (b"RIFF\x22\0\0\0WAVEfmt ", "image/png", MediaForm::Audio("audio/wav")),
            (b"<svg/>", "image/svg+xml", MediaForm::Text("<svg/>")),
            (b"<html>", "image/png", MediaForm::Text("<html>")),
            (b"BM\0\xff", "image/bmp", MediaForm::Bytes("image/bmp")),
            (b"\0\xff", "image/x-png", MediaForm::Bytes("application/octet-stream")),
            (b"\0\xff", "audio/aac", MediaForm::Audio("audio/aac")),
            (b"", "image/png", MediaForm::Empty),
        ] {
            assert_eq!(media_form(bytes, said), form, "{said}");
        }
        assert!(is_model_image("Image/PNG; q=1") && !is_model_image("image/svg+xml"));
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
