//! Programs that run code by one of their options.

use crate::action::code_injection::Language;
use crate::action::code_injection::git::GIT;
use crate::action::code_injection::syntax::{DEFAULT_SYNTAX, Operands, ProgramSyntax};

/// Programs with options that run code, or name a program to run.
pub(super) const TOOLS: &[ProgramSyntax] = &[
    GIT,
    ProgramSyntax {
        names: &["gcc", "g++", "cc", "c++", "clang", "clang++"],
        program_names: &["-wrapper", "-specs", "-fplugin"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["vim", "vi", "nvim", "view", "ex", "gvim", "vimdiff"],
        language: Language::Other,
        code_letters: "c",
        code_names: &["--cmd", "+"],
        program_letters: "uUS",
        operand_letters: "iTwW",
        operands: Operands::Stdin,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["emacs", "emacsclient"],
        language: Language::Other,
        code_letters: "e",
        code_names: &["--eval", "-eval", "--execute", "-execute"],
        program_letters: "l",
        program_names: &["--load", "-load", "--script", "--funcall"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["gdb"],
        language: Language::Other,
        code_names: &["-ex", "--ex", "-eval-command", "--eval-command", "-iex", "--init-eval-command"],
        program_names: &["-x", "-command", "--command", "-ix", "--init-command"],
        operands: Operands::Stdin,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["lldb"],
        language: Language::Other,
        code_letters: "oOk",
        code_names: &["--one-line", "--one-line-before-file", "--one-line-on-crash"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["tar", "gtar", "bsdtar"],
        language: Language::Shell,
        code_letters: "IF",
        code_names: &[
            "--to-command",
            "--use-compress-program",
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
        ],
        operand_letters: "fCTXbgHKLNV",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["rsync"],
        language: Language::Shell,
        code_letters: "e",
        code_names: &["--rsh", "--rsync-path"],
        program_letters: "M",
        program_names: &["--remote-option"],
        operand_letters: "fBT",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["curl"],
        program_letters: "K",
        program_names: &["--config", "--engine"],
        operand_letters: "AbcCdDeEFhHmoPQrtTuUwxXyYz",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["wget"],
        program_letters: "e",
        program_names: &["--execute", "--config", "--use-askpass"],
        operand_letters: "oaBitOTwQPUlARDIX",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["rg"],
        program_names: &["--pre", "--hostname-bin"],
        operand_letters: "efgtTmABCjMrdE",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["ag", "ack", "ugrep", "bat", "batcat", "delta"],
        program_names: &["--pager", "--filter"],
        operand_letters: "efgtmABCjMNOl",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["man"],
        program_letters: "PC",
        program_names: &["--pager", "--html", "--config-file"],
        operand_letters: "LmMsSeRErp",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["less"],
        language: Language::Other,
        code_names: &["+"],
        program_letters: "k",
        program_names: &["--lesskey-file", "--lesskey-src", "--lesskey-content"],
        operand_letters: "bhjoOpPtTxyzD",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["make", "gmake"],
        language: Language::Shell,
        code_letters: "E",
        code_names: &["--eval"],
        program_letters: "f",
        program_names: &["--file", "--makefile"],
        operand_letters: "CIoW",
        attached_letters: "jlO",
        operands: Operands::Variables,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["cargo"], program_names: &["--config"], operand_letters: "CFjpZ", ..DEFAULT_SYNTAX },
    ProgramSyntax {
        names: &["go"],
        program_names: &["-exec", "-toolexec", "-vettool", "-overlay", "-modfile"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["sort", "gsort"],
        program_names: &["--compress-program"],
        operand_letters: "kSTto",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["split", "gsplit"],
        language: Language::Shell,
        code_names: &["--filter"],
        operand_letters: "abClnt",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["zip"],
        program_names: &["-TT", "--unzip-command"],
        operand_letters: "bnPtx",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["hg"],
        language: Language::Shell,
        code_letters: "e",
        code_names: &["--ssh"],
        program_names: &["--config", "--remotecmd"],
        operand_letters: "RmurdIXbtlNUo",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["svn"],
        program_names: &["--config-option", "--config-dir", "--diff-cmd", "--diff3-cmd", "--editor-cmd"],
        operand_letters: "rmFcx",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["helm"],
        program_names: &["--post-renderer", "--kubeconfig"],
        operand_letters: "fno",
        ..DEFAULT_SYNTAX
    },
];
