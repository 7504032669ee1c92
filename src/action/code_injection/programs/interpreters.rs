//! Shells and interpreters.

use crate::action::code_injection::Language;
use crate::action::code_injection::syntax::{DEFAULT_SYNTAX, Operands, ProgramSyntax};

const SHELL_SYNTAX: ProgramSyntax = ProgramSyntax {
    language: Language::Shell,
    operand_letters: "oO",
    operand_names: &["rcfile", "init-file", "emulate"],
    operands: Operands::Shell,
    ..DEFAULT_SYNTAX
};

/// Programs that are there to run code.
pub(super) const INTERPRETERS: &[ProgramSyntax] = &[
    ProgramSyntax {
        names: &[
            "sh", "bash", "zsh", "dash", "ash", "ksh", "mksh", "yash", "rbash", "csh", "tcsh", "osh", "ysh", "oksh",
            "posh", "hush",
        ],
        ..SHELL_SYNTAX
    },
    ProgramSyntax {
        names: &["fish", "nu", "elvish", "xonsh"],
        language: Language::Shell,
        code_letters: "cC",
        code_names: &["--command", "--commands", "--init-command"],
        operand_letters: "do",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["pwsh", "powershell"],
        language: Language::PowerShell,
        operands: Operands::PowerShell,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["python", "pypy", "micropython", "ipython", "bpython", "ptpython", "graalpy"],
        language: Language::Python,
        code_letters: "c",
        operand_letters: "WXm",
        operand_names: &["check-hash-based-pycs"],
        last_letters: "cm",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["node", "nodejs", "bun", "tsx", "ts-node"],
        language: Language::Node,
        code_names: &["-e", "-p", "-pe", "--eval", "--print", "--import"],
        program_letters: "r",
        program_names: &["--require", "--loader", "--experimental-loader"],
        operand_letters: "C",
        operand_names: &["conditions", "env-file"],
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["deno"],
        language: Language::Node,
        operands: Operands::Subcommand(&["eval"]),
        code_names: &["-p", "--print"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["perl"],
        language: Language::Perl,
        code_letters: "eEmMF",
        operand_letters: "I",
        attached_letters: "iCDVx",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["ruby", "jruby"],
        language: Language::Ruby,
        code_letters: "e",
        operand_letters: "ICEr",
        attached_letters: "iFKTWx",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["php"],
        language: Language::Php,
        code_letters: "rBRE",
        code_names: &["--run", "--process-begin", "--process-code", "--process-end"],
        operand_letters: "cdfFStz",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["lua", "luajit"],
        language: Language::Lua,
        code_letters: "e",
        operand_letters: "l",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["rscript", "r"],
        language: Language::R,
        code_letters: "e",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["osascript"],
        language: Language::Other,
        code_letters: "e",
        operand_letters: "l",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["tclsh", "expect"],
        language: Language::Other,
        code_letters: "c",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["awk", "gawk", "mawk", "nawk"],
        language: Language::Awk,
        code_letters: "e",
        code_names: &["--source"],
        program_letters: "fiEl",
        program_names: &["--file", "--include", "--exec", "--load"],
        operand_letters: "Fvo",
        operand_names: &["field-separator", "assign"],
        operands: Operands::Code,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["sed", "gsed", "ssed"],
        language: Language::Sed,
        code_letters: "e",
        code_names: &["--expression"],
        program_letters: "f",
        program_names: &["--file"],
        operand_letters: "l",
        attached_letters: "i",
        operand_names: &["line-length"],
        operands: Operands::Code,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["jq", "gojq", "jaq"],
        language: Language::Jq,
        operand_letters: "fL",
        operand_names: &["from-file", "indent", "library-path"],
        pair_names: &["arg", "argjson", "slurpfile", "rawfile"],
        operands: Operands::Code,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["timeit"],
        language: Language::Python,
        code_letters: "s",
        code_names: &["--setup"],
        operand_letters: "nru",
        operand_names: &["number", "repeat", "unit"],
        operands: Operands::Joined(0),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["pdb"], language: Language::Python, code_letters: "c", ..DEFAULT_SYNTAX },
    ProgramSyntax {
        names: &["cprofile", "profile"],
        language: Language::Python,
        operand_letters: "osm",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["sqlite", "duckdb"],
        language: Language::Sql,
        code_names: &["-cmd", "--cmd", "-c"],
        operands: Operands::Joined(1),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["ed", "red"], language: Language::Other, operands: Operands::Stdin, ..DEFAULT_SYNTAX },
    ProgramSyntax {
        names: &["psql"],
        language: Language::Sql,
        code_letters: "c",
        code_names: &["--command"],
        program_letters: "foL",
        program_names: &["--file", "--output", "--log-file"],
        operand_letters: "dhpUFPRTv",
        operand_names: &["dbname", "host", "port", "username", "field-separator", "set", "variable"],
        operands: Operands::Stdin,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["mysql", "mariadb"],
        language: Language::Sql,
        code_letters: "e",
        code_names: &["--execute", "--init-command"],
        program_names: &["--plugin-dir", "--defaults-file", "--defaults-extra-file", "--pager", "--tee"],
        operand_letters: "DhPSu",
        attached_letters: "p",
        operand_names: &["database", "host", "port", "socket", "user"],
        operands: Operands::Stdin,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["julia", "elixir", "ghc", "raku", "crystal", "ocaml", "groovy", "scala", "iex", "dc", "octave"],
        language: Language::Other,
        code_letters: "eE",
        code_names: &["--eval", "--print", "--rpc-eval", "--expression"],
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["guile", "racket", "sbcl", "clojure", "clj", "bb", "erl", "swipl", "gnuplot"],
        language: Language::Other,
        code_letters: "ceg",
        code_names: &["--eval", "-eval"],
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["cmd"], language: Language::Other, operands: Operands::Joined(0), ..DEFAULT_SYNTAX },
];
