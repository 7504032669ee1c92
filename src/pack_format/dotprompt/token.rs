//! Splits a template into texts and tags, and removes the white space that tags remove.

use std::ops::Range;

/// What is wrong with a template, and where.
#[derive(Debug, Clone)]
pub(super) struct SyntaxError {
    pub(super) at: Range<usize>,
    pub(super) message: String,
}

impl SyntaxError {
    pub(super) fn new(at: Range<usize>, message: impl Into<String>) -> SyntaxError {
        SyntaxError { at, message: message.into() }
    }
}

/// A text or a tag.
#[derive(Debug)]
pub(super) enum Token<'t> {
    Text(TextToken),
    Tag(Tag<'t>),
}

/// Text, as written and as left by the tags beside it.
#[derive(Debug)]
pub(super) struct TextToken {
    raw: String,
    pub(super) trimmed: String,
}

/// A tag without its braces.
#[derive(Debug)]
pub(super) struct Tag<'t> {
    pub(super) kind: TagKind,
    pub(super) inside: &'t str,
    /// Where `inside` begins.
    pub(super) start: usize,
    trims_before_and_after: [bool; 2],
    /// The white space before it, if it is alone on its line.
    pub(super) indent: String,
}

/// The kinds of tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagKind {
    Value,
    Open,
    OpenInverted,
    Else,
    Close,
    Partial,
    Comment,
}

impl Tag<'_> {
    pub(super) fn span(&self) -> Range<usize> {
        self.start..self.start + self.inside.len()
    }
}

/// The tokens of a template.
pub(super) fn tokens(template: &str) -> Result<Vec<Token<'_>>, SyntaxError> {
    let mut tokens = Vec::new();
    let mut text = String::new();
    let mut at = 0;
    while let Some(found) = template.get(at..).and_then(|rest| rest.find("{{")) {
        let before = template.get(at..at + found).unwrap_or_default();
        let is_escaped = before.ends_with('\\') && !before.ends_with("\\\\");
        text.push_str(before.strip_suffix('\\').unwrap_or(before));
        if is_escaped {
            text.push_str("{{");
            at += found + 2;
            continue;
        }
        push_text(&mut tokens, std::mem::take(&mut text));
        let (tag, end) = tag_at(template, at + found)?;
        tokens.push(Token::Tag(tag));
        at = end;
    }
    text.push_str(template.get(at..).unwrap_or_default());
    push_text(&mut tokens, text);
    remove_white_space(&mut tokens);
    Ok(tokens)
}

fn push_text(tokens: &mut Vec<Token<'_>>, text: String) {
    if !text.is_empty() {
        tokens.push(Token::Text(TextToken { trimmed: text.clone(), raw: text }));
    }
}

/// The tag that begins at `open`, and where it ends.
fn tag_at(template: &str, open: usize) -> Result<(Tag<'_>, usize), SyntaxError> {
    let rest = template.get(open..).unwrap_or_default();
    if rest.starts_with("{{{{") {
        return Err(SyntaxError::new(open..open + 4, "unsupported raw block"));
    }
    let is_triple = rest.starts_with("{{{");
    let mut start = open + if is_triple { 3 } else { 2 };
    let eat = |start: &mut usize, sign: &str| {
        let found = template.get(*start..).is_some_and(|rest| rest.starts_with(sign));
        *start += if found { sign.len() } else { 0 };
        found
    };
    let trims_before = eat(&mut start, "~");
    let is_triple = is_triple || eat(&mut start, "{");
    let comment =
        ["!--", "!"].into_iter().find(|sign| template.get(start..).is_some_and(|rest| rest.starts_with(sign)));
    let (closer, is_comment) = match (comment, is_triple) {
        (Some("!--"), false) => ("--", true),
        (Some(_), false) => ("", true),
        (_, true) => ("}", false),
        (None, false) => ("", false),
    };
    let from = start + comment.map_or(0, str::len);
    let Some((end, after)) = tag_end(template, from, closer, is_comment) else {
        return Err(SyntaxError::new(open..open + 2, "unclosed tag"));
    };
    let trims_after = template.get(..after).is_some_and(|text| text.ends_with("~}}"));
    let inside = template.get(start..end).unwrap_or_default();
    let (kind, skipped) = if is_comment { (TagKind::Comment, 0) } else { kind_of(inside, is_triple) };
    let inside = inside.get(skipped..).unwrap_or_default();
    let trims_before_and_after = [trims_before, trims_after];
    Ok((Tag { kind, inside, start: start + skipped, trims_before_and_after, indent: String::new() }, after))
}

