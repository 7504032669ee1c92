//! Steps that prompts of other programs take: their commands, and the files that they name.

use super::file::FileSpec;
use super::on_fail::OnFail;
use super::script::{ScriptSpec, Shell, ShellName};
use super::{Run, Step};
use crate::value_types::TextOrFile;
use crate::yaml::{Location, Spanned};

/// The run of a prompt of another program.
pub struct ForeignRunBuilder {
    at: Location,
    steps: Vec<Spanned<Step>>,
}

impl ForeignRunBuilder {
    /// No steps yet, of the prompt at this place.
    pub fn new(at: Location) -> ForeignRunBuilder {
        ForeignRunBuilder { at, steps: Vec::new() }
    }

    /// Adds a script, which runs in `cwd`; the pack's folder is the default. It must not fail.
    pub fn add_script(&mut self, id: &str, text: &str, cwd: &str) {
        let script = ScriptSpec {
            shell: Some(self.spanned(Shell::Known(ShellName::Bash))),
            text: Some(self.spanned(TextOrFile::Text(text.to_owned()))),
            is_foreign: true,
        };
        let cwd = Some(self.spanned(cwd.to_owned()));
        self.add(id, Step { script: Some(self.spanned(script)), cwd, ..Step::default() });
    }

    /// Adds a file to read, whose path is an argument. A file that cannot be read is no failure.
    pub fn add_read(&mut self, id: &str, argument: &str, folder: &str) {
        let file = FileSpec {
            read: Some(self.spanned(format!("{{{{{argument}}}}}"))),
            folder: Some(self.spanned(folder.to_owned())),
            ..FileSpec::default()
        };
        let on_fail = Some(self.spanned(OnFail::Continue));
        self.add(id, Step { file: Some(self.spanned(file)), on_fail, ..Step::default() });
    }

    /// All its steps.
    pub fn into_run(self) -> Run {
        Run::Steps(self.steps)
    }

    fn add(&mut self, id: &str, step: Step) {
        let step = Step { id: Some(self.spanned(id.to_owned())), ..step };
        self.steps.push(self.spanned(step));
    }

    fn spanned<T>(&self, value: T) -> Spanned<T> {
        Spanned::new(value, self.at)
    }
}
