//! How programs read their arguments: which are options, code, files and other programs. The programs are in `programs.txt`.

/// How a program reads its arguments.
#[derive(Debug, Clone, Default)]
pub(super) struct ProgramSyntax {
    /// What it is called, without the version.
    pub(super) names: Vec<&'static str>,
    /// Whether a value in its code is only a warning: the code can only read, or it may be none.
    pub(super) only_warns: bool,
    /// Letters of short options that take code.
    pub(super) code_flags: &'static str,
    /// Names of options that take code: with `--` as they may be shortened, else the whole word.
    pub(super) code_options: Vec<&'static str>,
    /// Letters of short options that name a program to run, or a file of code or settings to read.
    pub(super) program_flags: &'static str,
    /// Names of such options: with `--` as they may be shortened, else the whole word.
    pub(super) program_options: Vec<&'static str>,
    /// Letters of short options that take something else.
    pub(super) value_flags: &'static str,
    /// Letters of short options that take the rest of their word.
    pub(super) attached_value_flags: &'static str,
    /// Names of long options that take something else.
    pub(super) value_options: Vec<&'static str>,
    /// Names of long options that take two words.
    pub(super) two_value_options: Vec<&'static str>,
    /// Letters of short options behind which no option comes.
    pub(super) final_flags: &'static str,
    /// Letters of short options that take `NAME=VALUE`; they are among `value_flags`.
    pub(super) setting_flags: &'static str,
    /// Names of long options that take `NAME=VALUE`.
    pub(super) setting_options: Vec<&'static str>,
    /// Letters of short options by which code is read from stdin too.
    pub(super) stdin_flags: &'static str,
    /// Letters of short options by which operands are opened as files, and as commands where there is `|`.
    pub(super) pipe_flags: &'static str,
    /// Whether words that begin with `-` stay options behind `--`.
    pub(super) ignores_double_dash: bool,
    /// Names of settings that are code, in lower case: `x.` is any that begins so, `.x` any that ends so.
    pub(super) code_settings: Vec<&'static str>,
    /// What the words are that are not options.
    pub(super) operands: Operands,
    /// How values may be among its arguments in a command of a pack.
    pub(super) values: ValueUse,
    /// The words behind which they may, of those with [`ValueUse::Guarded`]; all without any.
    pub(super) commands: Vec<&'static str>,
    /// How subcommands read theirs, where that differs from the program.
    pub(super) subcommands: Vec<ProgramSyntax>,
}

/// How values may be among the arguments of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ValueUse {
    /// Not at all: one may be read as code.
    #[default]
    Refused,
    /// Not at all, but the program reads no code from stdin.
    None,
    /// Anywhere.
    Data,
    /// Where they do not begin with `-`, and no option runs a program or writes a file.
    Guarded,
    /// Behind the file of a script.
    Script,
}

/// What a program makes of the words that are not options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Operands {
    /// Options may stand behind them.
    #[default]
    Mixed,
    /// A script's file, then what it is given; without one, code is read from stdin.
    File,
    /// A script's file, or code where `c` is among the options, then what it is given.
    Shell,
    /// Code, unless an option has given it.
    Code,
    /// No code; without an option that gives it, code is read from stdin.
    Stdin,
    /// Variables whose values the program expands, where there is `=` in a word.
    Variables,
    /// This many words, then code: all remaining words, joined.
    Joined(usize),
    /// Code behind one of these words.
    Subcommand(Vec<&'static str>),
    /// So many words, and behind them another program. Words with `=` before it are variables.
    Program(usize),
    /// Another program, fed with words from stdin.
    Xargs,
    /// Another program behind options such as `-exec`, up to `;`.
    Embedded(Vec<&'static str>),
    /// Programs anywhere, one of which is started, and options that take code.
    Anywhere,
    /// As PowerShell reads them.
    PowerShell,
    /// No code at all.
    Data,
    /// Code, whatever they look like: how they are read is not known.
    Unreadable,
}

impl ProgramSyntax {
    /// Whether it is an interpreter, or starts what may be one.
    pub(super) fn reads_code_or_starts_programs(&self) -> bool {
        matches!(
            self.operands,
            Operands::Shell | Operands::File | Operands::Code | Operands::Program(_) | Operands::Xargs
        )
    }

    /// How a subcommand reads its words, where a row says so.
    pub(super) fn subcommand(&self, name: &str) -> Option<&ProgramSyntax> {
        self.subcommands.iter().find(|syntax| syntax.names.contains(&name))
    }

    /// Whether a setting is code.
    pub(super) fn is_code_setting(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.code_settings.iter().any(|known| {
            *known == name
                || known.ends_with('.') && name.starts_with(known)
                || known.starts_with('.') && name.ends_with(known)
        })
    }
}
