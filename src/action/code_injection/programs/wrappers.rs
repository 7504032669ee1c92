//! Programs that start other programs.

use crate::action::code_injection::Language;
use crate::action::code_injection::syntax::{DEFAULT_SYNTAX, Operands, ProgramSyntax};

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

/// Programs that start the program, or the command of a shell, among their words.
pub(super) const WRAPPERS: &[ProgramSyntax] = &[
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
        names: &["tmux"],
        language: Language::Shell,
        operand_letters: "LSftscnFxyeTbp",
        operands: Operands::Subcommand(TMUX_CODE_COMMANDS),
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
    ProgramSyntax {
        names: &["watch"],
        language: Language::Shell,
        operand_letters: "nq",
        operand_names: &["interval", "equexit"],
        operands: Operands::Joined(0),
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["at", "batch"],
        language: Language::Shell,
        program_letters: "f",
        operand_letters: "qt",
        operands: Operands::Stdin,
        ..DEFAULT_SYNTAX
    },
    ProgramSyntax {
        names: &["crontab"],
        language: Language::Shell,
        operand_letters: "u",
        operands: Operands::File,
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
