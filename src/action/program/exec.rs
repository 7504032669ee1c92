//! `exec`: runs a program with a list of arguments, without a shell.

use std::collections::BTreeSet;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::code_injection;
use super::shell_syntax::warn_of_shell_syntax;
use crate::action::condition::{compile_condition, compile_list};
use crate::action::program::{self, PreparedCommand, ProgramOptions};
use crate::action::{ActionError, ActionKind, ActionNode, ActionOutcome, ClientUse, Step, StepContext};
use crate::compile::{Compiler, Exposure, ProgramFault, ShellVariableContext};
use crate::diagnostic::Code;
use crate::files::expand_home;
use crate::template::{ArgvSlot, ConditionSlot, ListSlot, Scope, Shape, Template};
use crate::value_types::{Scalar, yaml_kind_enum};
use crate::world::{find_program, is_executable, shebang_fault};
use crate::yaml::{Location, Spanned};

yaml_kind_enum! {
    /// An argument of the program (a template), or arguments that depend on an argument of the tool.
    pub enum ExecElement {
        /// Exactly one argument, whatever its value contains; none if it is exactly one `{{…}}` whose value is absent.
        "scalar" => Template(Scalar),
        "map" => ElementGroup(ElementGroup),
    }
}

/// Conditional or repeated elements: `{ if: verbose, then: [-v] }` or `{ each: files, then: ["{{this}}"] }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ElementGroup {
    /// The name of an argument, or exactly one `{{…}}` such as `"{{eq mode \"all\"}}"`: `then` is used if it is true, `else`
    /// otherwise.
    #[serde(rename = "if")]
    pub condition: Option<Spanned<String>>,
    /// The name of a list argument, or exactly one `{{…}}` such as `"{{steps.list.json}}"`: `then` is used once for each
    /// item, which is `{{this}}`.
    pub each: Option<Spanned<String>>,
    /// The elements: `[-v]`.
    pub then: Option<Vec<Spanned<Scalar>>>,
    /// The elements if the condition is false: `[-q]`.
    #[serde(rename = "else")]
    pub otherwise: Option<Vec<Spanned<Scalar>>>,
}

/// A program with its argv elements.
pub struct ExecAction {
    program: ProgramTemplate,
    parts: Vec<ArgvPart>,
    options: ProgramOptions,
    /// Arguments that may begin with `-`.
    allow_dash: BTreeSet<String>,
}

enum ProgramTemplate {
    Literal(String),
    Template(Template<ArgvSlot>),
}

enum ArgvPart {
    Always(Template<ArgvSlot>),
    If { condition: Template<ConditionSlot>, then: Vec<Template<ArgvSlot>>, otherwise: Vec<Template<ArgvSlot>> },
    Each { list: Template<ListSlot>, then: Vec<Template<ArgvSlot>> },
}

impl ActionKind for ExecAction {
    type Spec = Vec<Spanned<ExecElement>>;
    const SIBLING_KEYS: &'static [&'static str] = program::PROGRAM_SIBLING_KEYS;
    const GRANT: Option<&'static str> = Some("exec");

    fn outcome_shape() -> Shape {
        program::program_outcome_shape()
    }

    fn compile(node: ActionNode<'_, Self::Spec>, compiler: &mut Compiler<'_>) -> Option<ExecAction> {
        let options = ProgramOptions::compile(node.step, node.wants_json, compiler);
        let Some((first, rest)) = node.spec.value.split_first() else {
            compiler
                .error(Code::MissingKey, node.spec.location, "missing program in `exec`")
                .help("write `exec: [program, argument, …]`");
            return None;
        };
        let program = compile_program(first, node.step, compiler);
        let elements: Vec<Option<ArgvPart>> = rest.iter().map(|element| compile_part(element, compiler)).collect();
        let elements = elements.into_iter().collect::<Option<Vec<ArgvPart>>>();
        if program.is_some() && elements.is_some() {
            code_injection::check_argv(&node.spec.value, node.step.stdin.as_ref(), compiler);
            warn_of_dollars(&node.spec.value, compiler);
            warn_of_shell_syntax(&node.spec.value, compiler);
        }
        let (program, options) = (program?, options?);
        let literal = if let ProgramTemplate::Literal(program) = &program { Some(program.as_str()) } else { None };
        options.list_sandbox(literal, node.key, compiler);
        Some(ExecAction { program, parts: elements?, options, allow_dash: compiler.arguments.dash_allowed.clone() })
    }

    fn has_side_effects(&self) -> bool {
        true
    }

    fn client_use(&self) -> ClientUse {
        self.options.client_use()
    }

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        let program = match &self.program {
            ProgramTemplate::Literal(program) => program.clone(),
            ProgramTemplate::Template(template) => {
                let value = template.render(context.scope)?.map(|element| element.text).unwrap_or_default();
                expand_home(Path::new(&value)).to_string_lossy().into_owned()
            }
        };
        let scope = context.scope;
        let prepare = || {
            let mut prepared = self.options.prepare(&program, context)?;
            prepared.command.is_named_by_manifest = matches!(self.program, ProgramTemplate::Literal(_));
            let mut argv = ArgvBuilder { prepared, after_dashes: false, allow_dash: &self.allow_dash };
            for part in &self.parts {
                match part {
                    ArgvPart::Always(template) => argv.push(template, scope, None)?,
                    ArgvPart::If { condition, then, otherwise } => {
                        for template in if condition.render(scope)? { then } else { otherwise } {
                            argv.push(template, scope, None)?;
                        }
                    }
                    ArgvPart::Each { list, then } => {
                        let label = list.source().trim_matches(['{', '}', ' ']);
                        for item in list.render(scope)?.0 {
                            let inner = scope.clone().with_this(item);
                            for template in then {
                                argv.push(template, &inner, Some(label))?;
                            }
                        }
                    }
                }
            }
            Ok::<_, ActionError>(argv.prepared)
        };
        let prepared = scope.budget().run(prepare)??;
        self.options.run(prepared, program.rsplit('/').next().unwrap_or(&program), context).await
    }
}

