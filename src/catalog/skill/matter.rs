//! The front matter of a SKILL.md, held against the rules of the Agent Skills format.

use serde_json::Value;

use crate::catalog::face::Object;
use crate::compile::Compiler;
use crate::diagnostic::{Code, FileId, Span};
use crate::yaml::{At, parse_front_matter};

/// How many characters a name, a description and a note on compatibility may have.
const NAME: usize = 64;
const DESCRIPTION: usize = 1024;
const COMPATIBILITY: usize = 500;

/// The front matter of the SKILL.md of a folder, whole and as it was written. `None` where the skill breaks a rule, of
/// which the author is warned.
pub(super) fn front_matter(file: FileId, folder: &str, compiler: &mut Compiler<'_>) -> Option<Object> {
    let before = compiler.findings.report.diagnostics().len();
    let parsed = parse_front_matter(file, &mut compiler.findings.report);
    compiler.findings.report.warn_from(before, "the skill is left out");
    let Some((document, _)) = parsed else {
        compiler
            .warning(Code::Skill, Span::start_of(file), "a SKILL.md begins with front matter: the skill is left out")
            .help("begin with `---`, `name:`, `description:`, `---`, a line each");
        return None;
    };
    let at = compiler.findings.documents.add(document?);
    let Value::Object(matter) = compiler.findings.documents.json(at) else {
        compiler.warning(Code::Skill, at, "the front matter is no map: the skill is left out");
        return None;
    };
    let mut checking = Checking { matter: &matter, at, compiler, fine: true };
    checking.name(folder);
    checking.description();
    checking.others();
    checking.fine.then_some(matter)
}

struct Checking<'a, 'c> {
    matter: &'a Object,
    at: At,
    compiler: &'a mut Compiler<'c>,
    fine: bool,
}

impl Checking<'_, '_> {
    fn name(&mut self, folder: &str) {
        match self.text("name") {
            None => self.wrong("name", "a SKILL.md says its `name`", "the name of its folder"),
            Some(name) if !is_name(name) => {
                let words = format!("`{name}` is no name of a skill");
                self.wrong("name", &words, "use 1 to 64 of `a-z`, `0-9` and single `-`, none of them at an end");
            }
            Some(name) if name != folder => {
                let words = format!("the skill is called `{name}`, and its folder `{folder}`");
                self.wrong("name", &words, "call both the same");
            }
            Some(_) => {}
        }
    }

    fn description(&mut self) {
        let help = "say what it does and when to use it, in 1 to 1024 characters";
        match self.text("description") {
            None => self.wrong("description", "a SKILL.md says its `description`", help),
            Some(text) if text.trim().is_empty() => self.wrong("description", "the `description` says nothing", help),
            Some(text) if text.chars().count() > DESCRIPTION => {
                let words = format!("the `description` has {} characters", text.chars().count());
                self.wrong("description", &words, help);
            }
            Some(_) => {}
        }
    }

    fn others(&mut self) {
        if self.matter.get("license").is_some_and(|license| !license.is_string()) {
            self.wrong("license", "`license` is no text", "the name of a licence, or of a file of the skill");
        }
        let fits = |text: &str| (1..=COMPATIBILITY).contains(&text.chars().count());
        if self.matter.get("compatibility").is_some_and(|note| !note.as_str().is_some_and(fits)) {
            let words = "`compatibility` is a text of 1 to 500 characters";
            self.wrong("compatibility", words, "what the skill needs around it, in a sentence");
        }
        if self.matter.get("metadata").is_some_and(|metadata| !metadata.is_object()) {
            self.wrong("metadata", "`metadata` is no map", "texts by keys of your own");
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.matter.get(key)?.as_str()
    }

    fn wrong(&mut self, key: &str, words: &str, help: &str) {
        self.fine = false;
        let place = self.compiler.findings.documents.value_at(self.at, &format!("/{key}"));
        self.compiler.warning(Code::Skill, place, format!("{words}: the skill is left out")).help(help);
    }
}

fn is_name(name: &str) -> bool {
    let fine = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let hyphens = name.starts_with('-') || name.ends_with('-') || name.contains("--");
    !name.is_empty() && name.len() <= NAME && name.chars().all(fine) && !hyphens
}
