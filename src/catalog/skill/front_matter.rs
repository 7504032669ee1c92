//! Checks the front matter of a SKILL.md against the Agent Skills format.

use serde_json::Value;

use crate::catalog::listing::Object;
use crate::compile::Compiler;
use crate::diagnostic::{Code, Consequence, FileId, Reporting, Span};
use crate::yaml::{Location, find_misplaced_front_matter, parse_front_matter};

/// How many characters a name, a description and a note on compatibility may have.
const MAX_NAME_CHARS: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 1024;
const MAX_COMPATIBILITY_CHARS: usize = 500;

/// What a front matter is checked against.
pub(super) struct SkillRules<'a> {
    /// The name of its folder.
    pub(super) folder: &'a str,
    /// What becomes of an invalid skill.
    pub(super) effect: Consequence,
    /// Whether what is not YAML was reported before.
    pub(super) is_parsed: bool,
}

/// Parses and checks the front matter of a SKILL.md. `None` if the skill is invalid, with a warning.
pub(super) fn check_front_matter(file: FileId, rules: &SkillRules<'_>, compiler: &mut Compiler<'_>) -> Option<Object> {
    let effect = rules.effect;
    let report = &mut compiler.load_context.report;
    let (parsed, reported) = report.attempt(|report| parse_front_matter(file, report));
    if !rules.is_parsed {
        report.extend_as_warnings(reported, effect);
    }
    // What becomes of a skill is added to the warning that its front matter has as that of a prompt.
    if rules.is_parsed
        && let Some(warning) = compiler.load_context.report.warning_in(file, Code::Syntax)
    {
        warning.message = format!("{}, and {}", warning.message, effect.as_str());
        return None;
    }
    if rules.is_parsed && matches!(parsed, Some((None, _))) {
        compiler.warning(Code::Skill, Span::start_of(file), "front matter is not valid YAML").consequence(effect);
    }
    let Some((document, _)) = parsed else {
        let text = compiler.load_context.report.sources.get(file).map(|source| source.text().clone());
        let (message, help) = match text.and_then(|text| find_misplaced_front_matter(&text)) {
            Some(found) => (found.message, found.help),
            None => ("missing front matter", "start with `---`, `name: …`, `description: …`, `---`, a line each"),
        };
        compiler.warning(Code::Skill, Span::start_of(file), message).consequence(effect).help(help);
        return None;
    };
    let at = compiler.load_context.documents.add(document?);
    let Value::Object(front_matter) = compiler.load_context.documents.json(at) else {
        let message = "invalid type for front matter, expected a map";
        compiler.warning(Code::Skill, at, message).consequence(effect);
        return None;
    };
    let mut check = FrontMatterCheck { front_matter: &front_matter, at, compiler, effect, is_valid: true };
    check.check_name(rules.folder);
    check.check_description();
    check.check_optional_keys();
    check.is_valid.then_some(front_matter)
}

struct FrontMatterCheck<'a, 'c> {
    front_matter: &'a Object,
    at: Location,
    compiler: &'a mut Compiler<'c>,
    effect: Consequence,
    is_valid: bool,
}

impl FrontMatterCheck<'_, '_> {
    fn check_name(&mut self, folder: &str) {
        match self.text("name") {
            None => self.warn_invalid("name", "missing key `name`", "write the name of its folder"),
            Some(name) if !is_skill_name(name) => {
                let message = format!("invalid skill name `{name}`");
                self.warn_invalid(
                    "name",
                    &message,
                    "use 1 to 64 of `a-z`, `0-9` and single `-`, with no `-` at either end",
                );
            }
            Some(name) if name != folder => {
                let message = format!("skill name `{name}` does not match folder `{folder}`");
                self.warn_invalid("name", &message, "use the same name for both");
            }
            Some(_) => {}
        }
    }

    fn check_description(&mut self) {
        let help = "describe what it does and when to use it, in 1 to 1024 characters";
        match self.text("description") {
            None => self.warn_invalid("description", "missing key `description`", help),
            Some(text) if text.trim().is_empty() => self.warn_invalid("description", "empty `description`", help),
            Some(text) if text.chars().count() > MAX_DESCRIPTION_CHARS => {
                let message = format!("`description` is too long: {} characters", text.chars().count());
                self.warn_invalid("description", &message, help);
            }
            Some(_) => {}
        }
    }

    fn check_optional_keys(&mut self) {
        if self.front_matter.get("license").is_some_and(|license| !license.is_string()) {
            self.warn_invalid(
                "license",
                "invalid type for `license`, expected a string",
                "write the name of a license, or of a file of the skill",
            );
        }
        let fits = |text: &str| (1..=MAX_COMPATIBILITY_CHARS).contains(&text.chars().count());
        if self.front_matter.get("compatibility").is_some_and(|note| !note.as_str().is_some_and(fits)) {
            let message = "invalid `compatibility`, expected a string of 1 to 500 characters";
            self.warn_invalid("compatibility", message, "describe what the skill needs in a sentence");
        }
        if self.front_matter.get("metadata").is_some_and(|metadata| !metadata.is_object()) {
            self.warn_invalid(
                "metadata",
                "invalid type for `metadata`, expected a map",
                "write strings under keys of your own",
            );
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.front_matter.get(key)?.as_str()
    }

    fn warn_invalid(&mut self, key: &str, message: &str, help: &str) {
        self.is_valid = false;
        let place = self.compiler.load_context.documents.value_at(self.at, &format!("/{key}"));
        self.compiler.warning(Code::Skill, place, message).consequence(self.effect).help(help);
    }
}

fn is_skill_name(name: &str) -> bool {
    let is_allowed = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-';
    let hyphens = name.starts_with('-') || name.ends_with('-') || name.contains("--");
    !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.chars().all(is_allowed) && !hyphens
}
