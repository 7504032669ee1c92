//! `exec`: a program with its argv elements, and no shell.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::process::{self, Prepared, Setting};
use super::{Act, Doing, Failure, Outcome, Written, interpreter};
use crate::compile::{Compiler, Dollars, Exposure};
use crate::diagnostic::Code;
use crate::notation::{Scalar, by_kind};
use crate::template::{Argv, Element as TextElement, Scope, Shape, Template, truthy};
use crate::world::find_program;
use crate::yaml::{At, Spanned};

by_kind! {
    /// One element of argv (a template), or elements that depend on an argument.
    pub enum Element {
        /// Exactly one element, whatever its value holds; none where it is exactly one `{{…}}` whose value is absent.
        "scalar" => Template(Scalar),
        "map" => Choice(Choice),
    }
}

/// Elements that are there only for some arguments: `{ if, then, else }` or `{ each, then }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Choice {
    /// The name of an argument: `then` when it is true, else `else`.
    #[serde(rename = "if")]
    pub condition: Option<Spanned<String>>,
    /// The name of an argument that is a list: `then` once for each item, which is `{{this}}`.
    pub each: Option<Spanned<String>>,
    /// The elements.
    pub then: Option<Vec<Spanned<Scalar>>>,
    /// The elements otherwise.
    #[serde(rename = "else")]
    pub otherwise: Option<Vec<Spanned<Scalar>>>,
}

/// A program with its argv elements.
pub struct Exec {
    program: Program,
    elements: Vec<Part>,
    setting: Setting,
    /// Arguments that may begin with `-`.
    allow_dash: BTreeSet<String>,
}

enum Program {
    Literal(String),
    Template(Template<Argv>),
}

enum Part {
    One(Template<Argv>),
    If { name: String, then: Vec<Template<Argv>>, otherwise: Vec<Template<Argv>> },
    Each { name: String, then: Vec<Template<Argv>> },
}

impl Act for Exec {
    type Spec = Vec<Spanned<Element>>;
    const BESIDE: &'static [&'static str] = process::BESIDE;
    const GRANT: Option<&'static str> = Some("exec");

    fn outcome() -> Shape {
        process::shape()
    }

    fn compile(written: Written<'_, Self::Spec>, compiler: &mut Compiler<'_>) -> Option<Exec> {
        let setting = Setting::compile(written.beside, written.wants_json, compiler);
        let Some((first, rest)) = written.spec.value.split_first() else {
            compiler
                .error(Code::MissingKey, written.spec.at, "`exec` needs a program")
                .help("write `exec: [program, argument, …]`");
            return None;
        };
        let program = program(first, compiler);
        let elements: Vec<Option<Part>> = rest.iter().map(|element| part(element, compiler)).collect();
        let elements = elements.into_iter().collect::<Option<Vec<Part>>>();
        if program.is_some() && elements.is_some() {
            interpreter::check(&written.spec.value, written.beside.stdin, compiler);
            warn_of_dollars(&written.spec.value, compiler);
        }
        Some(Exec {
            program: program?,
            elements: elements?,
            setting: setting?,
            allow_dash: compiler.allow_dash.clone(),
        })
    }

    fn changes(&self) -> bool {
        true
    }

    async fn act(&self, doing: &Doing<'_>) -> Result<Outcome, Failure> {
        let program = match &self.program {
            Program::Literal(program) => program.clone(),
            Program::Template(template) => {
                template.render(doing.scope)?.map(TextElement::into_text).unwrap_or_default()
            }
        };
        let prepare = || {
            let mut prepared = self.setting.prepare(&program, doing)?;
            self.arguments(doing.scope, &mut prepared).map(|()| prepared)
        };
        let finished = doing.scope.budget().run(prepare)??.run(doing).await?;
        let shown = program.rsplit('/').next().unwrap_or(&program);
        let size = finished.stdout.bytes.len() + finished.stderr.bytes.len();
        doing.scope.budget().run_sized(size, || self.setting.outcome(shown, finished, doing.max_output))?
    }
}

