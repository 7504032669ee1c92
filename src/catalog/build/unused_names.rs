//! Warns of arguments, variables, steps and partials that nothing uses.
//!
//! A name counts as used wherever the text of its entry could mean it, so that no warning is wrong.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use regex::Regex;

use crate::action::Run;
use crate::compile::LoadContext;
use crate::diagnostic::{Code, FileId, SourceFile, SourceMap, Span};
use crate::files::normalize;
use crate::load::{EntryFile, LoadedPack};
use crate::manifest::Arguments;
use crate::value_types::TextOrFile;
use crate::yaml::{Location, Spanned};

/// A name that nothing uses.
#[derive(Debug, Clone)]
pub(in crate::catalog) struct UnusedName {
    span: Span,
    kind: NameKind,
    name: String,
}

#[derive(Debug, Clone, Copy)]
enum NameKind {
    Argument,
    Variable,
    /// A variable that a script mentions, which does not get it.
    VariableOfScript,
    Step,
    Partial,
}

impl UnusedName {
    /// The same in a file with another id.
    pub(in crate::catalog) fn in_file(self, file: FileId) -> UnusedName {
        UnusedName { span: Span { file, ..self.span }, ..self }
    }

    /// What is wrong, and how to mend it.
    fn message_and_help(&self) -> (String, String) {
        let name = &self.name;
        let help = match self.kind {
            NameKind::Argument => format!("use it as `{{{{{name}}}}}`, or remove it"),
            NameKind::Variable => format!("use it as `{{{{env.{name}}}}}`, or remove it"),
            NameKind::VariableOfScript => format!(
                "a script gets only the variables in its `env`: write `env: {{ {name}: \"{{{{env.{name}}}}}\" }}` beside it"
            ),
            NameKind::Step => format!("use it as `{{{{steps.{name}}}}}`, or remove the `id`"),
            NameKind::Partial => format!("use it as `{{{{> {name}}}}}`, or remove it"),
        };
        let subject = match self.kind {
            NameKind::Argument => "argument",
            NameKind::Variable | NameKind::VariableOfScript => "variable",
            NameKind::Step => "the outcome of step",
            NameKind::Partial => "partial",
        };
        (format!("{subject} `{name}` is never used"), help)
    }
}

/// What is unused in a file of plain prompts, in a pack with these partials.
pub(in crate::catalog) fn of_plain_prompts(
    file: &EntryFile,
    source: &Arc<SourceFile>,
    partials: &[&str],
) -> Vec<UnusedName> {
    let mut sources = SourceMap::starting_at(file.file);
    sources.share(source.clone());
    let mut unused = Vec::new();
    entries(file, &SharedTexts { sources: &sources, partials: partials.to_vec(), has_tests: false }, &mut unused);
    unused
}

/// Warns of all packs, and of what was found `unused` already. Where something else is wrong, what uses a name may not
/// have been read.
pub(in crate::catalog) fn warn(packs: &[LoadedPack], mut unused: Vec<UnusedName>, load_context: &mut LoadContext) {
    if load_context.report.has_errors() {
        return;
    }
    let sources = &load_context.report.sources;
    for pack in packs {
        variables(pack, sources, &mut unused);
        partials(pack, sources, &mut unused);
        let shared = SharedTexts {
            sources,
            partials: pack.pack.partials.values().filter_map(|file| text_of(sources, *file)).collect(),
            has_tests: pack.entry_files.iter().any(|file| !file.entries.tests.is_empty()),
        };
        pack.entry_files.iter().for_each(|file| entries(file, &shared, &mut unused));
    }
    for name in unused {
        let (message, help) = name.message_and_help();
        load_context.warning(Code::Unused, name.span, message).help(help);
    }
}

fn text_of(sources: &SourceMap, file: FileId) -> Option<&str> {
    sources.get(file).map(|source| source.text().as_ref())
}

