//! `include`: reads fragments and prompt files.

use std::path::Path;
use std::sync::Arc;

use super::EntryFile;
use super::paths::{MatchedFile, file_stem};
use crate::compile::{Compiler, LoadContext};
use crate::diagnostic::{Code, FileId, Span};
use crate::files::Globs;
use crate::manifest::{Fragment, Prompt, correct_entries, correct_prompt, example_of};
use crate::value_types::TextOrFile;
use crate::yaml::{
    Location, Spanned, find_misplaced_front_matter, from_document_with_examples, parse, parse_front_matter,
};

/// Reads the entries of an included file. `None` if it has none.
pub fn read_included(matched: &MatchedFile, compiler: &mut Compiler<'_>) -> Option<EntryFile> {
    let path = &matched.path.value;
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if !matches!(extension, "yaml" | "yml" | "md") {
        let words =
            format!("unsupported include `{}`: expected a fragment (`.yaml`) or a prompt file (`.md`)", path.display());
        compiler.error(Code::BadValue, matched.path.location, words);
        return None;
    }
    let (file, stamp) = compiler.read_source(&matched.path)?;
    let entries = if extension == "md" {
        let (name, prompt) = read_prompt_file(file, path, compiler)?;
        Fragment { prompts: [(name, prompt)].into_iter().collect(), ..Fragment::default() }
    } else {
        read_fragment(file, compiler).unwrap_or_default()
    };
    Some(EntryFile { base: matched.base().to_owned(), entries: Arc::new(entries), file, stamp })
}

/// Reports a README that is named without a glob; globs skip it.
pub(super) fn refuse_readme(path: &Spanned<String>, compiler: &mut Compiler<'_>) {
    if !Globs::is_glob(path) && is_readme(Path::new(&path.value)) {
        compiler
            .error(Code::BadName, path.location, format!("invalid prompt file name `{}`", path.value))
            .help("rename the file: a prompt is named after its file");
    }
}

/// Whether a file is for people, and holds no prompt.
pub(super) fn is_readme(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("README.md"))
}

fn read_fragment(file: FileId, compiler: &mut Compiler<'_>) -> Option<Fragment> {
    let mut document = parse(file, &mut compiler.load_context.report)?;
    if document.is_empty() {
        return None;
    }
    correct_entries(&mut document, &mut compiler.load_context.report);
    let fragment: Fragment = from_document_with_examples(&document, example_of, &mut compiler.load_context.report)?;
    compiler.load_context.documents.add(document);
    fragment.folio.iter().for_each(|version| check_version(version, compiler.load_context));
    Some(fragment)
}

/// Reports a version of the manifest language that is not supported.
pub(super) fn check_version(version: &Spanned<i64>, load_context: &mut LoadContext) {
    if version.value != 1 {
        let words = format!("unsupported manifest version `{}`, expected `1`", version.value);
        load_context
            .error(Code::Version, version.location, words)
            .help("write `folio: 1`; a later version of the language needs a newer folio");
    }
}

/// Reads a prompt file: its body is the text, its front matter the other keys.
fn read_prompt_file(
    file: FileId,
    path: &Path,
    compiler: &mut Compiler<'_>,
) -> Option<(Spanned<String>, Spanned<Prompt>)> {
    let (prompt, at, body) = match parse_front_matter(file, &mut compiler.load_context.report) {
        None => {
            let whole = compiler.load_context.report.sources.get(file)?.text().clone();
            if let Some(misplaced) = find_misplaced_front_matter(&whole) {
                let span = Span::new(file, misplaced.range.start, misplaced.range.end);
                compiler.error(Code::Syntax, span, misplaced.message).help(misplaced.help);
                return None;
            }
            (Prompt::default(), Location::start_of(file), 0)
        }
        Some((None, _)) => return None,
        Some((Some(mut document), body)) => {
            correct_prompt(&mut document, &mut compiler.load_context.report);
            let prompt = from_document_with_examples(&document, example_of, &mut compiler.load_context.report)
                .unwrap_or_default();
            (prompt, compiler.load_context.documents.add(document), body)
        }
    };
    let mut prompt: Prompt = prompt;
    if let Some(text) = &prompt.text {
        compiler
            .error(Code::Conflict, text.location, "unexpected key `text` in front matter")
            .help("write the text below the front matter");
    }
    if let Some(messages) = &prompt.messages {
        compiler
            .error(Code::Conflict, messages.location, "unexpected key `messages` in front matter")
            .help("write a prompt with several messages in a `.yaml` file");
        prompt.messages = None;
    }
    let whole = compiler.load_context.report.sources.get(file)?.text().clone();
    let body = skip_blank_lines(&whole, body);
    let text = whole.get(body..).unwrap_or_default().to_owned();
    if text.trim().is_empty() && prompt.text.is_none() {
        compiler.error(Code::MissingKey, Span::new(file, body, body), "empty prompt file");
    }
    prompt.text = Some(Spanned::new(TextOrFile::Text(text), Location::text_from(file, body)));
    let name = Spanned::new(file_stem(path), Location::start_of(file));
    Some((name, Spanned::new(prompt, at)))
}

fn skip_blank_lines(text: &str, from: usize) -> usize {
    let blank = text.get(from..).unwrap_or_default().split_inclusive('\n').take_while(|line| line.trim().is_empty());
    from + blank.map(str::len).sum::<usize>()
}
