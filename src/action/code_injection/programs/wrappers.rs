//! Programs that start other programs.

use crate::action::code_injection::Language;
use crate::action::code_injection::syntax::{DEFAULT_SYNTAX, Operands, ProgramSyntax};

/// A program that starts another one.
const WRAPPER_SYNTAX: ProgramSyntax = ProgramSyntax { operands: Operands::Program(0), ..DEFAULT_SYNTAX };

const SSH_SYNTAX: ProgramSyntax = ProgramSyntax {
    language: Language::Remote,
    program_flags: "FI",
    value_flags: "BbcDEeiJLlmOoPpQRSWw",
    setting_flags: "o",
    code_settings: &[
        "proxycommand", "localcommand", "remotecommand", "knownhostscommand", "include", "match", "pkcs11provider",
        "securitykeyprovider", "xauthlocation",
    ],
    operands: Operands::Joined(1),
    ..DEFAULT_SYNTAX
};

/// The commands of tmux whose words a shell reads.
const TMUX_CODE_COMMANDS: &[&str] = &[
    "new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane", "respawnp", "respawn-window",
    "respawnw", "run-shell", "run", "if-shell", "if", "pipe-pane", "pipep", "send-keys", "send", "display-popup",
    "popup",
];

/// Programs that start the program, or the command of a shell, among their words.
pub(super) const WRAPPERS: &[ProgramSyntax] = &[
    ProgramSyntax { names: &["ssh", "slogin", "dbclient"], ..SSH_SYNTAX },
    ProgramSyntax { names: &["autossh"], value_flags: "BbcDEeiJLlMmOoPpQRSWw", ..SSH_SYNTAX },
    ProgramSyntax {
        names: &["mosh"],
        code_options: &["--ssh", "--server", "--client"],
        value_flags: "p",
        ..SSH_SYNTAX
    },
    ProgramSyntax {
        names: &["scp"],
        program_flags: "SDF",
        value_flags: "ciJloPX",
        operands: Operands::Mixed,
        ..SSH_SYNTAX
    },
    ProgramSyntax {
        names: &["sftp"],
        program_flags: "SDFbs",
        value_flags: "BciJloPRX",
        operands: Operands::Mixed,
        ..SSH_SYNTAX
    },
    ProgramSyntax {
        names: &["tmux"],
        language: Language::Shell,
        value_flags: "LSftscnFxyeTbp",
        operands: Operands::Subcommand(TMUX_CODE_COMMANDS),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["hyperfine"],
        language: Language::Shell,
        code_flags: "pcsC",
        code_options: &["--prepare", "--cleanup", "--setup", "--conclude"],
        value_flags: "wmMrSniPDLu",
        value_options: &["warmup", "min-runs", "max-runs", "runs", "shell", "command-name", "export-json"],
        operands: Operands::Joined(0),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["watch"],
        language: Language::Shell,
        value_flags: "nq",
        value_options: &["interval", "equexit"],
        operands: Operands::Joined(0),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["at", "batch"],
        language: Language::Shell,
        program_flags: "f",
        value_flags: "qt",
        operands: Operands::Stdin,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["crontab"],
        language: Language::Shell,
        value_flags: "u",
        operands: Operands::File,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["eval"], language: Language::Shell, operands: Operands::Joined(0), ..DEFAULT_SYNTAX },
    ProgramSyntax {
        names: &["parallel"],
        language: Language::Shell,
        value_flags: "jIdnNLa",
        operands: Operands::Joined(0),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["su", "runuser"],
        language: Language::Shell,
        code_flags: "c",
        code_options: &["--command", "--session-command"],
        value_flags: "gGsuw",
        operands: Operands::Anywhere,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["script"],
        language: Language::Shell,
        code_flags: "c",
        code_options: &["--command"],
        value_flags: "BEIOTm",
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["xargs", "gxargs"],
        value_flags: "adEILnPsJRS",
        attached_value_flags: "eil",
        value_options: &[
            "arg-file", "delimiter", "max-args", "max-chars", "max-procs", "max-lines", "process-slot-var",
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
        code_flags: "S",
        code_options: &["--split-string"],
        value_flags: "uC",
        value_options: &["unset", "chdir"],
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax {
        names: &["sudo"],
        value_flags: "CDghpRrtTUu",
        value_options: &[
            "user", "group", "chdir", "chroot", "host", "prompt", "role", "type", "close-from", "command-timeout",
        ],
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax {
        names: &["sg"],
        language: Language::Shell,
        code_flags: "c",
        operands: Operands::Joined(1),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["pkexec"], value_options: &["user"], ..WRAPPER_SYNTAX },
    ProgramSyntax { names: &["entr"], language: Language::Shell, code_flags: "s", ..WRAPPER_SYNTAX },
    ProgramSyntax { names: &["rlwrap"], value_flags: "bCDfHlmoOPqstz", ..WRAPPER_SYNTAX },
    ProgramSyntax { names: &["proot"], value_flags: "rRbSwqvkim", ..WRAPPER_SYNTAX },
    ProgramSyntax { names: &["sshpass"], value_flags: "pfdP", ..WRAPPER_SYNTAX },
    ProgramSyntax { names: &["command"], value_flags: "vV", ..WRAPPER_SYNTAX },
    ProgramSyntax { names: &["doas"], value_flags: "Cu", ..WRAPPER_SYNTAX },
    ProgramSyntax {
        names: &["timeout", "gtimeout"],
        value_flags: "ks",
        value_options: &["kill-after", "signal"],
        operands: Operands::Program(1),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["nice", "gnice"], value_flags: "n", value_options: &["adjustment"], ..WRAPPER_SYNTAX },
    ProgramSyntax {
        names: &["nohup", "setsid", "busybox", "toybox", "fakeroot", "unbuffer", "caffeinate"],
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax {
        names: &["stdbuf", "gstdbuf"],
        value_flags: "ioe",
        value_options: &["input", "output", "error"],
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax {
        names: &["time", "gtime"],
        value_flags: "fo",
        value_options: &["format", "output"],
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax {
        names: &["ionice"],
        value_flags: "cnpPu",
        value_options: &["class", "classdata"],
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax {
        names: &["chroot"],
        operands: Operands::Program(1),
        value_options: &["userspec", "groups"],
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax { names: &["taskset"], operands: Operands::Program(1), ..DEFAULT_SYNTAX },
    ProgramSyntax { names: &["chrt"], value_flags: "DPT", operands: Operands::Program(1), ..DEFAULT_SYNTAX },
    ProgramSyntax {
        names: &["unshare"],
        value_flags: "GRSw",
        value_options: &["setuid", "setgid", "root", "wd"],
        ..WRAPPER_SYNTAX
    },
    ProgramSyntax { names: &["strace", "ltrace"], value_flags: "abeEIoOpPsSuX", ..WRAPPER_SYNTAX },
    ProgramSyntax {
        names: &["flock"],
        value_flags: "wE",
        value_options: &["timeout", "wait", "conflict-exit-code"],
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
        code_flags: "c",
        code_options: &["--call"],
        program_options: &["--script-shell", "--shell", "--userconfig", "--globalconfig", "--node-options"],
        operands: Operands::Anywhere,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["nix-shell", "nix"],
        language: Language::Shell,
        code_options: &["--run", "--command"],
        operands: Operands::Anywhere,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["docker", "podman", "nerdctl"],
        program_options: &["--entrypoint", "--config", "--hooks-dir", "--conmon", "--runtime", "--init-path"],
        operands: Operands::Anywhere,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["kubectl", "oc"],
        program_options: &["--kubeconfig"],
        operands: Operands::Anywhere,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &[
            "nsenter", "systemd-run", "setpriv", "bwrap", "firejail", "prlimit", "numactl", "xvfb-run",
            "dbus-run-session", "uv", "poetry", "pipenv", "conda", "pyenv", "rbenv", "nodenv", "asdf", "mise", "hatch",
            "pdm", "rye", "yarn", "screen", "bundle", "direnv", "op", "aws-vault", "lxc-attach", "lxc", "machinectl",
            "vagrant", "gosu", "su-exec", "tini",
        ],
        operands: Operands::Anywhere,
        ..DEFAULT_SYNTAX
    },
];
