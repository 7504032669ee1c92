//! Finds the elements of an argv that are code, and the program that runs each.

mod option;

use std::ops::Range;

use super::git::config_code_word;
use super::options::{OptionOperand, is_assignment, is_option, option_operand};
use super::programs::{PATTERN_PROGRAMS, UNKNOWN_PROGRAM, syntax_of};
use super::syntax::{Operands, ProgramSyntax};
use super::variables::runs_code;

/// What stands for a value in the text of a word. No text of a manifest can hold it.
pub(super) const VALUE_MARKER: char = '\0';

/// One element of argv, as far as it is known at load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArgvWord {
    /// Its text, with a [`VALUE_MARKER`] for each value.
    pub(super) text: String,
    /// Whether a value that it begins with may begin with `-`.
    pub(super) may_start_with_dash: bool,
    /// Whether each value in it is one of few that the author knows.
    pub(super) is_closed: bool,
}

/// What an element is to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgRole {
    /// Code, from this byte of the word on.
    Code(usize),
    /// A variable or setting by which a program runs code: its value, from this byte of the word on.
    Setting(usize),
    /// What an option names: a program to run, or a file of code or settings, from this byte of the word on.
    ProgramOption(usize),
    /// An option that a value chooses.
    Option,
    /// A program that a value chooses.
    Program,
    /// The program reads code from stdin.
    Stdin,
}

/// An element of argv that matters.
pub(super) struct CodeFinding {
    /// Its number.
    pub(super) word: usize,
    /// What it is.
    pub(super) role: ArgRole,
    /// The number of the program that runs it.
    pub(super) program: usize,
    /// What is known of that program.
    pub(super) syntax: &'static ProgramSyntax,
    /// Whether a value is part of it.
    pub(super) holds_value: bool,
}

/// Finds what a program, and those that it starts, take for code. `fed` is whether values come through stdin.
pub(super) fn scan(words: Vec<ArgvWord>, fed: bool) -> Vec<CodeFinding> {
    let end = words.len();
    let mut scan = ArgvScan { words, stdin_has_value: fed, found: Vec::new() };
    scan.scan_program(0..end, None);
    scan.found
}

struct ArgvScan {
    words: Vec<ArgvWord>,
    stdin_has_value: bool,
    found: Vec<CodeFinding>,
}

/// What is known of a program while its words are read.
struct ProgramScan {
    syntax: &'static ProgramSyntax,
    program: usize,
    /// Whether options may still come.
    options: bool,
    /// Whether an option has given code, or announced it.
    has_code: bool,
    /// Whether an option says that code comes through stdin.
    stdin: bool,
    /// How many words were no options.
    operands: usize,
}

impl ArgRole {
    /// The byte of the word from which it holds.
    pub(super) fn start(self) -> usize {
        match self {
            ArgRole::Code(from) | ArgRole::Setting(from) | ArgRole::ProgramOption(from) => from,
            _ => 0,
        }
    }
}

impl ProgramScan {
    /// Whether the next word that is no option is code, or a program to run.
    fn expects_code_or_program(&self) -> bool {
        match self.syntax.operands {
            Operands::Shell => self.has_code,
            Operands::Code => !self.has_code,
            Operands::Program(before) => self.operands >= before,
            Operands::Xargs => true,
            _ => false,
        }
    }
}

impl ArgvScan {
    /// Reads a program and its words. `starter` is the row of the program that starts it.
    fn scan_program(&mut self, range: Range<usize>, starter: Option<&'static ProgramSyntax>) {
        if range.is_empty() {
            return;
        }
        if self.text(range.start).contains(VALUE_MARKER) {
            let (word, program) = (range.start, range.start.saturating_sub(1));
            let chosen = starter.map(|row| CodeFinding {
                word,
                role: ArgRole::Program,
                program,
                syntax: row,
                holds_value: true,
            });
            self.found.extend(chosen);
            return;
        }
        let Some(row) = syntax_of(self.text(range.start)) else { return self.scan_unknown(range) };
        let reading = ProgramScan {
            syntax: row,
            program: range.start,
            options: true,
            has_code: false,
            stdin: false,
            operands: 0,
        };
        let words = range.start + 1..range.end;
        if row.operands == Operands::Variables {
            // Those of `env NAME=VALUE make` too.
            for at in (0..range.start).filter(|&at| is_assignment(self.text(at))).collect::<Vec<_>>() {
                self.scan_variable(&reading, at);
            }
        }
        match row.operands {
            Operands::Embedded(flags) => self.scan_embedded(row, flags, words),
            Operands::Anywhere => self.scan_anywhere(&reading, words),
            Operands::PowerShell => self.scan_powershell(&reading, words),
            _ => self.scan_words(reading, words),
        }
    }