fn variables(pack: &LoadedPack, sources: &SourceMap, unused: &mut Vec<UnusedName>) {
    let scripts = script_spans(pack, sources);
    for name in pack.manifest.env.keys() {
        let declared = name.location.span();
        let is_other = |at: Span| at.file != declared.file || at.start.abs_diff(declared.start) > 1;
        let in_script = |at: Span| {
            scripts.iter().any(|script| script.file == at.file && script.start <= at.start && at.end <= script.end)
        };
        let (mut is_used, mut is_in_script) = (false, false);
        for (file, source) in (0..).map(FileId).zip(sources.iter()) {
            let text = source.text();
            let places = find_words(text, name).map(|at| Span::new(file, at, at + name.len()));
            let (scripted, other): (Vec<Span>, Vec<Span>) =
                places.filter(|at| is_other(*at)).partition(|at| in_script(*at));
            is_used |= !other.is_empty() || text.contains("{{env}}") || text.contains("each env");
            is_in_script |= !scripted.is_empty();
        }
        if is_used {
            continue;
        }
        let kind = if is_in_script { NameKind::VariableOfScript } else { NameKind::Variable };
        unused.push(UnusedName { span: declared, kind, name: name.value.clone() });
    }
}

/// The texts of scripts, which have arguments as variables, and no templates.
fn script_spans(pack: &LoadedPack, sources: &SourceMap) -> Vec<Span> {
    let mut spans = Vec::new();
    for file in &pack.entry_files {
        for text in file.entries.runs().flat_map(|run| run.script_texts()) {
            match &text.value {
                TextOrFile::Text(_) => spans.push(text.location.span()),
                TextOrFile::File(named) => spans.extend(named.file.iter().filter_map(|path| {
                    let path = normalize(&file.base.join(&path.value).to_string_lossy()).ok()?;
                    let display_path = pack.pack.display_path(&path);
                    let number = sources.iter().position(|source| source.path() == Path::new(&display_path))?;
                    let length = sources.iter().nth(number)?.text().len();
                    Some(Span::new(FileId(u32::try_from(number).ok()?), 0, length))
                })),
            }
        }
    }
    spans
}

fn partials(pack: &LoadedPack, sources: &SourceMap, unused: &mut Vec<UnusedName>) {
    for (name, file) in &pack.pack.partials {
        let calls = |source: &str| {
            find_words(source, name).any(|at| {
                source.get(..at).is_some_and(|before| before.trim_end_matches(['"', '\'', ' ', '~']).ends_with('>'))
            })
        };
        if !sources.iter().any(|source| calls(source.text())) {
            unused.push(UnusedName { span: Span::start_of(*file), kind: NameKind::Partial, name: name.clone() });
        }
    }
}

/// What the entries of a pack share.
struct SharedTexts<'a> {
    sources: &'a SourceMap,
    /// The texts of all partials.
    partials: Vec<&'a str>,
    /// Whether a test may name a step.
    has_tests: bool,
}

/// The text of an entry, in which its names are looked for.
struct EntryText<'a> {
    shared: &'a SharedTexts<'a>,
    file: FileId,
    /// Where the text begins in its file.
    start: usize,
    text: &'a str,
}

/// The parts of an entry that have names.
struct NamedParts<'a> {
    at: Location,
    arguments: Option<&'a Arguments>,
    run: Option<&'a Spanned<Run>>,
}

fn entries(file: &EntryFile, shared: &SharedTexts<'_>, unused: &mut Vec<UnusedName>) {
    let entries = &file.entries;
    let prompts = entries.prompts.values().map(|prompt| NamedParts {
        at: prompt.location,
        arguments: Some(&prompt.arguments),
        run: prompt.run.as_ref(),
    });
    let tools = entries.tools.values().map(|tool| NamedParts {
        at: tool.location,
        arguments: tool.arguments.as_ref().map(|written| &written.value),
        run: tool.run.as_ref(),
    });
    // The arguments of a resource are variables of its URI.
    let resources = entries.resources.values().map(|resource| NamedParts {
        at: resource.location,
        arguments: None,
        run: resource.run.as_ref(),
    });
    let mut aliased: Option<(FileId, bool)> = None;
    for NamedParts { at, arguments, run } in prompts.chain(tools).chain(resources) {
        let Some(text) = text_of(shared.sources, at.file()) else { continue };
        let is_aliased = match aliased {
            Some((file, is_aliased)) if file == at.file() => is_aliased,
            // A part of the file may be used in the place of another.
            _ => [": *", "- *", "[*", ", *"].iter().any(|alias| text.contains(alias)),
        };
        aliased = Some((at.file(), is_aliased));
        if is_aliased {
            continue;
        }
        let span = at.span();
        let range = if text.starts_with("---") { 0..text.len() } else { span.start as usize..span.end as usize };
        let Some(own) = text.get(range.clone()) else { continue };
        let entry = EntryText { shared, file: at.file(), start: range.start, text: own };
        arguments.iter().for_each(|arguments| entry.arguments(arguments, unused));
        run.iter().for_each(|run| entry.steps(run, unused));
    }
}

