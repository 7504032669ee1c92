//! The programs that are known to run code from their arguments, and those that start another program.

use super::Language;

/// How a program reads its arguments.
pub(super) struct Row {
    /// What it is called, without the version.
    pub(super) names: &'static [&'static str],
    /// What its code is written in.
    pub(super) language: Language,
    /// Letters of short options that take code.
    pub(super) code: &'static str,
    /// Names of options that take code: with `--` as they may be shortened, else the whole word.
    pub(super) code_names: &'static [&'static str],
    /// Letters of short options that take something else.
    pub(super) operand: &'static str,
    /// Letters of short options that take the rest of their word.
    pub(super) attached: &'static str,
    /// Names of long options that take something else.
    pub(super) operand_names: &'static [&'static str],
    /// Names of long options that take two words.
    pub(super) pair_names: &'static [&'static str],
    /// Letters of short options behind which no option comes.
    pub(super) last: &'static str,
    /// What the words are that are no options.
    pub(super) operands: Operands,
}

/// What a program makes of the words that are no options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// Options may stand behind them.
    Mixed,
    /// A script's file, then what it is given; without one, code is read from stdin.
    File,
    /// A script's file, or code where `c` is among the options, then what it is given.
    Shell,
    /// Code, unless an option has given it.
    Code,
    /// So many words, and behind them code: all the rest, joined.
    Joined(usize),
    /// Code behind one of these words.
    Subcommand(&'static [&'static str]),
    /// So many words, and behind them another program. Words with `=` before it are variables.
    Program(usize),
    /// Another program, fed with words from stdin.
    Fed,
    /// Another program behind options such as `-exec`, up to `;`.
    Embedded(&'static [&'static str]),
    /// Another program anywhere.
    Anywhere,
    /// As PowerShell reads them.
    PowerShell,
}

const NONE: Row = Row {
    names: &[],
    language: Language::Command,
    code: "",
    code_names: &[],
    operand: "",
    attached: "",
    operand_names: &[],
    pair_names: &[],
    last: "",
    operands: Operands::Mixed,
};

const SHELL: Row = Row {
    language: Language::Shell,
    operand: "oO",
    operand_names: &["rcfile", "init-file", "emulate"],
    operands: Operands::Shell,
    ..NONE
};

/// A program that starts another one.
const PREFIX: Row = Row { operands: Operands::Program(0), ..NONE };

