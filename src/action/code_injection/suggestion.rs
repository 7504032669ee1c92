//! Suggests a safe replacement for code with a template value in it.

use super::programs::syntax_of;
use super::scan::{ArgRole, CodeFinding};
use super::syntax::Operands;
use super::{ArgvItem, Language, TemplateValue};
use crate::template::{OutputPiece, output_pieces};
use crate::value_types::is_identifier;

/// The programs that `script.shell` knows by name, and the option before their code.
const SCRIPT_SHELLS: &[(&str, &str)] =
    &[("sh", "-c"), ("bash", "-c"), ("zsh", "-c"), ("pwsh", "-Command"), ("python3", "-c"), ("node", "-e")];

/// Programs that hand on no environment, or another one.
const ENV_RESETTING_PROGRAMS: &[&str] = &["sudo", "doas", "su", "env", "ssh", "systemd-run", "lxc-attach"];

/// How code reads a value: the variable that holds it, and the template that fills that.
struct VariableName<'a> {
    name: &'a str,
    template: String,
    is_argument: bool,
}

impl<'a> VariableName<'a> {
    /// `None` for a value that is computed, or that no variable can be called after.
    fn from_value(value: &'a TemplateValue) -> Option<VariableName<'a>> {
        let name = value.path.last().filter(|name| is_identifier(name))?;
        Some(VariableName { name, template: value.path.join("."), is_argument: value.argument().is_some() })
    }

    /// Where a variable of that name comes from in a script.
    fn script(&self) -> String {
        match self.is_argument {
            true => "write it as a `script`".to_owned(),
            false => format!("write it as a `script` with `env: {{ {}: \"{{{{{}}}}}\" }}`", self.name, self.template),
        }
    }
}

/// What to write instead: the script itself where that is plain to see.
pub(super) fn suggest(finding: &CodeFinding, argv: &[ArgvItem], value: &TemplateValue) -> String {
    let language = finding.syntax.language;
    let by_language = || suggest_by_language(language, VariableName::from_value(value).as_ref());
    match finding.role {
        ArgRole::Program => "name the program".to_owned(),
        ArgRole::Option if argv.get(finding.word).is_some_and(|item| item.word.may_start_with_dash) => {
            "put `--` before it, or remove `allowDash`".to_owned()
        }
        ArgRole::Option => "put `--` before it".to_owned(),
        ArgRole::PipedFile => "redirect the file in a `script` (`< \"$NAME\"`), or use `sed` or `awk`".to_owned(),
        ArgRole::Setting(_) | ArgRole::ProgramOption(_) => "write its value here, or take it from `env`".to_owned(),
        ArgRole::Code(_) if language == Language::Unknown => suggest_for_unknown(finding, argv),
        ArgRole::Code(from) => suggest_script(finding, argv, from).unwrap_or_else(by_language),
        ArgRole::Stdin => by_language(),
    }
}

/// What to write instead of code with values in stdin.
pub(super) fn suggest_for_stdin(language: Language) -> String {
    suggest_by_language(language, None)
}

/// How a program that is not known would get its code.
fn suggest_for_unknown(finding: &CodeFinding, argv: &[ArgvItem]) -> String {
    let before = argv.get(..finding.word).unwrap_or_default();
    let attached = argv.get(finding.word).and_then(|item| item.source.split_once('='));
    let attached = attached.filter(|_| finding.role.start() > 0).map(|(option, _)| option).unwrap_or_default();
    let literal = before.iter().all(|item| !item.source.contains("{{"));
    let shell = if literal { script_shell(before, attached) } else { "{ command: [PROGRAM, OPTION] }".to_owned() };
    format!(
        "if it does, write it as a `script` with `shell: {shell}`, where arguments are environment variables; else \
         make the value an element of its own"
    )
}

/// How values reach code that is written in a language, in words.
fn suggest_by_language(language: Language, variable: Option<&VariableName<'_>>) -> String {
    match (language, variable) {
        (Language::Sed, _) => "use a `script` in another language, where values are environment variables".to_owned(),
        (Language::Command, _) => "write each word as a separate element".to_owned(),
        (Language::Sql, _) => "use the parameters of the program, or of a library for the database".to_owned(),
        (Language::Other | Language::Unknown, _) => "pass the value as an argument after the code".to_owned(),
        (Language::Remote, None) => {
            "quote it in a `script` with `shell: bash`, by `printf %q`, before `ssh` gets it".to_owned()
        }
        (Language::Awk, None) => "pass it with `env`, and read it from `ENVIRON`".to_owned(),
        (Language::Jq, None) => {
            "pass it with `--arg, NAME, VALUE` before the filter, and write `$NAME` there".to_owned()
        }
        (_, None) => {
            "write it as a `script`, where arguments, and the `env` beside it, are environment variables".to_owned()
        }
        (_, Some(variable)) => suggest_variable(language, variable),
    }
}

fn suggest_variable(language: Language, variable: &VariableName<'_>) -> String {
    let (name, template) = (variable.name, format!("{{{{{}}}}}", variable.template));
    match language {
        Language::Shell => format!(
            "{}, where the value is \"${name}\", or pass the value after the code, as \"$1\": \
             `-c 'TEXT' sh \"{template}\"`",
            variable.script()
        ),
        Language::Remote => {
            format!("quote it in a `script` with `shell: bash`: `ssh HOST COMMAND \"$(printf %q \"${name}\")\"`")
        }
        Language::Awk => {
            format!("pass it with `env: {{ {name}: \"{template}\" }}`, and read `ENVIRON[\"{name}\"]`")
        }
        Language::Jq => format!("write `${name}` there, and `--arg, {name}, \"{template}\"` before the filter"),
        _ => format!("{}, where the value is `{}`", variable.script(), variable_expression(language, name)),
    }
}

/// An expression that reads an environment variable.
fn variable_expression(language: Language, name: &str) -> String {
    match language {
        Language::PowerShell => format!("$env:{name}"),
        Language::Python => format!("os.environ[\"{name}\"]"),
        Language::Node => format!("process.env.{name}"),
        Language::Perl => format!("$ENV{{{name}}}"),
        Language::Ruby => format!("ENV[\"{name}\"]"),
        Language::Php => format!("getenv(\"{name}\")"),
        Language::Lua => format!("os.getenv(\"{name}\")"),
        Language::R => format!("Sys.getenv(\"{name}\")"),
        _ => format!("\"${name}\""),
    }
}

/// The script that does the same, where the code is the last element and its values are arguments.
fn suggest_script(finding: &CodeFinding, argv: &[ArgvItem], from: usize) -> Option<String> {
    let (code, before) = argv.get(..=finding.word)?.split_last()?;
    let takes_script = !matches!(
        finding.syntax.language,
        Language::Remote
            | Language::Awk
            | Language::Sed
            | Language::Jq
            | Language::Command
            | Language::Other
            | Language::Sql
            | Language::Unknown
    );
    let last =
        finding.word + 1 == argv.len() && !matches!(finding.syntax.operands, Operands::Joined(_) | Operands::Mixed);
    let literal = before.iter().all(|item| item.values.is_empty() && !item.source.contains("{{"));
    let handed_on = before.iter().take(finding.program).all(|item| {
        let base = item.source.rsplit('/').next().unwrap_or_default();
        !ENV_RESETTING_PROGRAMS.contains(&base)
            && syntax_of(base).is_none_or(|syntax| syntax.operands != Operands::Anywhere)
    });
    if !(takes_script && last && literal && handed_on) {
        return None;
    }
    let text = rewrite_code(finding.syntax.language, &code.source, from)?;
    let text: Vec<String> = text.lines().map(|line| format!("      {line}")).collect();
    let shell = script_shell(before, code.source.get(..from)?);
    let head = "a script gets values as environment variables:\n  script:\n    shell: ";
    Some(format!("{head}{shell}\n    text: |\n{}", text.join("\n")))
}

/// The `shell` of a script whose text comes behind these elements.
fn script_shell(before: &[ArgvItem], attached: &str) -> String {
    let mut words: Vec<&str> = before.iter().map(|item| item.source.as_str()).collect();
    words.extend(Some(attached).filter(|attached| !attached.is_empty()));
    if let [program, option] = words.as_slice()
        && SCRIPT_SHELLS.contains(&(program, option))
    {
        return (*program).to_owned();
    }
    let plain =
        |word: &&str| word.chars().all(|character| character.is_ascii_alphanumeric() || "-_./=:+".contains(character));
    let numeric = |word: &&str| word.parse::<f64>().is_ok();
    let quoted: Vec<String> =
        words
            .iter()
            .map(|word| {
                if plain(word) && !numeric(word) {
                    (*word).to_owned()
                } else {
                    format!("'{}'", word.replace('\'', "''"))
                }
            })
            .collect();
    format!("{{ command: [{}] }}", quoted.join(", "))
}

/// The code with environment variables in the place of values. `None` where that takes more than putting them there.
fn rewrite_code(language: Language, source: &str, from: usize) -> Option<String> {
    if ["{{#", "{{>", "\\{{"].iter().any(|tag| source.contains(tag)) {
        return None;
    }
    let (mut code, mut quotes) = (String::new(), QuoteState::default());
    for piece in output_pieces(source.get(from..)?) {
        match piece {
            OutputPiece::Text(text) => push_text(&mut code, &mut quotes, text)?,
            OutputPiece::Value(range, path) => {
                let value = TemplateValue { position: 0, range, path };
                let name = value.argument().filter(|name| is_identifier(name))?;
                match language {
                    Language::Shell => code.push_str(&quotes.shell_variable(name)),
                    _ => push_expression(&mut code, &mut quotes, &variable_expression(language, name))?,
                }
            }
            OutputPiece::Constant(_) | OutputPiece::Computed(_) => return None,
        }
    }
    if code.contains(CLOSING_QUOTE_MARKER) {
        return None;
    }
    let imports = language == Language::Python && !code.contains("import os");
    Some(if imports { format!("import os\n{code}") } else { code })
}

/// Puts text behind the code, less the quote that closes around an expression.
fn push_text(code: &mut String, quotes: &mut QuoteState, text: &str) -> Option<()> {
    let mut text = text;
    if code.ends_with(CLOSING_QUOTE_MARKER) {
        code.pop();
        text = text.strip_prefix(['"', '\''])?;
    }
    quotes.read(text);
    code.push_str(text);
    Some(())
}

/// Stands behind an expression whose opening quote was taken away, until the closing one is.
const CLOSING_QUOTE_MARKER: char = '\u{1}';

/// Puts an expression in the place of a value, with the quotes that stand right around it.
fn push_expression(code: &mut String, quotes: &mut QuoteState, expression: &str) -> Option<()> {
    let Some(quote) = quotes.open.take() else {
        code.push_str(expression);
        return Some(());
    };
    code.strip_suffix(quote)?;
    code.pop();
    code.push_str(expression);
    code.push(CLOSING_QUOTE_MARKER);
    Some(())
}

/// Which quotes are open.
#[derive(Default)]
struct QuoteState {
    open: Option<char>,
}

impl QuoteState {
    fn read(&mut self, text: &str) {
        let mut letters = text.chars();
        while let Some(character) = letters.next() {
            match (self.open, character) {
                (None | Some('"'), '\\') => drop(letters.next()),
                (None, '"' | '\'') => self.open = Some(character),
                (Some(open), character) if open == character => self.open = None,
                _ => {}
            }
        }
    }

    /// A variable as a shell reads it here, as one word.
    fn shell_variable(&self, name: &str) -> String {
        match self.open {
            None => format!("\"${name}\""),
            Some('"') => format!("${{{name}}}"),
            Some(_) => format!("'\"${name}\"'"),
        }
    }
}
