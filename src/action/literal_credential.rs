//! Warns of credentials that stand in a manifest as they are, where everyone who has the file reads them.

use crate::compile::Compiler;
use crate::diagnostic::{Code, Span};
use crate::redact::{has_credential_parameter, is_credential_field, url_password};
use crate::yaml::Spanned;

/// What is wrong with a credential without a variable.
pub const LITERAL_CREDENTIAL: &str = "a credential in plain text";

/// What to do about it.
pub const LITERAL_CREDENTIAL_HELP: &str =
    "declare a variable under `env` with `secret: true`, and write `{{env.NAME}}`";

/// What headers hold that are named like credentials and say that there is none.
const ABSENT_CREDENTIALS: [&str; 2] = ["no-check", "required"];

/// What stands for a password where a text explains a URL.
const PLACEHOLDERS: [&str; 4] = ["password", "pass", "PASSWORD", "secret"];

/// Warns of a credential without a variable.
pub(in crate::action) fn warn_literal_credential(text: &Spanned<String>, compiler: &mut Compiler<'_>) {
    if text.trim().is_empty() || text.contains("{{") || is_foreign_variable(text) || is_reported(text, compiler) {
        return;
    }
    report(text, compiler);
}

fn report(text: &Spanned<String>, compiler: &mut Compiler<'_>) {
    compiler.warning(Code::Secret, text.location, LITERAL_CREDENTIAL).help(LITERAL_CREDENTIAL_HELP);
}

/// Warns of a header, a parameter or a variable of a program that is a credential by its name, without a variable.
pub(in crate::action) fn warn_literal_field(name: &str, text: &Spanned<String>, compiler: &mut Compiler<'_>) {
    let is_authorization =
        ["authorization", "proxy-authorization"].iter().any(|header| name.eq_ignore_ascii_case(header));
    let is_none = ABSENT_CREDENTIALS.contains(&text.as_str()) || is_path(text);
    if is_authorization || (is_credential_field(name, text) && !is_none) {
        warn_literal_credential(text, compiler);
    }
}

/// Warns of a URL with a credential, without a variable.
pub(in crate::action) fn warn_literal_in_url(url: &Spanned<String>, compiler: &mut Compiler<'_>) {
    if has_literal_credential(url) && !is_reported(url, compiler) {
        report(url, compiler);
    }
}

/// Whether a URL in a text has a password, or a parameter that is a credential by its name, without a variable.
pub fn has_literal_credential(text: &str) -> bool {
    let is_literal = |part: &str| !part.contains("{{") && !is_foreign_variable(part);
    let mut parameters = text.split(['?', '&', '#']).skip(1);
    // A placeholder has other characters, as in `<password>`.
    let is_password = |text: &str| is_literal(text) && !text.contains(['<', '*', '…']);
    let is_written_out =
        |url: &str| url.len() == text.trim().len() || !PLACEHOLDERS.contains(&url_password(url).unwrap_or_default());
    urls_in(text).any(|url| url_password(url).is_some_and(is_password) && is_written_out(url))
        || parameters.any(|part| is_literal(part) && has_credential_parameter(part))
}

/// The URLs in a text, such as a command.
fn urls_in(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("://").filter_map(|(colon, _)| {
        let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let start = text.get(..colon)?.trim_end_matches(is_of_scheme).len();
        text.get(start..)?.split(|c: char| c.is_whitespace() || "\"'`".contains(c)).next()
    })
}

/// Whether a text names the file that holds the credential, as `GOOGLE_APPLICATION_CREDENTIALS` does.
fn is_path(text: &str) -> bool {
    text.starts_with(['/', '.', '~'])
}

/// Whether the text has `$TOKEN`, `${TOKEN}` or `{% token %}`, which have warnings of their own.
fn is_foreign_variable(text: &str) -> bool {
    let begins_name = |rest: &str| rest.starts_with(|next: char| next.is_ascii_alphabetic() || next == '{');
    text.contains("{%") || text.split('$').skip(1).any(begins_name)
}

/// Whether the text is known to be a token by what it looks like.
fn is_reported(text: &Spanned<String>, compiler: &Compiler<'_>) -> bool {
    let at = Span::from(text.location);
    compiler.load_context.report.diagnostics().iter().any(|found| {
        let is_within = |span: Span| span.file == at.file && span.start >= at.start && span.end <= at.end;
        found.code == Code::Secret && found.span.is_some_and(is_within)
    })
}