/// What may use every argument, found in one pass. If it were `None`, every argument would count as used.
static MAY_USE_ANY_ARGUMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:script|tool|prompt|file):|x-mcp-header|arguments ?\}\}|each arguments|@root\}\}").ok()
});

impl EntryText<'_> {
    fn arguments(&self, arguments: &Arguments, unused: &mut Vec<UnusedName>) {
        // What other programs expand is warned of as such.
        if self.text.contains("$ARGUMENTS")
            || self.text.contains("$1") && !["{{", "exec:"].iter().any(|part| self.text.contains(part))
        {
            return;
        }
        for (name, argument) in arguments {
            let declared = [self.range_of(argument.location.span()), self.range_of(name.location.span())];
            let mut uses = find_words(self.text, name)
                .filter(|at| !declared.iter().any(|range| range.contains(at)) && is_use(self.text, *at, name));
            if uses.next().is_none() && !self.is_in_partials(name) && !self.is_in_completions(arguments, name) {
                // What is rare is looked for last.
                if MAY_USE_ANY_ARGUMENT.as_ref().is_none_or(|uses| uses.is_match(self.text)) {
                    return;
                }
                let (span, kind) = (name.location.span(), NameKind::Argument);
                unused.push(UnusedName { span, kind, name: name.value.clone() });
            }
        }
    }

    fn range_of(&self, span: Span) -> Range<usize> {
        (span.start as usize).saturating_sub(self.start)..(span.end as usize).saturating_sub(self.start)
    }

    fn is_in_partials(&self, name: &str) -> bool {
        self.shared.partials.iter().any(|text| find_words(text, name).next().is_some())
    }

    /// Whether the completions of another argument use one.
    fn is_in_completions(&self, arguments: &Arguments, name: &Spanned<String>) -> bool {
        let others = arguments.iter().filter(|(other, _)| *other != name).map(|(_, argument)| argument);
        others.into_iter().any(|other| {
            let text = self.shared.sources.text_of(other.location.span());
            text.contains("complete") && find_words(text, name).next().is_some()
        })
    }

    fn steps(&self, run: &Run, unused: &mut Vec<UnusedName>) {
        if self.shared.has_tests || self.text.contains("each steps") {
            return;
        }
        for name in run.ids() {
            let mut places = find_words(self.text, name);
            let (Some(at), None) = (places.next(), places.next()) else { continue };
            if self.is_in_partials(name) {
                continue;
            }
            let span = Span::new(self.file, self.start + at, self.start + at + name.len());
            unused.push(UnusedName { span, kind: NameKind::Step, name: name.to_string() });
        }
    }
}

/// Whether a word of the text of an entry may be the use of an argument: inside of `{{…}}`, or a whole value.
fn is_use(text: &str, at: usize, name: &str) -> bool {
    let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + name.len()..).unwrap_or_default());
    let is_open = |open: &str, close: &str| {
        before.rfind(open).is_some_and(|open| !before.get(open..).unwrap_or_default().contains(close))
    };
    let starts = before.trim_end_matches([' ', '"', '\'']).ends_with([':', '[', ',', '-', '{', '+', '?', '&', '\n']);
    let ends = after.trim_start_matches([' ', '"', '\'']);
    let ends = ends.is_empty() || ends.starts_with(['\n', '\r', ',', ']', '}', '#', '*']);
    // What other languages expand is warned of as such.
    starts && ends
        || is_open("{{", "}}")
        || is_open("{%", "%}")
        || is_open("<%", "%>")
        || is_open("${", "}")
        || before.ends_with("%(")
        || before.ends_with(['$', '<', '%'])
        || before.ends_with("${")
}

/// Where a text has a name as a word.
fn find_words<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    text.match_indices(name).map(|(at, _)| at).filter(move |at| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}
