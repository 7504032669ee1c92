//! `command` of a variable: a program that prints its value. It is run elsewhere, as a load runs nothing.

use std::collections::BTreeMap;

use crate::compile::LoadContext;
use crate::diagnostic::Code;
use crate::value_types::Scalar;
use crate::yaml::Spanned;

/// What the commands of variables printed, or why they failed, by their arguments. Those that did not run are absent.
#[derive(Clone, Default)]
pub struct CommandOutputs(BTreeMap<Vec<String>, Result<String, String>>);

impl CommandOutputs {
    /// Whether a command has run.
    pub fn contains(&self, command: &[String]) -> bool {
        self.0.contains_key(command)
    }

    /// Sets what a command printed, or why it failed.
    pub fn insert(&mut self, command: Vec<String>, output: Result<String, String>) {
        self.0.insert(command, output);
    }

    /// Forgets all others.
    pub fn retain(&mut self, commands: &[Vec<String>]) {
        self.0.retain(|command, _| commands.contains(command));
    }
}

/// The value that the command of a variable printed, if it has run.
pub(super) fn command_value(
    name: &str,
    command: &Spanned<Vec<Spanned<Scalar>>>,
    outputs: &CommandOutputs,
    load_context: &mut LoadContext,
) -> Option<String> {
    let arguments: Vec<String> = command.value.iter().map(|element| element.value.0.clone()).collect();
    if arguments.first().is_none_or(|program| program.is_empty()) {
        load_context
            .error(Code::MissingKey, command.location, "missing program in `command`")
            .help("write `command: [program, argument, …]`");
        return None;
    }
    let output = outputs.0.get(&arguments).cloned();
    load_context.commands.push(arguments);
    match output? {
        Ok(value) => Some(value),
        Err(reason) => {
            let message = format!("command of `{name}` failed: {reason}");
            load_context.error(Code::UnsetVariable, command.location, message);
            None
        }
    }
}
