//! `script`: runs a script, which has no templates: values arrive as environment variables.

use std::collections::BTreeMap;
use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::arg_max::MAX_ARG_STRLEN;
use super::exec::warn_of_missing_program;
use crate::action::program::{self, ProgramOptions};
use crate::action::{ActionError, ActionKind, ActionNode, ActionOutcome, ClientUse, Step, StepContext};
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::template::Shape;
use crate::value_types::{TextOrFile, is_identifier, yaml_kind_enum};
use crate::yaml::Spanned;

/// A script and its shell.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Script")]
pub struct ScriptSpec {
    /// The program that runs it: `sh bash zsh pwsh python3 node`, or `{ command: [program, arg, …] }`, which gets the text as
    /// its last argument.
    #[schemars(with = "Shell", extend("x-required" = true))]
    pub shell: Option<Spanned<Shell>>,
    /// The script: a text, or `{ file: scripts/build.sh }`. Arguments are environment variables of the same names:
    /// `"$path"`. Templates are not allowed.
    #[schemars(with = "TextOrFile", extend("x-required" = true))]
    pub text: Option<Spanned<TextOrFile>>,
    /// Whether it is a command of another program: `{{` in it is not a template, and its values are those of `env` alone.
    #[serde(skip)]
    #[schemars(skip)]
    pub is_imported: bool,
}

yaml_kind_enum! {
    /// The name of a shell, or a custom command.
    pub enum Shell {
        "text" => Known(ShellName),
        "map" => Custom(CustomShell),
    }
}

/// A known shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ShellName {
    /// The system's POSIX shell.
    Sh,
    /// Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// PowerShell.
    Pwsh,
    /// Python.
    Python3,
    /// Node.js.
    Node,
}

/// A program that runs scripts.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CustomShell {
    /// The program and its arguments: `[node, -e]`. The text of the script is appended.
    #[schemars(with = "Vec<String>", extend("x-required" = true))]
    pub command: Option<Spanned<Vec<Spanned<String>>>>,
}

/// A script and its shell.
pub struct ScriptAction {
    program: String,
    /// The elements before the text.
    shell_options: Vec<OsString>,
    text: String,
    /// The arguments that it gets as environment variables: those that are declared. A caller chooses the names of others,
    /// such as `PATH`.
    variables: Vec<String>,
    options: ProgramOptions,
}

impl ActionKind for ScriptAction {
    type Spec = ScriptSpec;
    const SIBLING_KEYS: &'static [&'static str] = program::PROGRAM_SIBLING_KEYS;
    const GRANT: Option<&'static str> = Some("script");

    fn outcome_shape() -> Shape {
        program::program_outcome_shape()
    }

    fn compile(node: ActionNode<'_, ScriptSpec>, compiler: &mut Compiler<'_>) -> Option<ScriptAction> {
        let is_imported = node.spec.is_imported;
        // Arguments become environment variables, so their names must differ from those of the system and of `env`.
        let declared = compiler.scope_shape.get("arguments").and_then(Shape::fields).filter(|_| !is_imported);
        let arguments: Vec<String> = declared.into_iter().flat_map(BTreeMap::keys).cloned().collect();
        check_argument_names(&arguments, &node, compiler);
        let options = ProgramOptions::compile(node.step, node.wants_json, compiler);
        let spec = &node.spec.value;
        let text = spec.text.as_ref().map(|text| compiler.resolve_text(text));
        if spec.shell.is_none() {
            compiler
                .error(Code::MissingKey, node.key, "missing key `shell` in `script`")
                .help("use one of `sh bash zsh pwsh python3 node`, or `{ command: [program, argument] }`");
        }
        if text.is_none() {
            compiler.error(Code::MissingKey, node.key, "missing key `text` in `script`");
        }
        let shell = spec.shell.as_ref().and_then(|shell| shell_command(shell, node.step, compiler));
        let text = text.flatten()?;
        if !is_imported {
            check_no_templates(&text, compiler)?;
        }
        check_script_length(&text, compiler)?;
        warn_of_carriage_returns(&text, spec.shell.as_ref(), compiler);
        let ((program, shell_options), options) = (shell?, options?);
        options.list_sandbox(Some(&program), node.key, compiler);
        let variables = arguments.into_iter().filter(|name| is_identifier(name)).collect();
        Some(ScriptAction { program, shell_options, text: text.value, variables, options })
    }

    fn has_side_effects(&self) -> bool {
        true
    }

    fn client_use(&self) -> ClientUse {
        self.options.client_use()
    }

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        let mut prepared = self.options.prepare(&self.program, context)?;
        prepared.command.is_script = true;
        prepared.command.is_named_by_manifest = true;
        for option in &self.shell_options {
            prepared.arg(option, None)?;
        }
        prepared.arg(&self.text, None)?;
        for name in &self.variables {
            let value = context.scope.get(&["arguments", name]).unwrap_or(&Value::Null);
            if let Some(value) = env_value(name, value)? {
                prepared.env(name, value, Some(name))?;
            }
        }
        self.options.run(prepared, &self.program, context).await
    }
}