    fn text(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| &word.text)
    }

    fn push(&mut self, reading: &ProgramScan, word: usize, role: ArgRole) {
        let from = role.start();
        let holds_value = match role {
            ArgRole::Stdin => self.stdin_has_value,
            _ => self.text(word).get(from..).is_some_and(|text| text.contains(VALUE_MARKER)),
        };
        self.found.push(CodeFinding { word, role, program: reading.program, syntax: reading.syntax, holds_value });
    }

    fn push_code(&mut self, reading: &ProgramScan, words: Range<usize>) {
        words.for_each(|word| self.push(reading, word, ArgRole::Code(0)));
    }

    /// Reads what stands behind a program, as most programs do.
    fn scan_words(&mut self, mut reading: ProgramScan, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            if reading.options && self.text(at) == "--" {
                reading.options = false;
                at += 1;
            } else if reading.options && self.text(at) == "-" && matches!(reading.syntax.operands, Operands::Program(_))
            {
                // `env -` is `env -i`.
                at += 1;
            } else if reading.options && is_option(self.text(at), reading.syntax) {
                at = self.scan_option(&mut reading, at..range.end);
            } else if let Some(next) = self.scan_operand(&mut reading, at..range.end) {
                at = next;
            } else {
                return;
            }
        }
        let reads_stdin = match reading.syntax.operands {
            Operands::File | Operands::Shell => !reading.has_code && !reading.stdin && reading.operands == 0,
            Operands::Joined(before) => reading.operands <= before && before > 0 && !reading.has_code,
            Operands::Stdin => !reading.has_code && !reading.stdin,
            _ => false,
        };
        if reads_stdin {
            self.push(&reading, reading.program, ArgRole::Stdin);
        }
    }

    /// Reads the word at the beginning of `rest`, which is no option; gives the number of the next, if that matters.
    fn scan_operand(&mut self, reading: &mut ProgramScan, rest: Range<usize>) -> Option<usize> {
        let at = rest.start;
        let chooses =
            self.words.get(at).is_some_and(|word| word.may_start_with_dash && word.text.starts_with(VALUE_MARKER));
        if chooses && reading.options && !reading.expects_code_or_program() {
            self.push(reading, at, ArgRole::Option);
        }
        reading.operands += 1;
        match reading.syntax.operands {
            Operands::Code if !reading.has_code => {
                self.push(reading, at, ArgRole::Code(0));
                reading.has_code = true;
                Some(at + 1)
            }
            Operands::Joined(before) if reading.operands <= before => Some(at + 1),
            Operands::Program(before) if reading.operands <= before => {
                reading.options = false;
                Some(at + 1)
            }
            Operands::Program(_) if is_assignment(self.text(at)) => {
                let name = self.text(at).split('=').next().unwrap_or_default();
                if runs_code(name) {
                    self.push(reading, at, ArgRole::Setting(name.len()));
                }
                reading.options = false;
                Some(at + 1)
            }
            Operands::Variables => {
                self.scan_variable(reading, at);
                Some(at + 1)
            }
            Operands::Mixed | Operands::Code | Operands::Stdin => Some(at + 1),
            // It may be absent, and the next word the first.
            Operands::File | Operands::Shell if !reading.has_code && is_value(self.text(at)) => Some(at + 1),
            _ => {
                self.scan_last_operand(reading, rest);
                None
            }
        }
    }

    /// Reads `NAME=VALUE`, which a value that begins the word can be too.
    fn scan_variable(&mut self, reading: &ProgramScan, at: usize) {
        let Some(word) = self.words.get(at).filter(|word| !word.is_closed) else { return };
        let from = if is_assignment(&word.text) { word.text.find('=') } else { word.text.find(VALUE_MARKER) };
        if let Some(from) = from.filter(|_| is_assignment(&word.text) || word.text.starts_with(VALUE_MARKER)) {
            self.push(reading, at, ArgRole::Setting(from));
        }
    }

    /// Reads the first word that is no option, where no option can follow it.
    fn scan_last_operand(&mut self, reading: &mut ProgramScan, rest: Range<usize>) {
        match reading.syntax.operands {
            Operands::Shell if reading.has_code => self.push(reading, rest.start, ArgRole::Code(0)),
            Operands::File | Operands::Shell if names_stdin(self.text(rest.start)) && !reading.has_code => {
                self.push(reading, reading.program, ArgRole::Stdin);
            }
            Operands::Joined(_) => {
                self.push_code(reading, rest.clone());
                if !rest.clone().any(|word| self.text(word).contains(VALUE_MARKER)) {
                    self.scan_program(rest, None);
                }
            }
            Operands::Subcommand(names) if names.contains(&self.text(rest.start)) => {
                self.scan_code_words(reading, rest.start + 1..rest.end);
            }
            Operands::Subcommand(_) => self.scan_subcommand(reading, rest),
            Operands::Program(_) => self.scan_program(rest, Some(reading.syntax)),
            Operands::Xargs => {
                let rest = self.insert_stdin_words(reading.program + 1..rest.start, rest);
                self.scan_program(rest, Some(reading.syntax));
            }
            _ => {}
        }
    }

    /// Reads the words of a subcommand.
    fn scan_subcommand(&mut self, reading: &ProgramScan, rest: Range<usize>) {
        let name = self.text(rest.start);
        if name.contains(VALUE_MARKER) {
            return self.push(reading, rest.start, ArgRole::Program);
        }
        if name == "config" && reading.syntax.names.contains(&"git") {
            let words: Vec<&str> = (rest.start + 1..rest.end).map(|at| self.text(at)).collect();
            if let Some(at) = config_code_word(&words) {
                self.push(reading, rest.start + 1 + at, ArgRole::Setting(0));
            }
            return;
        }
        let Some(row) = reading.syntax.subcommands.iter().find(|row| row.names.contains(&name)) else {
            return self.scan_unknown(rest);
        };
        let inner = ProgramScan {
            syntax: row,
            program: reading.program,
            options: true,
            has_code: false,
            stdin: false,
            operands: 0,
        };
        self.scan_words(inner, rest.start + 1..rest.end);
    }

    /// Reads words of which all but the options are code.
    fn scan_code_words(&mut self, reading: &mut ProgramScan, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            if is_option(self.text(at), reading.syntax) {
                at = self.scan_option(reading, at..range.end);
            } else {
                self.push(reading, at, ArgRole::Code(0));
                at += 1;
            }
        }
    }

    /// Reads a program that is not in the table: what stands behind an option that often takes code, and looks like it.
    fn scan_unknown(&mut self, range: Range<usize>) {
        let program = self.text(range.start).rsplit('/').next().unwrap_or_default();
        if PATTERN_PROGRAMS.contains(&program) {
            return;
        }
        // A program that is not known may start one that is.
        let is_interpreter = |at: &usize| syntax_of(self.text(*at)).is_some_and(ProgramSyntax::is_interpreter);
        if let Some(inner) = (range.start + 1..range.end).find(|at| is_interpreter(at) && at + 1 < range.end) {
            self.scan_program(inner..range.end, None);
        }
        for at in range.start + 1..range.end {
            let text = self.text(at);
            let attached = text.split_once('=').filter(|(name, _)| name.starts_with("--")).map(|(name, _)| name);
            let names_program = |option: &str| UNKNOWN_PROGRAM.program_names.contains(&option);
            let option = attached.unwrap_or_else(|| self.text(at - 1));
            if names_program(option) && text.contains(VALUE_MARKER) {
                let role = ArgRole::ProgramOption(attached.map_or(0, |name| name.len() + 1));
                let (program, syntax) = (range.start, UNKNOWN_PROGRAM);
                self.found.push(CodeFinding { word: at, role, program, syntax, holds_value: true });
                continue;
            }
            let from = match attached {
                Some(name) if COMMON_CODE_OPTIONS.contains(&name) => name.len() + 1,
                _ if COMMON_CODE_OPTIONS.contains(&self.text(at - 1)) => 0,
                _ => continue,
            };
            if text.get(from..).is_some_and(mixes_code_and_value) {
                let (role, syntax) = (ArgRole::Code(from), UNKNOWN_PROGRAM);
                self.found.push(CodeFinding { word: at, role, program: range.start, syntax, holds_value: true });
            }
        }
    }

    /// Puts what `xargs` reads from stdin where it will stand among the words of the program that it starts.
    fn insert_stdin_words(&mut self, options: Range<usize>, rest: Range<usize>) -> Range<usize> {
        if !self.stdin_has_value {
            return rest;
        }
        let Some(replaced) = options.clone().find_map(|at| xargs_replacement(self.text(at), self.text(at + 1))) else {
            self.words.truncate(rest.end);
            self.words.push(ArgvWord { text: VALUE_MARKER.to_string(), may_start_with_dash: true, is_closed: false });
            return rest.start..self.words.len();
        };
        for word in self.words.iter_mut().take(rest.end).skip(rest.start) {
            word.text = word.text.replace(&replaced, &VALUE_MARKER.to_string());
        }
        rest
    }

    /// Reads the programs between `-exec` and `;`.
    fn scan_embedded(&mut self, row: &'static ProgramSyntax, flags: &[&str], range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let start = at + 1;
            if flags.contains(&self.text(at)) {
                let ends = |at: usize| self.text(at) == ";" || self.text(at) == "+" && self.text(at - 1) == "{}";
                at = (start..range.end).find(|&at| ends(at)).unwrap_or(range.end);
                self.scan_program(start..at, Some(row));
            }
            at += 1;
        }
    }

    /// Reads the first known program, wherever it stands, and the options before it.
    fn scan_anywhere(&mut self, reading: &ProgramScan, range: Range<usize>) {
        let known = |at: &usize| !self.text(*at).starts_with('-') && syntax_of(self.text(*at)).is_some();
        let program = range.clone().find(known).unwrap_or(range.end);
        for at in range.start..program {
            if !is_option(self.text(at), reading.syntax) {
                continue;
            }
            let (from, role) = match option_operand(reading.syntax, self.text(at)) {
                OptionOperand::Code(from) => (from, ArgRole::Code(from.unwrap_or(0))),
                OptionOperand::Program(from) => (from, ArgRole::ProgramOption(from.unwrap_or(0))),
                _ => continue,
            };
            self.push(reading, if from.is_some() { at } else { at + 1 }, role);
        }
        self.scan_program(program..range.end, None);
    }

    /// Reads the words of PowerShell, whose options may be shortened and written in capitals.
    fn scan_powershell(&mut self, reading: &ProgramScan, range: Range<usize>) {
        for at in range.clone() {
            let text = self.text(at).to_ascii_lowercase();
            let Some(name) = text.strip_prefix('-').filter(|name| !name.is_empty()) else {
                if text.ends_with(".ps1") {
                    return;
                }
                continue;
            };
            if name.starts_with(VALUE_MARKER) {
                self.push(reading, at, ArgRole::Option);
            } else if "file".starts_with(name) {
                return;
            } else if name == "cwa" || name.len() > 7 && "commandwithargs".starts_with(name) {
                return self.push_code(reading, at + 1..range.end.min(at + 2));
            } else if "command".starts_with(name) || "encodedcommand".starts_with(name) || name == "ec" {
                return self.push_code(reading, at + 1..range.end);
            }
        }
        self.push(reading, reading.program, ArgRole::Stdin);
    }
}

