//! Warns of tokens and keys in plain text.

use std::cell::LazyCell;

use regex::Regex;

use crate::compile::LoadContext;
use crate::diagnostic::{Code, FileId, Span};

/// The tokens of well-known services.
const TOKEN_PATTERNS: &str = concat!(
    r"ghp_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22,}|gho_[A-Za-z0-9]{36}|glpat-[A-Za-z0-9_-]{20,}",
    r"|sk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}|AKIA[0-9A-Z]{16}|xox[baprs]-[A-Za-z0-9-]{20,}|AIza[0-9A-Za-z_-]{35}",
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----",
);

/// Every such token contains one of these literals; most files contain none.
const TOKEN_LITERALS: &[&str] = &["ghp_", "github_pat_", "gho_", "glpat-", "sk-", "AKIA", "xox", "AIza", "PRIVATE KEY"];

/// Warns of every text that looks like a secret.
pub(super) fn warn_secrets_in_clear(findings: &mut LoadContext) {
    let (mut found, forms) = (Vec::new(), LazyCell::new(|| Regex::new(TOKEN_PATTERNS)));
    for number in 0.. {
        let file = FileId(number);
        let Some(source) = findings.report.sources.get(file) else { break };
        let text = source.text();
        if !TOKEN_LITERALS.iter().any(|hint| text.contains(hint)) {
            continue;
        }
        let Ok(forms) = &*forms else { return };
        found.extend(forms.find_iter(text).map(|hit| Span::new(file, hit.start(), hit.end())));
    }
    for span in found {
        findings
            .report
            .warning(Code::Secret, span, "possible secret in plain text")
            .help("declare a variable under `env` with `secret: true`, and write `{{env.NAME}}`");
    }
}
