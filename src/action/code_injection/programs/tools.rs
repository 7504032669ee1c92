//! Programs that run code by one of their options.

use crate::action::code_injection::Language;
use crate::action::code_injection::git::GIT;
use crate::action::code_injection::syntax::{DEFAULT_SYNTAX, Operands, ProgramSyntax};

/// Programs with options that run code, or name a program to run.
pub(super) const TOOLS: &[ProgramSyntax] = &[
    GIT,
    ProgramSyntax {
        names: &["gcc", "g++", "cc", "c++", "clang", "clang++"],
        program_options: &["-wrapper", "-specs", "-fplugin"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["vim", "vi", "nvim", "view", "ex", "gvim", "vimdiff"],
        language: Language::Other,
        code_flags: "c",
        code_options: &["--cmd", "+"],
        program_flags: "uUS",
        value_flags: "iTwW",
        operands: Operands::Stdin,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["emacs", "emacsclient"],
        language: Language::Other,
        code_flags: "e",
        code_options: &["--eval", "-eval", "--execute", "-execute"],
        program_flags: "l",
        program_options: &["--load", "-load", "--script", "--funcall"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["gdb"],
        language: Language::Other,
        code_options: &["-ex", "--ex", "-eval-command", "--eval-command", "-iex", "--init-eval-command"],
        program_options: &["-x", "-command", "--command", "-ix", "--init-command"],
        operands: Operands::Stdin,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["lldb"],
        language: Language::Other,
        code_flags: "oOk",
        code_options: &["--one-line", "--one-line-before-file", "--one-line-on-crash"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["tar", "gtar", "bsdtar"],
        language: Language::Shell,
        code_flags: "IF",
        code_options: &[
            "--to-command", "--use-compress-program", "--checkpoint-action", "--info-script", "--new-volume-script",
            "--rsh-command", "--rmt-command",
        ],
        value_flags: "fCTXbgHKLNV",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["rsync"],
        language: Language::Shell,
        code_flags: "e",
        code_options: &["--rsh", "--rsync-path"],
        program_flags: "M",
        program_options: &["--remote-option"],
        value_flags: "fBT",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["curl"],
        program_flags: "K",
        program_options: &["--config", "--engine"],
        value_flags: "AbcCdDeEFhHmoPQrtTuUwxXyYz",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["wget"],
        program_flags: "e",
        program_options: &["--execute", "--config", "--use-askpass"],
        value_flags: "oaBitOTwQPUlARDIX",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["rg"],
        program_options: &["--pre", "--hostname-bin"],
        value_flags: "efgtTmABCjMrdE",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["ag", "ack", "ugrep", "bat", "batcat", "delta"],
        program_options: &["--pager", "--filter"],
        value_flags: "efgtmABCjMNOl",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["man"],
        program_flags: "PC",
        program_options: &["--pager", "--html", "--config-file"],
        value_flags: "LmMsSeRErp",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["less"],
        language: Language::Other,
        code_options: &["+"],
        program_flags: "k",
        program_options: &["--lesskey-file", "--lesskey-src", "--lesskey-content"],
        value_flags: "bhjoOpPtTxyzD",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["make", "gmake"],
        language: Language::Shell,
        code_flags: "E",
        code_options: &["--eval"],
        program_flags: "f",
        program_options: &["--file", "--makefile"],
        value_flags: "CIoW",
        attached_value_flags: "jlO",
        operands: Operands::Variables,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["cargo"], program_options: &["--config"], value_flags: "CFjpZ", ..DEFAULT_SYNTAX },
    ProgramSyntax {
        names: &["go"],
        program_options: &["-exec", "-toolexec", "-vettool", "-overlay", "-modfile"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["sort", "gsort"],
        program_options: &["--compress-program"],
        value_flags: "kSTto",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["split", "gsplit"],
        language: Language::Shell,
        code_options: &["--filter"],
        value_flags: "abClnt",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["zip"],
        program_options: &["-TT", "--unzip-command"],
        value_flags: "bnPtx",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["hg"],
        language: Language::Shell,
        code_flags: "e",
        code_options: &["--ssh"],
        program_options: &["--config", "--remotecmd"],
        value_flags: "RmurdIXbtlNUo",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["svn"],
        program_options: &["--config-option", "--config-dir", "--diff-cmd", "--diff3-cmd", "--editor-cmd"],
        value_flags: "rmFcx",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["helm"],
        program_options: &["--post-renderer", "--kubeconfig"],
        value_flags: "fno",
        ..DEFAULT_SYNTAX
    },
];
