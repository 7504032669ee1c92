//! The steps of a prompt of another program: its commands, and the files that it names.

use super::on_fail::OnFail;
use crate::action::file::FileSpec;
use crate::action::program::script::{ScriptSpec, Shell, ShellName};
use crate::action::set::SetSpec;
use crate::action::{Run, Step};
use crate::value_types::{Json, NamedMap, Scalar, TextOrFile};
use crate::yaml::{Location, Spanned};

/// The run of a prompt of another program.
#[derive(Default)]
pub struct ImportedRunBuilder(Vec<Spanned<Step>>);

impl ImportedRunBuilder {
    /// Adds a command that runs in `cwd` with the values of `env`, which are templates, and must not fail. Returns the
    /// expression for what it prints.
    pub fn add_command(&mut self, text: &str, env: &[(String, String)], cwd: &str, at: Location) -> String {
        let spanned = |text: &str| Spanned::new(text.to_owned(), at);
        let script = ScriptSpec {
            shell: Some(Spanned::new(Shell::Known(ShellName::Bash), at)),
            text: Some(Spanned::new(TextOrFile::Text(text.to_owned()), at)),
            is_imported: true,
        };
        let variable = |(name, value): &(String, String)| (spanned(name), Spanned::new(Scalar(value.clone()), at));
        let env: NamedMap<_> = env.iter().map(variable).collect();
        let step = Step { script: Some(Spanned::new(script, at)), cwd: Some(spanned(cwd)), env, ..Step::default() };
        format!("steps.{}.stdout", self.add("command", step, at))
    }

    /// Adds a file of `folder` to read, whose path is a template. Returns the expression for its text, and for the template
    /// `otherwise` where it cannot be read.
    pub fn add_file(&mut self, path: &str, otherwise: &str, folder: &str, at: Location) -> String {
        let spanned = |text: String| Spanned::new(text, at);
        // As a whole the path is a value, which is confined to its folder when the file is opened.
        let path = self.add("path", set_value(path, at), at);
        let file = FileSpec {
            read: Some(spanned(format!("{{{{steps.{path}.value}}}}"))),
            folder: Some(spanned(folder.to_owned())),
            ..FileSpec::default()
        };
        let on_fail = Some(Spanned::new(OnFail::Continue, at));
        let file = self.add("file", Step { file: Some(Spanned::new(file, at)), on_fail, ..Step::default() }, at);
        let is_unread = Some(spanned(format!("{{{{eq steps.{file}.text null}}}}")));
        let otherwise = self.add("otherwise", Step { when: is_unread, ..set_value(otherwise, at) }, at);
        format!("default steps.{file}.text steps.{otherwise}.value")
    }

    /// All its steps; `None` without any.
    pub fn into_run(self) -> Option<Run> {
        (!self.0.is_empty()).then_some(Run::Steps(self.0))
    }

    /// Adds a step, and returns its id.
    fn add(&mut self, kind: &str, step: Step, at: Location) -> String {
        let id = format!("{kind}_{}", self.0.len());
        self.0.push(Spanned::new(Step { id: Some(Spanned::new(id.clone(), at)), ..step }, at));
        id
    }
}

/// A step with a `value`, which is a template.
fn set_value(template: &str, at: Location) -> Step {
    let value = (Spanned::new("value".to_owned(), at), Spanned::new(Json(template.into()), at));
    Step { set: Some(Spanned::new(SetSpec(NamedMap::from_iter([value])), at)), ..Step::default() }
}
