//! Shells and interpreters.

use crate::action::code_injection::Language;
use crate::action::code_injection::syntax::{DEFAULT_SYNTAX, Operands, ProgramSyntax};

const SHELL_SYNTAX: ProgramSyntax = ProgramSyntax {
    language: Language::Shell,
    value_flags: "oO",
    value_options: &["rcfile", "init-file", "emulate"],
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
        code_flags: "cC",
        code_options: &["--command", "--commands", "--init-command"],
        value_flags: "do",
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
        code_flags: "c",
        value_flags: "WXm",
        value_options: &["check-hash-based-pycs"],
        final_flags: "cm",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["node", "nodejs", "bun", "tsx", "ts-node"],
        language: Language::Node,
        code_options: &["-e", "-p", "-pe", "--eval", "--print", "--import"],
        program_flags: "r",
        program_options: &["--require", "--loader", "--experimental-loader"],
        value_flags: "C",
        value_options: &["conditions", "env-file"],
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["deno"],
        language: Language::Node,
        operands: Operands::Subcommand(&["eval"]),
        code_options: &["-p", "--print"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["perl"],
        language: Language::Perl,
        code_flags: "eEmMF",
        value_flags: "I",
        attached_value_flags: "iCDVx",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["ruby", "jruby"],
        language: Language::Ruby,
        code_flags: "e",
        value_flags: "ICEr",
        attached_value_flags: "iFKTWx",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["php"],
        language: Language::Php,
        code_flags: "rBRE",
        code_options: &["--run", "--process-begin", "--process-code", "--process-end"],
        value_flags: "cdfFStz",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["lua", "luajit"],
        language: Language::Lua,
        code_flags: "e",
        value_flags: "l",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["rscript", "r"],
        language: Language::R,
        code_flags: "e",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["osascript"],
        language: Language::Other,
        code_flags: "e",
        value_flags: "l",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["tclsh", "expect"],
        language: Language::Other,
        code_flags: "c",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["awk", "gawk", "mawk", "nawk"],
        language: Language::Awk,
        code_flags: "e",
        code_options: &["--source"],
        program_flags: "fiEl",
        program_options: &["--file", "--include", "--exec", "--load"],
        value_flags: "Fvo",
        value_options: &["field-separator", "assign"],
        operands: Operands::Code,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["sed", "gsed", "ssed"],
        language: Language::Sed,
        code_flags: "e",
        code_options: &["--expression"],
        program_flags: "f",
        program_options: &["--file"],
        value_flags: "l",
        attached_value_flags: "i",
        value_options: &["line-length"],
        operands: Operands::Code,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["jq", "gojq", "jaq"],
        language: Language::Jq,
        value_flags: "fL",
        value_options: &["from-file", "indent", "library-path"],
        two_value_options: &["arg", "argjson", "slurpfile", "rawfile"],
        operands: Operands::Code,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["timeit"],
        language: Language::Python,
        code_flags: "s",
        code_options: &["--setup"],
        value_flags: "nru",
        value_options: &["number", "repeat", "unit"],
        operands: Operands::Joined(0),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["pdb"], language: Language::Python, code_flags: "c", ..DEFAULT_SYNTAX },
    ProgramSyntax { names: &["cprofile", "profile"], language: Language::Python, value_flags: "osm", ..DEFAULT_SYNTAX },
    ProgramSyntax {
        names: &["sqlite", "duckdb"],
        language: Language::Sql,
        code_options: &["-cmd", "--cmd", "-c"],
        operands: Operands::Joined(1),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["ed", "red"], language: Language::Other, operands: Operands::Stdin, ..DEFAULT_SYNTAX },
    ProgramSyntax {
        names: &["psql"],
        language: Language::Sql,
        code_flags: "c",
        code_options: &["--command"],
        program_flags: "foL",
        program_options: &["--file", "--output", "--log-file"],
        value_flags: "dhpUFPRTv",
        value_options: &["dbname", "host", "port", "username", "field-separator", "set", "variable"],
        operands: Operands::Stdin,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["mysql", "mariadb"],
        language: Language::Sql,
        code_flags: "e",
        code_options: &["--execute", "--init-command"],
        program_options: &["--plugin-dir", "--defaults-file", "--defaults-extra-file", "--pager", "--tee"],
        value_flags: "DhPSu",
        attached_value_flags: "p",
        value_options: &["database", "host", "port", "socket", "user"],
        operands: Operands::Stdin,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["julia", "elixir", "ghc", "raku", "crystal", "ocaml", "groovy", "scala", "iex", "dc", "octave"],
        language: Language::Other,
        code_flags: "eE",
        code_options: &["--eval", "--print", "--rpc-eval", "--expression"],
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["guile", "racket", "sbcl", "clojure", "clj", "bb", "erl", "swipl", "gnuplot"],
        language: Language::Other,
        code_flags: "ceg",
        code_options: &["--eval", "-eval"],
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["cmd"], language: Language::Other, operands: Operands::Joined(0), ..DEFAULT_SYNTAX },
];