/// The arguments so far. After `--`, no argument is an option.
struct ArgvBuilder<'a> {
    prepared: PreparedCommand,
    after_dashes: bool,
    allow_dash: &'a BTreeSet<String>,
}

impl ArgvBuilder<'_> {
    /// `item_of` is the argument whose item `{{this}}` is.
    fn push(&mut self, template: &Template<ArgvSlot>, scope: &Scope, item_of: Option<&str>) -> Result<(), ActionError> {
        if let Some(text) = template.literal() {
            self.after_dashes |= text == "--";
            return self.prepared.arg(text, None);
        }
        // An element that is exactly one absent value is left out.
        let Some(element) = template.render(scope)? else { return Ok(()) };
        let named = |variable| if variable == "this" { item_of.unwrap_or(variable) } else { variable };
        if let Some(variable) = element.leading_dash_variable().filter(|_| !self.after_dashes) {
            let argument = named(variable);
            if !self.allow_dash.contains(argument.trim_start_matches("arguments.")) {
                let words = format!("the value of `{argument}` begins with `-` and would be read as an option");
                return Err(ActionError::BadArgument(words));
            }
        }
        let longest = element.longest_variable().map(|variable| named(variable).to_owned());
        self.prepared.arg(element.text, longest.as_deref())
    }
}

/// Compiles the program, which the manifest chooses and arguments must not.
fn compile_program(
    element: &Spanned<ExecElement>,
    step: &Step,
    compiler: &mut Compiler<'_>,
) -> Option<ProgramTemplate> {
    let ExecElement::Template(Scalar(text)) = &element.value else {
        compiler.error(Code::WrongType, element.location, "expected the program as the first element: a string");
        return None;
    };
    let template: Template<ArgvSlot> =
        compiler.template(&Spanned::new(text.clone(), element.location), Exposure::CommandLine)?;
    if template.read_paths().iter().any(|path| path.first().is_none_or(|head| head != "env")) {
        compiler
            .error(Code::Unsafe, element.location, "an argument must not choose the program")
            .help("name the program, or one `{{env.NAME}}`");
        return None;
    }
    if !template.read_paths().is_empty() {
        return Some(ProgramTemplate::Template(template));
    }
    literal_program(text, element.location, step, compiler).map(ProgramTemplate::Literal)
}

fn literal_program(text: &str, at: Location, step: &Step, compiler: &mut Compiler<'_>) -> Option<String> {
    if text.is_empty() {
        compiler.error(Code::BadValue, at, "empty program name");
        return None;
    }
    if text.contains('/') && !text.starts_with('/') {
        let path = compiler.resolve_file(text, at)?;
        let path = compiler.pack.folder.path().join(path);
        if path.exists() && !is_executable(&path) {
            compiler
                .warning(Code::MissingProgram, at, format!("`{text}` is not executable"))
                .help(format!("run `chmod +x {text}`, or name the program that reads it: `exec: [sh, {text}]`"));
        } else if let Some(search_path) = search_path(step, compiler)
            && let Some(fault) = shebang_fault(&path, search_path.as_ref())
        {
            warn_of_interpreter(text, &fault, at, compiler);
        }
        return Some(path.to_string_lossy().into_owned());
    }
    warn_of_missing_program(text, at, step, compiler);
    Some(text.to_owned())
}

/// The `PATH` of the program of a step, unless a call decides it.
fn search_path(step: &Step, compiler: &Compiler<'_>) -> Option<String> {
    match step.env.get("PATH") {
        Some(own) => Some(own.0.clone()).filter(|own| !own.contains("{{")),
        None => Some(compiler.pack.search_path.clone()),
    }
}