pub(super) const TABLE: &[Row] = &[
    Row { names: &["sh", "bash", "zsh", "dash", "ash", "ksh", "mksh", "yash", "rbash", "csh", "tcsh"], ..SHELL },
    Row {
        names: &["fish", "nu", "elvish", "xonsh"],
        language: Language::Shell,
        code: "cC",
        code_names: &["--command", "--commands", "--init-command"],
        operand: "do",
        operands: Operands::File,
        ..NONE
    },
    Row { names: &["pwsh", "powershell"], language: Language::PowerShell, operands: Operands::PowerShell, ..NONE },
    Row {
        names: &["python", "pypy", "micropython"],
        language: Language::Python,
        code: "c",
        operand: "WXm",
        operand_names: &["check-hash-based-pycs"],
        last: "cm",
        operands: Operands::File,
        ..NONE
    },
    Row {
        names: &["node", "nodejs", "bun", "tsx", "ts-node"],
        language: Language::Node,
        code_names: &["-e", "-p", "-pe", "--eval", "--print", "--import"],
        operand: "rC",
        operand_names: &["require", "conditions", "loader", "env-file"],
        operands: Operands::File,
        ..NONE
    },
    Row {
        names: &["deno"],
        language: Language::Node,
        operands: Operands::Subcommand(&["eval"]),
        code_names: &["-p", "--print"],
        ..NONE
    },
    Row {
        names: &["perl"],
        language: Language::Perl,
        code: "eEmMF",
        operand: "I",
        attached: "iCdDVx",
        operands: Operands::File,
        ..NONE
    },
    Row {
        names: &["ruby", "jruby"],
        language: Language::Ruby,
        code: "e",
        operand: "ICEr",
        attached: "iFKTWx",
        operands: Operands::File,
        ..NONE
    },
    Row {
        names: &["php"],
        language: Language::Php,
        code: "rBRE",
        code_names: &["--run", "--process-begin", "--process-code", "--process-end"],
        operand: "cdfFStz",
        operands: Operands::File,
        ..NONE
    },
    Row {
        names: &["lua", "luajit"],
        language: Language::Lua,
        code: "e",
        operand: "l",
        operands: Operands::File,
        ..NONE
    },
    Row { names: &["rscript", "r"], language: Language::R, code: "e", operands: Operands::File, ..NONE },
    Row { names: &["osascript"], language: Language::Other, code: "e", operand: "l", operands: Operands::File, ..NONE },
    Row { names: &["tclsh", "expect"], language: Language::Other, code: "c", operands: Operands::File, ..NONE },
    Row {
        names: &["awk", "gawk", "mawk", "nawk"],
        language: Language::Awk,
        code: "e",
        code_names: &["--source"],
        operand: "FvfiElo",
        operand_names: &["field-separator", "assign", "file", "include", "exec", "load"],
        operands: Operands::Code,
        ..NONE
    },
    Row {
        names: &["sed", "gsed", "ssed"],
        language: Language::Sed,
        code: "e",
        code_names: &["--expression"],
        operand: "fl",
        attached: "i",
        operand_names: &["file", "line-length"],
        operands: Operands::Code,
        ..NONE
    },
    Row {
        names: &["jq", "gojq", "jaq"],
        language: Language::Jq,
        operand: "fL",
        operand_names: &["from-file", "indent", "library-path"],
        pair_names: &["arg", "argjson", "slurpfile", "rawfile"],
        operands: Operands::Code,
        ..NONE
    },
    Row {
        names: &["ssh"],
        language: Language::Remote,
        operand: "BbcDEeFIiJLlmOoPpQRSWw",
        operands: Operands::Joined(1),
        ..NONE
    },
    Row {
        names: &["watch"],
        language: Language::Shell,
        operand: "nq",
        operand_names: &["interval", "equexit"],
        operands: Operands::Joined(0),
        ..NONE
    },
    Row { names: &["eval"], language: Language::Shell, operands: Operands::Joined(0), ..NONE },
    Row { names: &["parallel"], language: Language::Shell, operand: "jIdnNLa", operands: Operands::Joined(0), ..NONE },
    Row {
        names: &["su"],
        language: Language::Shell,
        code: "c",
        code_names: &["--command", "--session-command"],
        operand: "gGsw",
        ..NONE
    },
    Row {
        names: &["script"],
        language: Language::Shell,
        code: "c",
        code_names: &["--command"],
        operand: "BEIOTm",
        ..NONE
    },
    Row {
        names: &["tar", "gtar", "bsdtar"],
        language: Language::Shell,
        code: "IF",
        code_names: &[
            "--to-command",
            "--use-compress-program",
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
        ],
        operand: "fCTXbgHKLNV",
        ..NONE
    },
    Row {
        names: &["rsync"],
        language: Language::Shell,
        code: "e",
        code_names: &["--rsh", "--rsync-path"],
        operand: "fBTM",
        ..NONE
    },
    Row {
        names: &["xargs", "gxargs"],
        operand: "adEILnPsJRS",
        attached: "eil",
        operand_names: &[
            "arg-file",
            "delimiter",
            "max-args",
            "max-chars",
            "max-procs",
            "max-lines",
            "process-slot-var",
        ],
        operands: Operands::Fed,
        ..NONE
    },
    Row {
        names: &["find", "gfind", "bfs"],
        operands: Operands::Embedded(&["-exec", "-execdir", "-ok", "-okdir"]),
        ..NONE
    },
    Row { names: &["fd", "fdfind"], operands: Operands::Embedded(&["-x", "-X", "--exec", "--exec-batch"]), ..NONE },
    Row {
        names: &["env", "genv"],
        code: "S",
        code_names: &["--split-string"],
        operand: "uC",
        operand_names: &["unset", "chdir"],
        ..PREFIX
    },
    Row {
        names: &["sudo"],
        operand: "CDghpRrtTUu",
        operand_names: &[
            "user",
            "group",
            "chdir",
            "chroot",
            "host",
            "prompt",
            "role",
            "type",
            "close-from",
            "command-timeout",
        ],
        ..PREFIX
    },
    Row { names: &["doas"], operand: "Cu", ..PREFIX },
    Row {
        names: &["timeout", "gtimeout"],
        operand: "ks",
        operand_names: &["kill-after", "signal"],
        operands: Operands::Program(1),
        ..NONE
    },
    Row { names: &["nice", "gnice"], operand: "n", operand_names: &["adjustment"], ..PREFIX },
    Row { names: &["nohup", "setsid", "busybox", "toybox", "fakeroot", "unbuffer", "caffeinate"], ..PREFIX },
    Row { names: &["stdbuf", "gstdbuf"], operand: "ioe", operand_names: &["input", "output", "error"], ..PREFIX },
    Row { names: &["time", "gtime"], operand: "fo", operand_names: &["format", "output"], ..PREFIX },
    Row { names: &["ionice"], operand: "cnpPu", operand_names: &["class", "classdata"], ..PREFIX },
    Row { names: &["chroot"], operands: Operands::Program(1), operand_names: &["userspec", "groups"], ..NONE },
    Row { names: &["taskset"], operands: Operands::Program(1), ..NONE },
    Row { names: &["chrt"], operand: "DPT", operands: Operands::Program(1), ..NONE },
    Row { names: &["unshare"], operand: "GRSw", operand_names: &["setuid", "setgid", "root", "wd"], ..PREFIX },
    Row { names: &["strace", "ltrace"], operand: "abeEIoOpPsSuX", ..PREFIX },
    Row {
        names: &["flock"],
        operand: "wE",
        operand_names: &["timeout", "wait", "conflict-exit-code"],
        operands: Operands::Program(1),
        ..NONE
    },
    // What stands behind the file of `flock` may be `-c` and code.
    Row { names: &["-c", "--command"], language: Language::Shell, operands: Operands::Joined(0), ..NONE },
    Row {
        names: &[
            "docker",
            "podman",
            "nerdctl",
            "kubectl",
            "oc",
            "nsenter",
            "systemd-run",
            "runuser",
            "setpriv",
            "bwrap",
            "firejail",
            "prlimit",
            "numactl",
            "xvfb-run",
            "dbus-run-session",
            "uv",
            "poetry",
            "pipenv",
            "conda",
            "npx",
            "bundle",
            "direnv",
            "op",
            "aws-vault",
            "lxc-attach",
            "lxc",
            "machinectl",
            "vagrant",
            "gosu",
            "su-exec",
            "tini",
        ],
        operands: Operands::Anywhere,
        ..NONE
    },
];

/// The row of a program, by its name or path.
pub(super) fn row(program: &str) -> Option<&'static Row> {
    let name = program.rsplit('/').next()?.to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.').trim_end_matches('-');
    let plain = if plain.is_empty() { name } else { plain };
    TABLE.iter().find(|row| row.names.contains(&plain) || row.names.contains(&name))
}