/// Where the inside of a tag ends, and the tag itself. Braces in quotes are part of the tag.
fn tag_end(template: &str, from: usize, closer: &str, is_comment: bool) -> Option<(usize, usize)> {
    let mut quote = None;
    for (at, character) in template.get(from..)?.char_indices() {
        let at = from + at;
        let rest = template.get(at..)?;
        if let (None, Some(after)) = (quote, rest.strip_prefix(closer)) {
            let after = after.strip_prefix('~').unwrap_or(after);
            if let Some(after) = after.strip_prefix("}}") {
                return Some((at, template.len() - after.len()));
            }
        }
        match (quote, character) {
            _ if is_comment => {}
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '[') => quote = Some(']'),
            _ => {}
        }
    }
    None
}

/// The kind of a tag, and how many bytes say so.
fn kind_of(inside: &str, is_triple: bool) -> (TagKind, usize) {
    let is_else = |text: &str| {
        text.strip_prefix("else").is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    };
    let blank = inside.len() - inside.trim_start().len();
    match inside.chars().next() {
        _ if is_triple => (TagKind::Value, 0),
        Some('#') => (TagKind::Open, 1),
        Some('^') if inside.trim() == "^" => (TagKind::Else, 1),
        Some('^') => (TagKind::OpenInverted, 1),
        Some('/') => (TagKind::Close, 1),
        Some('>') => (TagKind::Partial, 1),
        Some('&') => (TagKind::Value, 1),
        _ if is_else(inside.trim()) => (TagKind::Else, blank + 4),
        _ => (TagKind::Value, 0),
    }
}

/// Removes white space beside `~`, and the lines on which a tag is alone.
fn remove_white_space(tokens: &mut [Token<'_>]) {
    for at in 0..tokens.len() {
        let Some(Token::Tag(tag)) = tokens.get(at) else { continue };
        let (kind, [before, after]) = (tag.kind, tag.trims_before_and_after);
        let is_alone = kind != TagKind::Value && begins_line(tokens, at) && ends_line(tokens, at);
        if before {
            edit_text(tokens, at.checked_sub(1), |text| text.trim_end().to_owned());
        }
        if after {
            edit_text(tokens, Some(at + 1), |text| text.trim_start().to_owned());
        }
        if is_alone {
            let indent = at.checked_sub(1).and_then(|before| text_at(tokens, before)).map(|text| indent_of(&text.raw));
            edit_text(tokens, at.checked_sub(1), |text| text.trim_end_matches([' ', '\t']).to_owned());
            edit_text(tokens, Some(at + 1), |text| without_line_end(text).to_owned());
            if let Some(Token::Tag(tag)) = tokens.get_mut(at) {
                tag.indent = indent.unwrap_or_default();
            }
        }
    }
}

fn edit_text(tokens: &mut [Token<'_>], at: Option<usize>, edit: impl Fn(&str) -> String) {
    if let Some(Token::Text(text)) = at.and_then(|at| tokens.get_mut(at)) {
        text.trimmed = edit(&text.trimmed);
    }
}

fn text_at<'a>(tokens: &'a [Token<'_>], at: usize) -> Option<&'a TextToken> {
    match tokens.get(at) {
        Some(Token::Text(text)) => Some(text),
        _ => None,
    }
}

/// Whether only white space stands before a tag on its line.
fn begins_line(tokens: &[Token<'_>], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return true };
    let Some(text) = text_at(tokens, before) else { return false };
    match text.raw.rsplit_once('\n') {
        Some((_, line)) => line.trim().is_empty(),
        None => before == 0 && text.raw.trim().is_empty(),
    }
}

/// Whether only white space stands after a tag on its line.
fn ends_line(tokens: &[Token<'_>], at: usize) -> bool {
    if at + 1 == tokens.len() {
        return true;
    }
    let Some(text) = text_at(tokens, at + 1) else { return false };
    match text.raw.split_once('\n') {
        Some((line, _)) => line.trim().is_empty(),
        None => at + 2 == tokens.len() && text.raw.trim().is_empty(),
    }
}

fn indent_of(text: &str) -> String {
    text.get(text.trim_end_matches([' ', '\t']).len()..).unwrap_or_default().to_owned()
}

/// A text without the rest of its first line, which is white space.
fn without_line_end(text: &str) -> &str {
    let rest = text.trim_start_matches([' ', '\t']);
    let rest = rest.strip_prefix('\r').unwrap_or(rest);
    rest.strip_prefix('\n').unwrap_or(rest)
}
