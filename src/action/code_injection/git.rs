//! What git and its subcommands run from their options.

use super::Language;
use super::programs::{DEFAULT_SYNTAX, Operands, ProgramSyntax};

/// The settings by which git runs code.
pub(super) const GIT_CODE_SETTINGS: &[&str] = &[
    "alias.",
    "pager.",
    "include.",
    "includeif.",
    "core.sshcommand",
    "core.editor",
    "core.pager",
    "core.askpass",
    "core.fsmonitor",
    "core.gitproxy",
    "core.hookspath",
    "sequence.editor",
    "diff.external",
    ".helper",
    ".program",
    ".command",
    ".cmd",
    ".textconv",
    ".driver",
    ".clean",
    ".smudge",
    ".process",
    ".uploadpack",
    ".receivepack",
    ".packobjectshook",
];

const GIT_SYNTAX: ProgramSyntax = ProgramSyntax { language: Language::Command, ..DEFAULT_SYNTAX };

/// A subcommand that is told which program to run on the other side.
const TRANSFER_SYNTAX: ProgramSyntax = ProgramSyntax {
    program_names: &["--upload-pack", "--receive-pack", "--exec"],
    operand_letters: "joX",
    ..GIT_SYNTAX
};

/// The subcommands with options that run code, or take settings or hooks.
pub(super) const GIT_SUBCOMMANDS: &[ProgramSyntax] = &[
    ProgramSyntax {
        names: &["fetch", "pull", "push", "ls-remote", "fetch-pack", "send-pack", "archive", "http-push", "remote-ext"],
        ..TRANSFER_SYNTAX
    },
    ProgramSyntax {
        names: &["clone"],
        program_letters: "u",
        program_names: &["--upload-pack", "--template"],
        operand_letters: "objc",
        setting_letters: "c",
        setting_names: &["config"],
        code_settings: GIT_CODE_SETTINGS,
        ..GIT_SYNTAX
    },
    ProgramSyntax { names: &["init"], program_names: &["--template"], operand_letters: "b", ..GIT_SYNTAX },
    ProgramSyntax {
        names: &["grep"],
        program_letters: "O",
        program_names: &["--open-files-in-pager"],
        operand_letters: "efmABC",
        ..GIT_SYNTAX
    },
    ProgramSyntax {
        names: &["rebase"],
        language: Language::Shell,
        code_letters: "x",
        code_names: &["--exec"],
        operand_letters: "CsX",
        ..GIT_SYNTAX
    },
    ProgramSyntax {
        names: &["difftool"],
        program_letters: "x",
        program_names: &["--extcmd"],
        operand_letters: "t",
        ..GIT_SYNTAX
    },
    ProgramSyntax {
        names: &["filter-branch"],
        language: Language::Shell,
        code_names: &[
            "--setup",
            "--env-filter",
            "--tree-filter",
            "--index-filter",
            "--parent-filter",
            "--msg-filter",
            "--commit-filter",
            "--tag-name-filter",
        ],
        operand_letters: "d",
        ..GIT_SYNTAX
    },
    ProgramSyntax {
        names: &["send-email"],
        program_names: &["--sendmail-cmd", "--smtp-server", "--to-cmd", "--cc-cmd", "--header-cmd"],
        ..GIT_SYNTAX
    },
    ProgramSyntax { names: &["shell"], language: Language::Shell, code_letters: "c", ..GIT_SYNTAX },
    ProgramSyntax { names: &["daemon"], program_names: &["--access-hook"], ..GIT_SYNTAX },
    ProgramSyntax {
        names: &["instaweb"],
        program_letters: "dbm",
        program_names: &["--httpd", "--browser", "--module-path"],
        ..GIT_SYNTAX
    },
    ProgramSyntax {
        names: &["submodule"],
        language: Language::Shell,
        operand_letters: "bj",
        operands: Operands::Subcommand(&["foreach"]),
        ..GIT_SYNTAX
    },
    ProgramSyntax { names: &["bisect"], operands: Operands::Subcommand(&["run"]), ..GIT_SYNTAX },
];
