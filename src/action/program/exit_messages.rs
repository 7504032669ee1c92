//! `onExit`: what to say about exit codes.

use crate::action::Step;
use crate::action::program::program_outcome_shape;
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::template::{Shape, Template, TextSlot};
use crate::yaml::Spanned;

/// The messages of `onExit`.
#[derive(Default)]
pub(super) struct ExitMessages {
    codes: Vec<(i32, Template<TextSlot>)>,
    /// For any other failure.
    default: Option<Template<TextSlot>>,
}

impl ExitMessages {
    /// Compiles `onExit`, whose templates see the outcome of the program.
    pub(super) fn compile(step: &Step, ok_exit: &[i32], compiler: &mut Compiler<'_>) -> Option<ExitMessages> {
        let Shape::Object(fields) = program_outcome_shape() else { return None };
        let names = compiler.scope_shape.clone();
        let names = fields.iter().fold(names, |names, (name, shape)| names.with_name(name.clone(), shape.clone()));
        compiler.with_scope_shape(names, |compiler| {
            let mut messages = ExitMessages::default();
            let mut sound = true;
            for (code, text) in &step.on_exit {
                let number = compile_code(code, ok_exit, compiler);
                let template = compiler.template(text, Exposure::Client);
                match (number, template) {
                    (Some(Some(number)), Some(template)) => messages.codes.push((number, template)),
                    (Some(None), Some(template)) => messages.default = Some(template),
                    _ => sound = false,
                }
            }
            sound.then_some(messages)
        })
    }

    /// The message for an exit code, or for the end by a signal, if one is written.
    pub(super) fn find(&self, exit: Option<i32>) -> Option<&Template<TextSlot>> {
        let exact = self.codes.iter().find(|(code, _)| Some(*code) == exit);
        exact.map(|(_, message)| message).or(self.default.as_ref())
    }
}

/// Reads an exit code; `Some(None)` for `default`. Reports anything else.
fn compile_code(text: &Spanned<String>, ok_exit: &[i32], compiler: &mut Compiler<'_>) -> Option<Option<i32>> {
    if text.value == "default" {
        return Some(None);
    }
    let at = text.location;
    let code = text.parse::<i32>().ok().filter(|code| (0..=255).contains(code));
    match code {
        None => {
            compiler
                .error(Code::BadValue, at, format!("invalid exit code `{}`", text.value))
                .help("use a number from 0 to 255, or `default`");
        }
        Some(code) if ok_exit.contains(&code) => {
            compiler
                .error(Code::Unused, at, format!("unused message: exit code {code} is not an error"))
                .help("remove it, or take the code out of `okExit`");
            return None;
        }
        Some(_) => {}
    }
    code.map(Some)
}
