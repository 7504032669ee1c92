//! `script`: text for a shell, which is never templated; values arrive as environment variables.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::arg_max::MAX_STRING;
use super::exec::warn_if_missing;
use super::process::{self, Setting};
use super::{Act, Doing, Failure, Outcome, Written};
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::notation::{TextOrFile, by_kind, is_identifier};
use crate::template::Shape;
use crate::yaml::Spanned;

/// A script and what runs it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Script")]
pub struct Spec {
    /// What runs it: `sh bash zsh pwsh python3 node`, or `{ command: [program, arg, …] }`, which gets the text as its last argument.
    #[schemars(with = "Shell", extend("x-required" = true))]
    pub shell: Option<Spanned<Shell>>,
    /// The script. Arguments are environment variables of their own names; `{{` is refused.
    #[schemars(with = "TextOrFile", extend("x-required" = true))]
    pub text: Option<Spanned<TextOrFile>>,
}

by_kind! {
    /// The name of a shell, or a command of your own.
    pub enum Shell {
        "text" => Known(ShellName),
        "map" => Own(OwnShell),
    }
}

/// A shell that folio knows how to call.
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
pub struct OwnShell {
    /// The program and its arguments; the script's text is given as the last one.
    #[schemars(with = "Vec<String>", extend("x-required" = true))]
    pub command: Option<Spanned<Vec<Spanned<String>>>>,
}

/// A script and its shell.
pub struct Script {
    program: String,
    /// The elements before the text.
    options: Vec<OsString>,
    text: String,
    setting: Setting,
}

impl Act for Script {
    type Spec = Spec;
    const BESIDE: &'static [&'static str] = process::BESIDE;
    const GRANT: Option<&'static str> = Some("script");

    fn outcome() -> Shape {
        process::shape()
    }

    fn compile(written: Written<'_, Spec>, compiler: &mut Compiler<'_>) -> Option<Script> {
        refuse_names(&written, compiler);
        let setting = Setting::compile(written.beside, written.wants_json, compiler);
        let spec = &written.spec.value;
        let text = spec.text.as_ref().map(|text| compiler.text(text));
        if spec.shell.is_none() {
            compiler
                .error(Code::MissingKey, written.key, "`script` needs a `shell`")
                .help("one of `sh bash zsh pwsh python3 node`, or `{ command: [program, argument] }`");
        }
        if text.is_none() {
            compiler.error(Code::MissingKey, written.key, "`script` needs a `text`");
        }
        let shell = spec.shell.as_ref().and_then(|shell| shell_command(shell, compiler));
        let text = text.flatten()?;
        refuse_templates(&text, compiler)?;
        refuse_length(&text, compiler)?;
        let (program, options) = shell?;
        Some(Script { program, options, text: text.value, setting: setting? })
    }

    fn changes(&self) -> bool {
        true
    }

    async fn act(&self, doing: &Doing<'_>) -> Result<Outcome, Failure> {
        let mut prepared = self.setting.prepare(&self.program, doing)?;
        for option in &self.options {
            prepared.arg(option, None)?;
        }
        prepared.arg(&self.text, None)?;
        for (name, value) in doing.scope.arguments().into_iter().flatten().filter(|(name, _)| is_identifier(name)) {
            if let Some(value) = variable(name, value)? {
                prepared.variable(name, value, Some(name))?;
            }
        }
        let finished = prepared.run(doing).await?;
        let size = finished.stdout.bytes.len() + finished.stderr.bytes.len();
        let outcome = || self.setting.outcome(&self.program, finished, doing.max_output);
        doing.scope.budget().run_sized(size, outcome)?
    }
}

/// An argument as an environment variable; an absent one is not set.
fn variable(name: &str, value: &Value) -> Result<Option<String>, Failure> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.contains('\0') {
        return Err(Failure::Nul { argument: name.to_owned() });
    }
    Ok(Some(text))
}

/// Values arrive as environment variables, so no argument may have the name of one that the system reads, or that the
/// manifest itself sets.
fn refuse_names(written: &Written<'_, Spec>, compiler: &mut Compiler<'_>) {
    let Some(Shape::Object(arguments)) = compiler.names.get("arguments").cloned() else { return };
    for name in arguments.keys() {
        let at = compiler.declared.get(name).copied().unwrap_or(written.key);
        let capitals = !name.chars().any(|letter| letter.is_ascii_lowercase())
            && name.chars().any(|letter| letter.is_ascii_uppercase());
        if capitals || name.to_lowercase().ends_with("_proxy") {
            compiler
                .error(
                    Code::BadName,
                    at,
                    format!("the argument `{name}` would be the system's variable `{name}` in this script"),
                )
                .help("arguments of a script are environment variables: use small letters");
        } else if !is_identifier(name) {
            compiler
                .warning(Code::Unused, at, format!("`{name}` is no name of a variable, so this script cannot see it"))
                .help("use letters, digits and `_`");
        } else if let Some((own, _)) = written.beside.env.get_key_value(name.as_str()) {
            compiler
                .error(Code::Conflict, own.at, format!("`{name}` is also an argument, and arrives under that name"))
                .help("rename one of them");
        }
    }
}

fn refuse_templates(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<()> {
    let Some(at) = text.find("{{") else { return Some(()) };
    let end = text.get(at..).and_then(|rest| rest.find("}}")).map_or(at + 2, |length| at + length + 2);
    let name = text.get(at + 2..end.saturating_sub(2)).unwrap_or_default().trim();
    let span = compiler.span_within(text.at, at..end);
    let fault = compiler.error(Code::Unsafe, span, "a script is never templated: a value could become code");
    if is_identifier(name) {
        fault.help(format!("the value is the environment variable `{name}`: write \"${name}\" in a shell"));
    } else {
        fault.help("values are environment variables of the arguments' names");
    }
    None
}

/// The text is one argument of its shell.
fn refuse_length(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<()> {
    if text.len() < MAX_STRING {
        return Some(());
    }
    compiler
        .error(Code::TooLarge, text.at, format!("a script may have at most {} bytes", MAX_STRING - 1))
        .help("make it a file of the pack, and run that with `exec`");
    None
}

fn shell_command(shell: &Spanned<Shell>, compiler: &mut Compiler<'_>) -> Option<(String, Vec<OsString>)> {
    let (program, options): (String, Vec<OsString>) = match &shell.value {
        Shell::Known(name) => {
            let (program, options) = name.call();
            (program.to_owned(), options.iter().map(OsString::from).collect())
        }
        Shell::Own(own) => {
            let command = own.command.as_ref().map(|command| command.value.as_slice()).unwrap_or_default();
            let Some((program, options)) = command.split_first() else {
                compiler.error(Code::MissingKey, shell.at, "`command` needs a program");
                return None;
            };
            if let Some(element) = command.iter().find(|element| element.contains("{{")) {
                compiler
                    .error(Code::Unsafe, element.at, "the `command` of a script is never templated")
                    .help("use `exec` for a program with values in its arguments");
                return None;
            }
            (program.value.clone(), options.iter().map(|option| OsString::from(&option.value)).collect())
        }
    };
    warn_if_missing(&program, shell.at, compiler);
    Some((program, options))
}

impl ShellName {
    /// The program, and what stands before the text.
    fn call(self) -> (&'static str, &'static [&'static str]) {
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