/// Options that take code in many programs.
const COMMON_CODE_OPTIONS: &[&str] = &["-c", "-e", "-E", "-ex", "--eval", "--command", "--exec", "-Command"];

/// Whether a value stands beside text that looks like code.
fn mixes_code_and_value(text: &str) -> bool {
    text.contains(VALUE_MARKER) && text.contains(|letter: char| letter.is_whitespace() || ";|&$()".contains(letter))
}

/// Whether a word is a file that is stdin.
fn names_stdin(text: &str) -> bool {
    matches!(text, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// Whether a word is exactly one value.
fn is_value(text: &str) -> bool {
    text.len() == VALUE_MARKER.len_utf8() && text.starts_with(VALUE_MARKER)
}

/// What `xargs` replaces with what it reads, where this option says so.
fn xargs_replacement(option: &str, next: &str) -> Option<String> {
    let named = |text: &str| if text.is_empty() { "{}".to_owned() } else { text.to_owned() };
    if option == "-J" {
        return Some(next.to_owned()).filter(|next| !next.is_empty());
    }
    // Behind letters that take nothing.
    let cluster = option.strip_prefix('-').map(|letters| letters.trim_start_matches(['0', 'o', 'p', 'r', 't', 'x']));
    if let Some(replaced) = cluster.and_then(|letters| letters.strip_prefix('I')) {
        let replaced = if replaced.is_empty() { next } else { replaced };
        return Some(replaced.to_owned()).filter(|replaced| !replaced.is_empty());
    }
    let attached = ["--replace=", "--replace", "-i"].iter().find_map(|prefix| option.strip_prefix(prefix));
    attached.map(named)
}