impl Exec {
    fn arguments(&self, scope: &Scope, prepared: &mut Prepared) -> Result<(), Failure> {
        let mut argv = Argument { prepared, after_dashes: false, allow_dash: &self.allow_dash };
        for part in &self.elements {
            match part {
                Part::One(template) => argv.push(template, scope)?,
                Part::If { name, then, otherwise } => {
                    let holds = scope.get(&["arguments", name]).is_some_and(truthy);
                    for template in if holds { then } else { otherwise } {
                        argv.push(template, scope)?;
                    }
                }
                Part::Each { name, then } => argv.push_each(name, then, scope)?,
            }
        }
        Ok(())
    }
}

/// The elements so far. Once `--` has stood there, nothing is an option any more.
struct Argument<'a> {
    prepared: &'a mut Prepared,
    after_dashes: bool,
    allow_dash: &'a BTreeSet<String>,
}

impl Argument<'_> {
    fn push(&mut self, template: &Template<Argv>, scope: &Scope) -> Result<(), Failure> {
        self.push_item(template, scope, None)
    }

    fn push_each(&mut self, name: &str, then: &[Template<Argv>], scope: &Scope) -> Result<(), Failure> {
        let items = scope.get(&["arguments", name]).and_then(Value::as_array);
        for item in items.into_iter().flatten() {
            let inner = scope.clone().with_this(item.clone());
            for template in then {
                self.push_item(template, &inner, Some(name))?;
            }
        }
        Ok(())
    }

    /// `item_of` is the argument whose item `{{this}}` is.
    fn push_item(&mut self, template: &Template<Argv>, scope: &Scope, item_of: Option<&str>) -> Result<(), Failure> {
        // What is exactly one value that is absent is no element.
        let Some(element) = template.render(scope)? else { return Ok(()) };
        let named = |variable| if variable == "this" { item_of.unwrap_or(variable) } else { variable };
        if let Some(variable) = element.foreign_dash().filter(|_| !self.after_dashes) {
            let argument = named(variable);
            if !self.allow_dash.contains(argument.trim_start_matches("arguments.")) {
                return Err(Failure::Dash { argument: argument.to_owned() });
            }
        }
        self.after_dashes |= template.source() == "--";
        let longest = element.longest().map(|variable| named(variable).to_owned());
        self.prepared.arg(element.into_text(), longest.as_deref())
    }
}

fn text_of(scalar: &Spanned<Scalar>) -> Spanned<String> {
    Spanned::new(scalar.value.0.clone(), scalar.at)
}

/// The program: the manifest's own choice, never an argument's.
fn program(element: &Spanned<Element>, compiler: &mut Compiler<'_>) -> Option<Program> {
    let Element::Template(Scalar(text)) = &element.value else {
        compiler.error(Code::WrongType, element.at, "the first element is the program: a text");
        return None;
    };
    let template: Template<Argv> = compiler.template(&Spanned::new(text.clone(), element.at), Exposure::CommandLine)?;
    if template.reads().iter().any(|path| path.first().is_none_or(|head| head != "env")) {
        compiler
            .error(Code::Unsafe, element.at, "an argument may not choose the program")
            .help("name the program, or one `{{env.NAME}}`");
        return None;
    }
    if !template.reads().is_empty() {
        return Some(Program::Template(template));
    }
    literal_program(text, element.at, compiler).map(Program::Literal)
}

fn literal_program(text: &str, at: At, compiler: &mut Compiler<'_>) -> Option<String> {
    if text.is_empty() {
        compiler.error(Code::BadValue, at, "the program has no name");
        return None;
    }
    if text.contains('/') && !text.starts_with('/') {
        let path = compiler.file(text, at)?;
        return Some(compiler.pack.folder.path().join(path).to_string_lossy().into_owned());
    }
    warn_if_missing(text, at, compiler);
    Some(text.to_owned())
}

