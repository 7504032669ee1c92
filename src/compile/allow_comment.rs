//! `# folio: allow CODE`: silences a warning on its line, on the line after it, or in its whole file.

use std::collections::HashMap;
use std::ops::Range;

use super::LoadContext;
use crate::diagnostic::{Code, Diagnostic, FileId, Report, Span};
use crate::yaml::Document;

/// How a comment begins that allows warnings.
pub const ALLOW_COMMENT: &str = "# folio: allow";

/// Codes of warnings that depend on the machine: a comment that allows one may have no effect here.
const ENVIRONMENT_CODES: &[Code] = &[Code::MissingProgram, Code::UnsetVariable];

/// One code of one comment.
struct AllowedCode {
    code: Code,
    file: FileId,
    /// The line that it is for; `None` for the whole file.
    line: Option<u32>,
    span: Span,
    /// The comment, where it has no other code.
    comment: Option<Span>,
    is_used: bool,
}

impl LoadContext {
    /// Silences the warnings that comments allow, and warns of comments that silence none.
    pub fn apply_allow_comments(&mut self) {
        let mut allowed = Vec::new();
        for number in 0.. {
            let file = FileId(number);
            let Some(source) = self.report.sources.get(file) else { break };
            let Some(document) = self.documents.get(file).filter(|_| source.text().contains(ALLOW_COMMENT)) else {
                continue;
            };
            let text = source.text().clone();
            let comments = find_comments(&text, document);
            comments.into_iter().for_each(|at| self.read_comment(at, file, &text, &mut allowed));
        }
        if allowed.is_empty() {
            return;
        }
        silence(&mut self.report, &mut allowed);
        if !self.report.has_errors() {
            allowed
                .iter()
                .filter(|allowed| !allowed.is_used)
                .for_each(|allowed| warn_unused(allowed, &mut self.report));
        }
    }

    fn read_comment(&mut self, at: usize, file: FileId, text: &str, allowed: &mut Vec<AllowedCode>) {
        let comment = text.get(at..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let codes = comment.get(ALLOW_COMMENT.len()..).unwrap_or_default().split("--").next().unwrap_or_default();
        let line = target_line(text, at);
        let words: Vec<&str> = codes.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        for word in &words {
            let start = at + (word.as_ptr() as usize).saturating_sub(comment.as_ptr() as usize);
            let span = Span::new(file, start, start + word.len());
            let Some(code) = Code::ALL.iter().find(|code| code.as_str() == *word) else {
                let names = Code::ALL.iter().map(|code| code.as_str());
                self.report
                    .warning(Code::BadValue, span, format!("unknown code `{word}`"))
                    .help("`folio explain` lists all codes")
                    .did_you_mean(word, names);
                continue;
            };
            let comment = (words.len() == 1).then(|| Span::new(file, at, at + comment.trim_end().len()));
            allowed.push(AllowedCode { code: *code, file, line, span, comment, is_used: false });
        }
    }
}

/// Where comments of folio begin: not those inside of a text.
fn find_comments(text: &str, document: &Document) -> Vec<usize> {
    // The YAML of a prompt file is its front matter.
    let last = document.end();
    let is_delimiter = |range: &Range<usize>| text.get(range.clone()).is_some_and(|line| line.trim_end() == "---");
    let delimiter = lines(text).filter(|line| line.start >= last).find(is_delimiter);
    let end = delimiter.map_or(text.len(), |line| line.start);
    let marks = text.match_indices(ALLOW_COMMENT).map(|(at, _)| at);
    let is_comment = |at: &usize| {
        let before = text.get(..*at).unwrap_or_default();
        *at < end && (before.is_empty() || before.ends_with([' ', '\t', '\n'])) && !document.is_in_scalar(*at)
    };
    marks.filter(is_comment).collect()
}

fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let range = start..start + line.len();
        start = range.end;
        range
    })
}

/// The line that a comment is for; `None` for the whole file.
fn target_line(text: &str, at: usize) -> Option<u32> {
    let number = |offset: usize| u32::try_from(text.get(..offset)?.matches('\n').count() + 1).ok();
    let is_content = |line: &str| !matches!(line.trim(), "" | "---") && !line.trim_start().starts_with(['#', '%']);
    let before = text.get(..at)?;
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    if is_content(before.get(line_start..)?) {
        return number(at);
    }
    if !before.lines().any(is_content) {
        return None;
    }
    let next = lines(text).find(|line| line.start > at && text.get(line.clone()).is_some_and(is_content));
    number(next.map_or(at, |line| line.start))
}

fn silence(report: &mut Report, allowed: &mut [AllowedCode]) {
    let mut lines: HashMap<Span, u32> = HashMap::new();
    for span in report.diagnostics().iter().filter_map(|diagnostic| diagnostic.span) {
        if let Some(source) = report.sources.get(span.file) {
            lines.insert(span, source.position(span.start).line);
        }
    }
    report.silence(|diagnostic: &Diagnostic| {
        let Some(span) = diagnostic.span else { return false };
        let line = lines.get(&span);
        let fits = |allowed: &&mut AllowedCode| {
            allowed.code == diagnostic.code
                && allowed.file == span.file
                && allowed.line.is_none_or(|wanted| Some(&wanted) == line)
        };
        let mut is_allowed = false;
        for allowed in allowed.iter_mut().filter(fits) {
            allowed.is_used = true;
            is_allowed = true;
        }
        is_allowed
    });
}

fn warn_unused(allowed: &AllowedCode, report: &mut Report) {
    if ENVIRONMENT_CODES.contains(&allowed.code) || allowed.code.is_client_code() {
        return;
    }
    let message = format!("unused `allow`: no warning `{}` here", allowed.code.as_str());
    let diagnostic = report.warning(Code::Unused, allowed.span, message);
    diagnostic.help("remove the comment; errors cannot be allowed");
    if let Some(comment) = allowed.comment {
        diagnostic.fix(comment, "");
    }
}
