//! Descriptions for people, made into a sentence or two for models: no HTML, no Markdown, nothing that a template or a
//! terminal would obey.

use std::sync::LazyLock;

use regex::Regex;

use crate::diagnostic::sanitize;

/// How long the description of a tool may be, in characters.
pub(super) const TOOL_CHARS: usize = 300;
/// How long the description of an argument or of a property may be.
pub(super) const ARGUMENT_CHARS: usize = 200;
/// So much of a description is looked at.
const MAX_READ_CHARS: usize = 8000;

/// What is taken out, and what is left in its place. Each expression takes linear time.
static MARKUP_PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (r"(?s)```.*?(?:```|$)", " "),
        (r"(?is)<(script|style)\b.*?</(script|style)\s*>", " "),
        (r"(?i)</(p|li|ul|ol|div|tr|h[1-6])>|<br\s*/?>", "\n\n"),
        (r"(?s)<!--.*?-->", ""),
        (r"</?[A-Za-z][^<>]*>", ""),
        (r"!\[[^\]]*\]\([^)]*\)", ""),
        (r"\[([^\]]*)\]\([^)]*\)", "$1"),
        (r"(?m)^[ \t]*(?:#{1,6}|>|[-*+])[ \t]+", ""),
        (r"(?m)^[ \t]*\|.*$", ""),
        (r"(?m)^[ \t]*(?:[-=*_]{3,})[ \t]*$", ""),
        (r"\*\*|__", ""),
        (r"(?m)^[ \t]*\[!?[A-Z]+\][ \t]*$", ""),
    ];
    let compile = |(pattern, left): (&str, &'static str)| Some((Regex::new(pattern).ok()?, left));
    patterns.into_iter().filter_map(compile).collect()
});

const ENTITIES: &[(&str, &str)] =
    &[("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"), ("&nbsp;", " "), ("&amp;", "&")];

/// The first paragraph of a text, in plain words, of at most `max_chars` characters. It is no template: see
/// [`as_template`].
pub fn plain(text: &str, max_chars: usize) -> String {
    let mut text: String = text.chars().take(MAX_READ_CHARS).collect();
    for (pattern, left) in MARKUP_PATTERNS.iter() {
        text = pattern.replace_all(&text, *left).into_owned();
    }
    for (entity, letter) in ENTITIES {
        text = text.replace(entity, letter);
    }
    let paragraph = text.split("\n\n").map(one_line).find(|paragraph| paragraph.chars().any(char::is_alphanumeric));
    shorten(&paragraph.unwrap_or_default(), max_chars)
}

/// A summary, and what a description adds to it.
pub(super) fn summarize(summary: &str, description: &str) -> String {
    let (head, rest) = (plain(summary, TOOL_CHARS), plain(description, TOOL_CHARS));
    let bare = |text: &str| text.trim_end_matches('.').to_lowercase();
    let same = bare(&rest).starts_with(&bare(&head)) || bare(&head).starts_with(&bare(&rest));
    match (head.as_str(), rest.as_str()) {
        ("", _) => rest,
        (_, "") => head,
        // The one that says more.
        _ if same => {
            if rest.len() > head.len() {
                rest
            } else {
                head
            }
        }
        _ if head.ends_with(['.', '!', '?', '…']) => shorten(&format!("{head} {rest}"), TOOL_CHARS),
        _ => shorten(&format!("{head}. {rest}"), TOOL_CHARS),
    }
}

/// A text on one line, without anything that acts on who reads it: braces of templates, control characters.
pub fn plain_line(text: &str) -> String {
    let mut safe = one_line(text);
    while safe.contains("{{") {
        safe = safe.replace("{{", "{");
    }
    safe
}

/// A text on one line, without anything that acts on a terminal.
fn one_line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    sanitize(&joined).chars().filter(|c| !c.is_control() && *c != char::REPLACEMENT_CHARACTER).collect()
}

/// A text as a template that renders to it: its braces are escaped.
pub fn as_template(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        // Two backslashes would be one, and the braces alive.
        escaped.push_str(before.trim_end_matches('\\'));
        escaped.push_str("\\{{");
        rest = after;
    }
    escaped + rest
}

/// The beginning of a text: whole sentences where there are some, else whole words.
fn shorten(text: &str, max_chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max_chars) else { return text.to_owned() };
    let head = text.get(..end).unwrap_or_default();
    if let Some(stop) = head.rfind(". ").filter(|stop| *stop * 3 >= head.len()) {
        return head.get(..=stop).unwrap_or_default().to_owned();
    }
    let kept: String = head.chars().take(max_chars.saturating_sub(1)).collect();
    let word_end = kept.rfind(' ').unwrap_or(kept.len());
    format!("{}…", kept.get(..word_end).unwrap_or_default().trim_end_matches([',', ';', ':', ' ']))
}
