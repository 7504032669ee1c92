//! Warns of tokens and keys in plain text.

use std::sync::LazyLock;

use regex::Regex;

use crate::action::{LITERAL_CREDENTIAL, LITERAL_CREDENTIAL_HELP, has_literal_credential};
use crate::compile::LoadContext;
use crate::diagnostic::{Code, FileId, Span};

/// The tokens of well-known services.
const TOKEN_PATTERNS: &str = concat!(
    r"ghp_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22,}|gho_[A-Za-z0-9]{36}|glpat-[A-Za-z0-9_-]{20,}",
    r"|sk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}|AKIA[0-9A-Z]{16}|xox[baprs]-[A-Za-z0-9-]{20,}|AIza[0-9A-Za-z_-]{35}",
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
);

/// Credentials that servers and programs write, but that manifests hold as examples too.
const CREDENTIAL_PATTERNS: &str = concat!(
    r"://[^\s/:@]+:[^\s/@]+@|(?i:\bauthorization\W{1,4}(?:basic|bearer)\s+[a-z0-9+/=_.-]{8,})",
    r"|\bBasic [A-Za-z0-9+/]{7,}={1,2}",
);

/// Whether a text contains what looks like a token, a key or a password.
pub fn looks_secret(text: &str) -> bool {
    let patterns = [TOKEN_PATTERNS, CREDENTIAL_PATTERNS].map(Regex::new);
    patterns.iter().flatten().any(|pattern| pattern.is_match(text))
}

/// Warns of every text that looks like a secret, in this file and those that were read after it. Those of `imported_prompts`
/// are of other programs.
pub fn warn_of_secrets(first: FileId, imported_prompts: &[FileId], load_context: &mut LoadContext) {
    static TOKENS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(TOKEN_PATTERNS).ok());
    let (mut found, mut in_urls) = (Vec::new(), Vec::new());
    for number in first.0.. {
        let file = FileId(number);
        let Some(source) = load_context.report.sources.get(file) else { break };
        let text = source.text();
        if let Some(document) = load_context.documents.get(file) {
            let urls = document.texts().filter(|(text, _)| text.contains("://") && has_literal_credential(text));
            in_urls.extend(urls.map(|(_, at)| at));
        }
        let hits = TOKENS.iter().flat_map(|tokens| tokens.find_iter(text));
        found.extend(hits.map(|hit| Span::new(file, hit.start(), hit.end())));
    }
    for span in found {
        let help = match imported_prompts.contains(&span.file) {
            true => "the prompt is served as it is",
            false => LITERAL_CREDENTIAL_HELP,
        };
        load_context.warning(Code::Secret, span, "possible secret in plain text").help(help);
    }
    for at in in_urls {
        load_context.warning(Code::Secret, at, LITERAL_CREDENTIAL).help(LITERAL_CREDENTIAL_HELP);
    }
}