/// Warns of a program that cannot be started now; it may be installed before it is called.
pub(super) fn warn_of_missing_program(program: &str, at: Location, step: &Step, compiler: &mut Compiler<'_>) {
    let Some(search_path) = search_path(step, compiler) else { return };
    let find = |name: &str| find_program(name.as_ref(), search_path.as_ref());
    let fault = compiler.load_context.program_fault(program, &search_path, || match find(program) {
        Some(path) => shebang_fault(&path, search_path.as_ref()).map(ProgramFault::NoInterpreter),
        None => Some(ProgramFault::NotFound),
    });
    match fault {
        None => {}
        Some(ProgramFault::NoInterpreter(fault)) => warn_of_interpreter(program, &fault, at, compiler),
        Some(ProgramFault::NotFound) => {
            let words: Vec<&str> = program.split_whitespace().collect();
            let is_command = words.len() > 1 && words.first().is_some_and(|first| find(first).is_some());
            let help = match is_command {
                true => format!("write each word as an element of its own: `{}`", words.join(", ")),
                false => "install it, or write its full path".to_owned(),
            };
            compiler.warning(Code::MissingProgram, at, format!("program `{program}` not found on PATH")).help(help);
        }
    }
}

fn warn_of_interpreter(program: &str, fault: &str, at: Location, compiler: &mut Compiler<'_>) {
    compiler
        .warning(Code::MissingProgram, at, format!("`{program}` cannot be started: {fault}"))
        .help("correct its first line, or save it with LF line ends");
}

/// Warns of `$NAME`, which no shell expands here, except in code for a shell.
fn warn_of_dollars(elements: &[Spanned<ExecElement>], compiler: &mut Compiler<'_>) {
    let code = code_injection::code_spans(elements, compiler);
    for element in elements {
        let texts: Vec<Spanned<String>> = match &element.value {
            ExecElement::Template(Scalar(text)) => vec![Spanned::new(text.clone(), element.location)],
            ExecElement::ElementGroup(choice) => {
                choice.then.iter().chain(&choice.otherwise).flatten().map(|text| text.to_text()).collect()
            }
        };
        texts
            .iter()
            .filter(|text| !code.contains(&text.location))
            .for_each(|text| compiler.warn_shell_variables(text, ShellVariableContext::ArgvElement));
    }
}

fn compile_part(element: &Spanned<ExecElement>, compiler: &mut Compiler<'_>) -> Option<ArgvPart> {
    let choice = match &element.value {
        ExecElement::Template(Scalar(text)) => {
            let text = Spanned::new(text.clone(), element.location);
            return compile_element(&text, compiler).map(ArgvPart::Always);
        }
        ExecElement::ElementGroup(choice) => choice,
    };
    match (&choice.condition, &choice.each, &choice.then) {
        (Some(condition), None, Some(then)) => {
            let condition = compile_condition(condition, Exposure::CommandLine, compiler);
            let then = compile_templates(then, compiler);
            let otherwise =
                choice.otherwise.as_deref().map_or(Some(Vec::new()), |list| compile_templates(list, compiler));
            Some(ArgvPart::If { condition: condition?, then: then?, otherwise: otherwise? })
        }
        (None, Some(list), Some(then)) if choice.otherwise.is_none() => {
            let (list, item) = compile_list(list, compiler)?;
            let names = compiler.scope_shape.clone().with_this(item, list.printed_paths());
            let then = compiler.with_scope_shape(names, |compiler| compile_templates(then, compiler));
            Some(ArgvPart::Each { list, then: then? })
        }
        _ => {
            compiler
                .error(Code::Conflict, element.location, "expected `{ if, then, else }` or `{ each, then }`")
                .help("write `{ if: NAME, then: […] }` or `{ each: NAME, then: […] }`");
            None
        }
    }
}

fn compile_templates(list: &[Spanned<Scalar>], compiler: &mut Compiler<'_>) -> Option<Vec<Template<ArgvSlot>>> {
    let compiled: Vec<_> = list.iter().map(|item| compile_element(&item.to_text(), compiler)).collect();
    compiled.into_iter().collect()
}

fn compile_element(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Template<ArgvSlot>> {
    let template: Template<ArgvSlot> = compiler.template(text, Exposure::CommandLine)?;
    if let Some([env, name]) = template.single_path()
        && env == "env"
        && let Some(value) = compiler.pack.env.variables.get(name).and_then(|variable| variable.value.as_deref())
        && Path::new(value).starts_with("~")
    {
        let message = format!("`~` in the value of `{name}` is not expanded in an argument");
        compiler.warning(Code::Unused, text.location, message).help("set it to an absolute path");
    }
    Some(template)
}