/// Warns of a program that is not there now; it may be when it is called.
pub(super) fn warn_if_missing(program: &str, at: At, compiler: &mut Compiler<'_>) {
    let search_path = compiler.pack.search_path.clone().unwrap_or_default();
    let find = || find_program(program.as_ref(), search_path.as_ref()).is_some();
    if !compiler.findings.has_program(program, &search_path, find) {
        compiler
            .warning(Code::MissingProgram, at, format!("there is no program `{program}` on PATH"))
            .help("install it, or name it by its whole path");
    }
}

/// Warns of what no shell expands, but for code, which may be for one.
fn warn_of_dollars(elements: &[Spanned<Element>], compiler: &mut Compiler<'_>) {
    let code = interpreter::code_places(elements, compiler);
    for element in elements {
        let texts: Vec<Spanned<String>> = match &element.value {
            Element::Template(Scalar(text)) => vec![Spanned::new(text.clone(), element.at)],
            Element::Choice(choice) => choice.then.iter().chain(&choice.otherwise).flatten().map(text_of).collect(),
        };
        texts
            .iter()
            .filter(|text| !code.contains(&text.at))
            .for_each(|text| compiler.warn_of_dollars(text, Dollars::Word));
    }
}

fn part(element: &Spanned<Element>, compiler: &mut Compiler<'_>) -> Option<Part> {
    let choice = match &element.value {
        Element::Template(Scalar(text)) => {
            let text = Spanned::new(text.clone(), element.at);
            return compiler.template(&text, Exposure::CommandLine).map(Part::One);
        }
        Element::Choice(choice) => choice,
    };
    match (&choice.condition, &choice.each, &choice.then) {
        (Some(name), None, Some(then)) => {
            let known = argument(name, compiler);
            let then = templates(then, compiler);
            let otherwise = choice.otherwise.as_deref().map_or(Some(Vec::new()), |list| templates(list, compiler));
            known?;
            Some(Part::If { name: name.value.clone(), then: then?, otherwise: otherwise? })
        }
        (None, Some(name), Some(then)) if choice.otherwise.is_none() => {
            let shape = argument(name, compiler)?;
            let item = match shape {
                Shape::List(item) => *item,
                Shape::Any => Shape::Any,
                other => {
                    compiler.error(
                        Code::WrongType,
                        name.at,
                        format!("`each` takes a list, and `{}` is {}", name.value, other.words()),
                    );
                    return None;
                }
            };
            let names = compiler.names.clone().with_this(item);
            let then = compiler.with_names(names, |compiler| templates(then, compiler));
            Some(Part::Each { name: name.value.clone(), then: then? })
        }
        _ => {
            compiler
                .error(Code::Conflict, element.at, "this is neither `{ if, then, else }` nor `{ each, then }`")
                .help("write `{ if: NAME, then: […] }` or `{ each: NAME, then: […] }`");
            None
        }
    }
}

fn templates(list: &[Spanned<Scalar>], compiler: &mut Compiler<'_>) -> Option<Vec<Template<Argv>>> {
    let compiled: Vec<_> = list.iter().map(|item| compiler.template(&text_of(item), Exposure::CommandLine)).collect();
    compiled.into_iter().collect()
}

/// The shape of an argument that is named bare, as in `if: NAME`.
fn argument(name: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Shape> {
    let Some(Shape::Object(arguments)) = compiler.names.get("arguments").cloned() else { return Some(Shape::Any) };
    let found = arguments.get(&name.value).cloned();
    if found.is_none() {
        let fault = compiler.error(Code::UnknownVariable, name.at, format!("there is no argument `{}`", name.value));
        fault.did_you_mean(name, name.at.span(), arguments.keys().map(String::as_str));
        if fault.help.is_none() {
            fault.help("here stands the bare name of an argument, such as `verbose`");
        }
    }
    found
}
