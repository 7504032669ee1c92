//! Programs that read code from their arguments or from stdin: no value may stand in it, or a caller could write code.
//!
//! A script hands values over as environment variables, and `bash -c 'text' name "{{x}}"` as `$1`: both are left alone.

mod mend;
mod scan;
mod table;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::exec::Element;
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::notation::{Scalar, TextOrFile};
use crate::template::{Printed, printed};
use crate::yaml::{At, Spanned};
use scan::{Found, HOLE, Role, Word, scan};

/// What code is written in, which says how a script reads a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// For a shell of this machine.
    Shell,
    /// For a shell of another machine.
    Remote,
    /// The words of a command.
    Command,
    PowerShell,
    Python,
    Node,
    Perl,
    Ruby,
    Php,
    Lua,
    R,
    Awk,
    Sed,
    Jq,
    /// One that has no environment to speak of.
    Other,
}

/// How many elements that depend on arguments are gone through in every combination.
const CHOICES: usize = 6;

/// One element of argv.
#[derive(Clone)]
struct Item {
    word: Word,
    at: At,
    source: String,
    values: Vec<Value>,
}

/// A value in an element.
#[derive(Clone)]
struct Value {
    /// Where it stands in the word.
    position: usize,
    /// Where it stands in the element as it was written.
    range: Range<usize>,
    /// The path to it; empty for one that is computed.
    path: Vec<String>,
}

impl Value {
    /// The argument that it is, where it is one.
    fn argument(&self) -> Option<&str> {
        match self.path.as_slice() {
            [name] => Some(name),
            [head, name] if head == "arguments" => Some(name),
            _ => None,
        }
    }
}

/// Reports every value that stands in code, chooses an option of a program that takes code, or chooses a program.
pub(super) fn check(elements: &[Spanned<Element>], stdin: Option<&Spanned<TextOrFile>>, compiler: &mut Compiler<'_>) {
    let fed = stdin.filter(|stdin| has_value(stdin, compiler)).map(|stdin| stdin.at);
    for argv in combinations(elements, compiler) {
        let words = argv.iter().map(|item| item.word.clone()).collect();
        for found in scan(words, fed.is_some()).into_iter().filter(|found| found.holds_value) {
            report(&found, &argv, fed, compiler);
        }
    }
}

/// The elements that are code, whether or not a value stands in them: what a shell would expand is no mistake there.
pub(super) fn code_places(elements: &[Spanned<Element>], compiler: &Compiler<'_>) -> Vec<At> {
    let argvs = combinations(elements, compiler);
    let found = argvs.iter().flat_map(|argv| {
        let words = argv.iter().map(|item| item.word.clone()).collect();
        scan(words, false).into_iter().filter_map(|found| match found.role {
            Role::Code(_) => argv.get(found.word).map(|item| item.at),
            _ => None,
        })
    });
    found.collect()
}

fn has_value(stdin: &Spanned<TextOrFile>, compiler: &Compiler<'_>) -> bool {
    match &stdin.value {
        TextOrFile::Text(text) => item(text, stdin.at, None, compiler).word.text.contains(HOLE),
        TextOrFile::File(_) => false,
    }
}

/// Every argv that the elements may come to, less what is the same.
fn combinations(elements: &[Spanned<Element>], compiler: &Compiler<'_>) -> Vec<Vec<Item>> {
    let mut all: Vec<Vec<Item>> = vec![Vec::new()];
    let mut choices = 0;
    for element in elements {
        let ways = ways(element, compiler);
        choices += usize::from(ways.len() > 1);
        let ways = if choices > CHOICES { vec![ways.concat()] } else { ways };
        all = all.iter().flat_map(|argv| ways.iter().map(|way| [argv.as_slice(), way].concat())).collect();
    }
    for argv in &mut all {
        let mut behind = false;
        for item in argv {
            // Behind `--` a call takes any value for no option; what the program takes it for is another matter.
            item.word.may_dash |= behind;
            behind |= item.source == "--";
        }
    }
    all
}

/// The words that one element may come to.
fn ways(element: &Spanned<Element>, compiler: &Compiler<'_>) -> Vec<Vec<Item>> {
    let choice = match &element.value {
        Element::Template(Scalar(text)) => return vec![vec![item(text, element.at, None, compiler)]],
        Element::Choice(choice) => choice,
    };
    let each = choice.each.as_ref().map(|name| name.value.as_str());
    let items = |list: &Option<Vec<Spanned<Scalar>>>| {
        let list = list.as_deref().unwrap_or_default();
        list.iter().map(|text| item(&text.value.0, text.at, each, compiler)).collect::<Vec<Item>>()
    };
    vec![items(&choice.then), items(&choice.otherwise)]
}

/// One element as it is known at load: `{{env.NAME}}` is what it is now. `each` is the argument whose item `this` is.
fn item(source: &str, at: At, each: Option<&str>, compiler: &Compiler<'_>) -> Item {
    let mut item =
        Item { word: Word { text: String::new(), may_dash: false }, at, source: source.to_owned(), values: Vec::new() };
    for piece in printed(source) {
        match piece {
            Printed::Text(text) => item.word.text.push_str(text),
            Printed::Fixed(path) => item.word.text.push_str(&known(&path, compiler)),
            Printed::Value(_, path) if path == ["now"] && compiler.names.get("now").is_none() => {}
            Printed::Value(range, path) => {
                let path = if path.is_empty() { each.map(str::to_owned).into_iter().collect() } else { path };
                item.values.push(Value { position: item.word.text.len(), range, path });
                item.word.text.push(HOLE);
            }
        }
    }
    let first = item.values.first().and_then(Value::argument);
    item.word.may_dash = first.is_some_and(|name| compiler.allow_dash.contains(name));
    item
}

fn known(path: &[String], compiler: &Compiler<'_>) -> String {
    let variable = path.get(1).and_then(|name| compiler.pack.env.variables.get(name));
    variable.and_then(|variable| variable.value.clone()).unwrap_or_default()
}

fn report(found: &Found, argv: &[Item], fed: Option<At>, compiler: &mut Compiler<'_>) {
    let program = argv.get(found.program).map_or("", |item| item.word.text.rsplit('/').next().unwrap_or_default());
    let words = match found.role {
        Role::Code(_) => format!("a value in the code of `{program}` could become code itself"),
        Role::Option => format!("a value could become an option of `{program}`, which takes code"),
        Role::Program => "an argument may not choose the program".to_owned(),
        Role::Stdin => format!("a value in what `{program}` reads from stdin could become code"),
    };
    let from = if let Role::Code(from) = found.role { from } else { 0 };
    let item = argv.get(found.word).filter(|_| found.role != Role::Stdin);
    let value = item.and_then(|item| Some((item, item.values.iter().find(|value| value.position >= from)?)));
    let (span, help) = match (value, fed) {
        (Some((item, value)), _) => {
            (compiler.span_within(item.at, value.range.clone()), mend::mend(found, argv, value))
        }
        // What `xargs` hands on, or what the program reads itself.
        (None, Some(fed)) => (fed.span(), mend::generic(found.row.language, None)),
        (None, None) => return,
    };
    let fault = match found.row.language {
        // Its code can do nothing but read.
        Language::Jq => compiler.warning(Code::Unsafe, span, words),
        _ => compiler.error(Code::Unsafe, span, words),
    };
    fault.help(help);
}