/// The value of an argument as an environment variable; null is not set.
fn env_value(name: &str, value: &Value) -> Result<Option<String>, ActionError> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.contains('\0') {
        let words = format!("NUL character in `{name}`, which an environment variable must not contain");
        return Err(ActionError::BadArgument(words));
    }
    Ok(Some(text))
}

fn check_argument_names(arguments: &[String], node: &ActionNode<'_, ScriptSpec>, compiler: &mut Compiler<'_>) {
    for name in arguments {
        let at = compiler.arguments.locations.get(name).copied().unwrap_or(node.key);
        let capitals = !name.chars().any(|character| character.is_ascii_lowercase())
            && name.chars().any(|character| character.is_ascii_uppercase());
        if capitals || name.to_lowercase().ends_with("_proxy") {
            compiler
                .error(Code::BadName, at, format!("argument `{name}` would overwrite the system variable `{name}`"))
                .help("use lower case: arguments of a script are environment variables");
        } else if !is_identifier(name) {
            compiler
                .warning(
                    Code::Unused,
                    at,
                    format!("argument `{name}` is not visible to the script: not a valid variable name"),
                )
                .help("use letters, digits and `_`");
        } else if let Some((own, _)) = node.step.env.get_key_value(name.as_str()) {
            compiler
                .error(Code::Conflict, own.location, format!("duplicate variable `{name}`: it is also an argument"))
                .help("rename one of them");
        }
    }
}

fn check_no_templates(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<()> {
    let Some(at) = text.find("{{") else { return Some(()) };
    let end = text.get(at..).and_then(|rest| rest.find("}}")).map_or(at + 2, |length| at + length + 2);
    let name = text.get(at + 2..end.saturating_sub(2)).unwrap_or_default().trim();
    let span = compiler.span_within(text.location, at..end);
    let diagnostic =
        compiler.error(Code::Unsafe, span, "templates are not allowed in a script: a value could become code");
    if is_identifier(name) {
        diagnostic.help(format!("use the environment variable `{name}`: \"${name}\" in a shell"));
    } else {
        diagnostic.help("use the environment variables named after the arguments");
    }
    None
}

/// Warns of line ends of Windows, which a POSIX shell reads as part of its commands.
fn warn_of_carriage_returns(text: &Spanned<String>, shell: Option<&Spanned<Shell>>, compiler: &mut Compiler<'_>) {
    let shell = shell.map(|shell| &shell.value);
    if text.contains("\r\n") && matches!(shell, Some(Shell::Known(ShellName::Sh | ShellName::Bash | ShellName::Zsh))) {
        compiler
            .warning(
                Code::Encoding,
                text.location,
                "the lines of this script end in CRLF, which its shell does not understand",
            )
            .help("save it with LF line ends");
    }
}

/// Checks the length of the text, which is one argument of its shell.
fn check_script_length(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<()> {
    if text.len() < MAX_ARG_STRLEN {
        return Some(());
    }
    compiler
        .error(Code::TooLarge, text.location, format!("script too long: the limit is {} bytes", MAX_ARG_STRLEN - 1))
        .help("write it to a file of the pack, and run that with `exec`");
    None
}

fn shell_command(shell: &Spanned<Shell>, step: &Step, compiler: &mut Compiler<'_>) -> Option<(String, Vec<OsString>)> {
    let (program, options): (String, Vec<OsString>) = match &shell.value {
        Shell::Known(name) => {
            let (program, options) = name.command();
            (program.to_owned(), options.iter().map(OsString::from).collect())
        }
        Shell::Custom(own) => {
            let command = own.command.as_ref().map(|command| command.value.as_slice()).unwrap_or_default();
            let Some((program, options)) = command.split_first() else {
                compiler.error(Code::MissingKey, shell.location, "missing program in `command`");
                return None;
            };
            if let Some(element) = command.iter().find(|element| element.contains("{{")) {
                compiler
                    .error(Code::Unsafe, element.location, "templates are not allowed in the `command` of a script")
                    .help("use `exec` for a program with values in its arguments");
                return None;
            }
            (program.value.clone(), options.iter().map(|option| OsString::from(&option.value)).collect())
        }
    };
    warn_of_missing_program(&program, shell.location, step, compiler);
    Some((program, options))
}

impl ShellName {
    /// The program, and the arguments before the text.
    fn command(self) -> (&'static str, &'static [&'static str]) {
        match self {
            ShellName::Sh => ("sh", &["-c"]),
            ShellName::Bash => ("bash", &["-c"]),
            ShellName::Zsh => ("zsh", &["-c"]),
            ShellName::Pwsh => ("pwsh", &["-NoProfile", "-NonInteractive", "-Command"]),
            ShellName::Python3 => ("python3", &["-c"]),
            ShellName::Node => ("node", &["-e"]),
        }
    }
}
