//! The programs that run code from their arguments, and those that start another program.

use super::Language;
use super::git::{GIT_CODE_SETTINGS, GIT_SUBCOMMANDS};

/// How a program reads its arguments.
pub(super) struct ProgramSyntax {
    /// What it is called, without the version.
    pub(super) names: &'static [&'static str],
    /// What its code is written in.
    pub(super) language: Language,
    /// Letters of short options that take code.
    pub(super) code_letters: &'static str,
    /// Names of options that take code: with `--` as they may be shortened, else the whole word.
    pub(super) code_names: &'static [&'static str],
    /// Letters of short options that name a program to run, or a file of code or settings to read.
    pub(super) program_letters: &'static str,
    /// Names of such options: with `--` as they may be shortened, else the whole word.
    pub(super) program_names: &'static [&'static str],
    /// Letters of short options that take something else.
    pub(super) operand_letters: &'static str,
    /// Letters of short options that take the rest of their word.
    pub(super) attached_letters: &'static str,
    /// Names of long options that take something else.
    pub(super) operand_names: &'static [&'static str],
    /// Names of long options that take two words.
    pub(super) pair_names: &'static [&'static str],
    /// Letters of short options behind which no option comes.
    pub(super) last_letters: &'static str,
    /// Letters of short options that take `NAME=VALUE`; they are among `operand_letters`.
    pub(super) setting_letters: &'static str,
    /// Names of long options that take `NAME=VALUE`.
    pub(super) setting_names: &'static [&'static str],
    /// Names of settings that are code, in lower case: `x.` is any that begins so, `.x` any that ends so.
    pub(super) code_settings: &'static [&'static str],
    /// What the words are that are no options.
    pub(super) operands: Operands,
    /// How subcommands read theirs, where that differs from the program.
    pub(super) subcommands: &'static [ProgramSyntax],
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
    Xargs,
    /// Another program behind options such as `-exec`, up to `;`.
    Embedded(&'static [&'static str]),
    /// Another program anywhere, or an option that takes code before it.
    Anywhere,
    /// As PowerShell reads them.
    PowerShell,
}

impl ProgramSyntax {
    /// Whether it runs code of its arguments or of a file.
    pub(super) fn is_interpreter(&self) -> bool {
        let languages = [Language::Python, Language::Perl, Language::Ruby, Language::Node, Language::Php];
        self.operands == Operands::Shell || self.operands == Operands::File && languages.contains(&self.language)
    }
}

pub(super) const DEFAULT_SYNTAX: ProgramSyntax = ProgramSyntax {
    names: &[],
    language: Language::Command,
    code_letters: "",
    code_names: &[],
    program_letters: "",
    program_names: &[],
    operand_letters: "",
    attached_letters: "",
    operand_names: &[],
    pair_names: &[],
    last_letters: "",
    setting_letters: "",
    setting_names: &[],
    code_settings: &[],
    operands: Operands::Mixed,
    subcommands: &[],
};

const SHELL_SYNTAX: ProgramSyntax = ProgramSyntax {
    language: Language::Shell,
    operand_letters: "oO",
    operand_names: &["rcfile", "init-file", "emulate"],
    operands: Operands::Shell,
    ..DEFAULT_SYNTAX
};

/// A program that starts another one.
const WRAPPER_SYNTAX: ProgramSyntax = ProgramSyntax { operands: Operands::Program(0), ..DEFAULT_SYNTAX };

const SSH_SYNTAX: ProgramSyntax = ProgramSyntax {
    language: Language::Remote,
    program_letters: "FI",
    operand_letters: "BbcDEeiJLlmOoPpQRSWw",
    setting_letters: "o",
    code_settings: &[
        "proxycommand",
        "localcommand",
        "remotecommand",
        "knownhostscommand",
        "include",
        "match",
        "pkcs11provider",
        "securitykeyprovider",
        "xauthlocation",
    ],
    operands: Operands::Joined(1),
    ..DEFAULT_SYNTAX
};

/// The commands of tmux whose words a shell reads.
const TMUX_CODE_COMMANDS: &[&str] = &[
    "new-session",
    "new",
    "new-window",
    "neww",
    "split-window",
    "splitw",
    "respawn-pane",
    "respawnp",
    "respawn-window",
    "respawnw",
    "run-shell",
    "run",
    "if-shell",
    "if",
    "pipe-pane",
    "pipep",
    "send-keys",
    "send",
    "display-popup",
    "popup",
];

/// Programs whose options named like those for code take none.
pub(super) const PATTERN_PROGRAMS: &[&str] = &["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep"];

