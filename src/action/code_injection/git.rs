//! What git and its subcommands run from their options.

use super::Language;
use super::scan::VALUE_MARKER;
use super::syntax::{DEFAULT_SYNTAX, Operands, ProgramSyntax};

/// The settings by which git runs code.
const GIT_CODE_SETTINGS: &[&str] = &[
    "alias.", "pager.", "include.", "includeif.", "core.sshcommand", "core.editor", "core.pager", "core.askpass",
    "core.fsmonitor", "core.gitproxy", "core.hookspath", "sequence.editor", "diff.external", ".helper", ".program",
    ".command", ".cmd", ".textconv", ".driver", ".clean", ".smudge", ".process", ".uploadpack", ".receivepack",
    ".packobjectshook",
];

/// Git itself.
pub(super) const GIT: ProgramSyntax = ProgramSyntax {
    names: &["git"],
    language: Language::Command,
    program_options: &["--exec-path", "--config-env"],
    value_flags: "Cc",
    value_options: &["git-dir", "work-tree", "namespace"],
    setting_flags: "c",
    code_settings: GIT_CODE_SETTINGS,
    operands: Operands::Subcommand(&[]),
    subcommands: GIT_SUBCOMMANDS,
    ..DEFAULT_SYNTAX
};

const GIT_SYNTAX: ProgramSyntax = ProgramSyntax { language: Language::Command, ..DEFAULT_SYNTAX };

/// A subcommand that is told which program to run on the other side.
const TRANSFER_SYNTAX: ProgramSyntax =
    ProgramSyntax { program_options: &["--upload-pack", "--receive-pack", "--exec"], value_flags: "joX", ..GIT_SYNTAX };

/// The subcommands with options that run code, or take settings or hooks.
const GIT_SUBCOMMANDS: &[ProgramSyntax] = &[
    ProgramSyntax {
        names: &["fetch", "pull", "push", "ls-remote", "fetch-pack", "send-pack", "archive", "http-push", "remote-ext"],
        ..TRANSFER_SYNTAX
    },
    ProgramSyntax {
        names: &["clone"],
        program_flags: "u",
        program_options: &["--upload-pack", "--template"],
        value_flags: "objc",
        setting_flags: "c",
        setting_options: &["config"],
        code_settings: GIT_CODE_SETTINGS,
        ..GIT_SYNTAX
    },
    ProgramSyntax { names: &["init"], program_options: &["--template"], value_flags: "b", ..GIT_SYNTAX },
    ProgramSyntax {
        names: &["grep"],
        program_flags: "O",
        program_options: &["--open-files-in-pager"],
        value_flags: "efmABC",
        ..GIT_SYNTAX
    },
    ProgramSyntax {
        names: &["rebase"],
        language: Language::Shell,
        code_flags: "x",
        code_options: &["--exec"],
        value_flags: "CsX",
        ..GIT_SYNTAX
    },
    ProgramSyntax {
        names: &["difftool"],
        program_flags: "x",
        program_options: &["--extcmd"],
        value_flags: "t",
        ..GIT_SYNTAX
    },
    ProgramSyntax {
        names: &["filter-branch"],
        language: Language::Shell,
        code_options: &[
            "--setup", "--env-filter", "--tree-filter", "--index-filter", "--parent-filter", "--msg-filter",
            "--commit-filter", "--tag-name-filter",
        ],
        value_flags: "d",
        ..GIT_SYNTAX
    },
    ProgramSyntax {
        names: &["send-email"],
        program_options: &["--sendmail-cmd", "--smtp-server", "--to-cmd", "--cc-cmd", "--header-cmd"],
        ..GIT_SYNTAX
    },
    ProgramSyntax { names: &["shell"], language: Language::Shell, code_flags: "c", ..GIT_SYNTAX },
    ProgramSyntax { names: &["daemon"], program_options: &["--access-hook"], ..GIT_SYNTAX },
    ProgramSyntax {
        names: &["instaweb"],
        program_flags: "dbm",
        program_options: &["--httpd", "--browser", "--module-path"],
        ..GIT_SYNTAX
    },
    ProgramSyntax {
        names: &["submodule"],
        language: Language::Shell,
        value_flags: "bj",
        operands: Operands::Subcommand(&["foreach"]),
        ..GIT_SYNTAX
    },
    ProgramSyntax { names: &["bisect"], operands: Operands::Subcommand(&["run"]), ..GIT_SYNTAX },
];

/// The word of `git config WORDS` that could make git run code: a name that a value chooses, or what such a setting
/// is set to.
pub(super) fn config_code_word(words: &[&str]) -> Option<usize> {
    const OPTIONS_WITH_OPERAND: &[&str] = &["-f", "--file", "--type", "--blob", "--default", "--comment"];
    let text = |at: usize| words.get(at).copied().unwrap_or_default();
    let is_operand = |at: usize| at > 0 && OPTIONS_WITH_OPERAND.contains(&text(at - 1));
    let mut names = (0..words.len()).filter(|&at| !text(at).starts_with('-') && !is_operand(at));
    let first = names.next()?;
    let reads = |word: &str| ["get", "list", "unset"].iter().any(|verb| word.trim_start_matches('-').starts_with(verb));
    if reads(text(first)) || words.iter().any(|word| word.starts_with("--") && reads(word)) {
        return None;
    }
    let name = if matches!(text(first), "set" | "edit") { names.next()? } else { first };
    let value = names.next();
    if text(name).contains(VALUE_MARKER) {
        return Some(name);
    }
    value.filter(|_| GIT.is_code_setting(text(name)))
}