/// What is known of a program that is not in the table.
pub(super) const UNKNOWN_PROGRAM: &ProgramSyntax = &ProgramSyntax {
    language: Language::Unknown,
    program_names: &[
        "--exec-path",
        "--rsh",
        "--pager",
        "--editor",
        "--askpass",
        "--shell",
        "--upload-pack",
        "--receive-pack",
        "--compress-program",
        "--use-compress-program",
    ],
    ..DEFAULT_SYNTAX
};

pub(super) const PROGRAMS: &[ProgramSyntax] = &[
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
    ProgramSyntax { names: &["ssh", "slogin", "dbclient"], ..SSH_SYNTAX },
    ProgramSyntax { names: &["autossh"], operand_letters: "BbcDEeiJLlMmOoPpQRSWw", ..SSH_SYNTAX },
    ProgramSyntax {
        names: &["mosh"],
        code_names: &["--ssh", "--server", "--client"],
        operand_letters: "p",
        ..SSH_SYNTAX
    },
    ProgramSyntax {
        names: &["scp"],
        program_letters: "SDF",
        operand_letters: "ciJloPX",
        operands: Operands::Mixed,
        ..SSH_SYNTAX
    },
    ProgramSyntax {
        names: &["sftp"],
        program_letters: "SDFbs",
        operand_letters: "BciJloPRX",
        operands: Operands::Mixed,
        ..SSH_SYNTAX
    },
    ProgramSyntax {
        names: &["git"],
        language: Language::Command,
        program_names: &["--exec-path", "--config-env"],
        operand_letters: "Cc",
        operand_names: &["git-dir", "work-tree", "namespace"],
        setting_letters: "c",
        code_settings: GIT_CODE_SETTINGS,
        operands: Operands::Subcommand(&[]),
        subcommands: GIT_SUBCOMMANDS,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["tmux"],
        language: Language::Shell,
        operand_letters: "LSftscnFxyeTbp",
        operands: Operands::Subcommand(TMUX_CODE_COMMANDS),
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
        names: &["sqlite", "duckdb"],
        language: Language::Sql,
        code_names: &["-cmd", "--cmd", "-c"],
        operands: Operands::Joined(1),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["julia", "elixir", "ghc", "raku", "crystal", "ocaml", "groovy", "scala", "iex", "dc", "octave"],
        language: Language::Other,
        code_letters: "eE",
        code_names: &["--eval", "--print", "--rpc-eval", "--expression"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["guile", "racket", "sbcl", "clojure", "clj", "bb", "erl", "swipl", "gnuplot"],
        language: Language::Other,
        code_letters: "ceg",
        code_names: &["--eval", "-eval"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["hyperfine"],
        language: Language::Shell,
        code_letters: "pcsC",
        code_names: &["--prepare", "--cleanup", "--setup", "--conclude"],
        operand_letters: "wmMrSniPDLu",
        operand_names: &["warmup", "min-runs", "max-runs", "runs", "shell", "command-name", "export-json"],
        operands: Operands::Joined(0),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["cmd"], language: Language::Other, operands: Operands::Joined(0), ..DEFAULT_SYNTAX },
    ProgramSyntax {
        names: &["watch"],
        language: Language::Shell,
        operand_letters: "nq",
        operand_names: &["interval", "equexit"],
        operands: Operands::Joined(0),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["eval"], language: Language::Shell, operands: Operands::Joined(0), ..DEFAULT_SYNTAX },
    ProgramSyntax {
        names: &["parallel"],
        language: Language::Shell,
        operand_letters: "jIdnNLa",
        operands: Operands::Joined(0),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["su", "runuser"],
        language: Language::Shell,
        code_letters: "c",
        code_names: &["--command", "--session-command"],
        operand_letters: "gGsuw",
        operands: Operands::Anywhere,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["script"],
        language: Language::Shell,
        code_letters: "c",
        code_names: &["--command"],
        operand_letters: "BEIOTm",
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
    ProgramSyntax {
        names: &["xargs", "gxargs"],
        operand_letters: "adEILnPsJRS",
        attached_letters: "eil",
        operand_names: &[
            "arg-file",
            "delimiter",
            "max-args",
            "max-chars",
            "max-procs",
            "max-lines",
            "process-slot-var",
        ],
        operands: Operands::Xargs,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["find", "gfind", "bfs"],
        operands: Operands::Embedded(&["-exec", "-execdir", "-ok", "-okdir"]),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["fd", "fdfind"],
        operands: Operands::Embedded(&["-x", "-X", "--exec", "--exec-batch"]),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["env", "genv"],
        code_letters: "S",
        code_names: &["--split-string"],
        operand_letters: "uC",
        operand_names: &["unset", "chdir"],
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax {
        names: &["sudo"],
        operand_letters: "CDghpRrtTUu",
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
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax {
        names: &["sg"],
        language: Language::Shell,
        code_letters: "c",
        operands: Operands::Joined(1),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["pkexec"], operand_names: &["user"], ..WRAPPER_SYNTAX },
    ProgramSyntax { names: &["entr"], language: Language::Shell, code_letters: "s", ..WRAPPER_SYNTAX },
    ProgramSyntax { names: &["rlwrap"], operand_letters: "bCDfHlmoOPqstz", ..WRAPPER_SYNTAX },
    ProgramSyntax { names: &["proot"], operand_letters: "rRbSwqvkim", ..WRAPPER_SYNTAX },
    ProgramSyntax { names: &["sshpass"], operand_letters: "pfdP", ..WRAPPER_SYNTAX },
    ProgramSyntax { names: &["command"], operand_letters: "vV", ..WRAPPER_SYNTAX },
    ProgramSyntax { names: &["doas"], operand_letters: "Cu", ..WRAPPER_SYNTAX },
    ProgramSyntax {
        names: &["timeout", "gtimeout"],
        operand_letters: "ks",
        operand_names: &["kill-after", "signal"],
        operands: Operands::Program(1),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["nice", "gnice"], operand_letters: "n", operand_names: &["adjustment"], ..WRAPPER_SYNTAX },
    ProgramSyntax {
        names: &["nohup", "setsid", "busybox", "toybox", "fakeroot", "unbuffer", "caffeinate"],
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax {
        names: &["stdbuf", "gstdbuf"],
        operand_letters: "ioe",
        operand_names: &["input", "output", "error"],
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax {
        names: &["time", "gtime"],
        operand_letters: "fo",
        operand_names: &["format", "output"],
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax {
        names: &["ionice"],
        operand_letters: "cnpPu",
        operand_names: &["class", "classdata"],
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax {
        names: &["chroot"],
        operands: Operands::Program(1),
        operand_names: &["userspec", "groups"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["taskset"], operands: Operands::Program(1), ..DEFAULT_SYNTAX },
    ProgramSyntax { names: &["chrt"], operand_letters: "DPT", operands: Operands::Program(1), ..DEFAULT_SYNTAX },
    ProgramSyntax {
        names: &["unshare"],
        operand_letters: "GRSw",
        operand_names: &["setuid", "setgid", "root", "wd"],
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax { names: &["strace", "ltrace"], operand_letters: "abeEIoOpPsSuX", ..WRAPPER_SYNTAX },
    ProgramSyntax {
        names: &["flock"],
        operand_letters: "wE",
        operand_names: &["timeout", "wait", "conflict-exit-code"],
        operands: Operands::Program(1),
        ..DEFAULT_SYNTAX
    },
    // What stands behind the file of `flock` may be `-c` and code.
    ProgramSyntax {
        names: &["-c", "--command"],
        language: Language::Shell,
        operands: Operands::Joined(0),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["npx", "npm", "pnpm", "bunx"],
        language: Language::Shell,
        code_letters: "c",
        code_names: &["--call"],
        program_names: &["--script-shell", "--shell", "--userconfig", "--globalconfig", "--node-options"],
        operands: Operands::Anywhere,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["nix-shell", "nix"],
        language: Language::Shell,
        code_names: &["--run", "--command"],
        operands: Operands::Anywhere,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["docker", "podman", "nerdctl"],
        program_names: &["--entrypoint", "--config", "--hooks-dir", "--conmon", "--runtime", "--init-path"],
        operands: Operands::Anywhere,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["kubectl", "oc"],
        program_names: &["--kubeconfig"],
        operands: Operands::Anywhere,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &[
            "nsenter",
            "systemd-run",
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
            "pyenv",
            "rbenv",
            "nodenv",
            "asdf",
            "mise",
            "hatch",
            "pdm",
            "rye",
            "yarn",
            "screen",
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
        ..DEFAULT_SYNTAX
    },
];

/// The row of a program, by its name or path.
pub(super) fn syntax_of(program: &str) -> Option<&'static ProgramSyntax> {
    let name = program.rsplit('/').next()?.to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.').trim_end_matches('-');
    let plain = if plain.is_empty() { name } else { plain };
    // `perl5.36-x86_64-linux-gnu`, `python3-dbg`, `bash-static`
    let before_version = name.split(|letter: char| letter.is_ascii_digit()).next().filter(|stem| !stem.is_empty());
    let plain = before_version.filter(|stem| stem.len() < name.len()).unwrap_or(plain);
    let plain = plain.strip_suffix("-static").unwrap_or(plain).trim_end_matches('-');
    PROGRAMS.iter().find(|row| row.names.contains(&plain) || row.names.contains(&name))
}

/// Whether a setting of a program is code.
pub(super) fn is_code_setting(row: &ProgramSyntax, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    row.code_settings.iter().any(|known| {
        *known == name
            || known.ends_with('.') && name.starts_with(known)
            || known.starts_with('.') && name.ends_with(known)
    })
}
