//! Finds the elements of an argv that are code, and the program that runs each.

mod launcher;
mod option;

use std::ops::Range;

use super::git::config_code_word;
use super::option_argument::{is_assignment, is_option};
use super::programs::{UNREADABLE_PROGRAM, syntax_of};
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
    pub(super) has_fixed_values: bool,
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
    /// A file that a value names, which is run as a command where there is `|` in its name.
    PipedFile,
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
pub(super) fn scan(words: Vec<ArgvWord>, stdin_has_value: bool) -> Vec<CodeFinding> {
    let end = words.len();
    let mut scan = ArgvScan { words, stdin_has_value, programs: Vec::new(), findings: Vec::new() };
    scan.scan_program(0..end, None);
    scan.findings
}

struct ArgvScan {
    words: Vec<ArgvWord>,
    stdin_has_value: bool,
    /// The words of each program that is read.
    programs: Vec<Range<usize>>,
    findings: Vec<CodeFinding>,
}

/// How many programs are read in one argv: more bound neither time nor stack.
const MAX_PROGRAMS: usize = 64;

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
    /// Whether an option says that operands are opened as commands.
    pipes: bool,
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
    fn new(syntax: &'static ProgramSyntax, program: usize) -> Self {
        ProgramScan { syntax, program, options: true, has_code: false, stdin: false, pipes: false, operands: 0 }
    }

    /// Whether the next word that is not an option is code, or a program to run.
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
    /// Reads a program and its words. `starting_program` is the syntax of the program that starts it.
    fn scan_program(&mut self, range: Range<usize>, starting_program: Option<&'static ProgramSyntax>) {
        if range.is_empty() {
            return;
        }
        if self.text(range.start).contains(VALUE_MARKER) {
            let (word, program) = (range.start, range.start.saturating_sub(1));
            let chosen = starting_program.map(|syntax| CodeFinding {
                word,
                role: ArgRole::Program,
                program,
                syntax,
                holds_value: true,
            });
            self.findings.extend(chosen);
            return;
        }
        if !self.begins_program(&range) {
            return;
        }
        match syntax_of(self.text(range.start)) {
            Some(syntax) if syntax.operands != Operands::Data => self.scan_known(syntax, range),
            _ => self.scan_unknown(range),
        }
    }

    fn scan_known(&mut self, syntax: &'static ProgramSyntax, range: Range<usize>) {
        let program_scan = ProgramScan::new(syntax, range.start);
        let words = range.start + 1..range.end;
        if syntax.operands == Operands::Variables {
            // Those of `env NAME=VALUE make` too.
            for at in (0..range.start).filter(|&at| is_assignment(self.text(at))).collect::<Vec<_>>() {
                self.scan_variable(&program_scan, at);
            }
        }
        match &syntax.operands {
            Operands::Embedded(flags) => self.scan_embedded(syntax, flags, words),
            Operands::Anywhere => self.scan_anywhere(&program_scan, words),
            Operands::PowerShell => self.scan_powershell(&program_scan, words),
            Operands::Unreadable => {
                let values = words.filter(|&at| self.text(at).contains(VALUE_MARKER)).collect::<Vec<_>>();
                values.into_iter().for_each(|at| self.push(&program_scan, at, ArgRole::Code(0)));
            }
            _ => self.scan_words(program_scan, words),
        }
    }

    /// Whether these words are not read as a program yet. Behind too many programs, each value counts as code.
    fn begins_program(&mut self, words: &Range<usize>) -> bool {
        if self.programs.len() > MAX_PROGRAMS || self.programs.contains(words) {
            return false;
        }
        self.programs.push(words.clone());
        let has_room = self.programs.len() <= MAX_PROGRAMS;
        if !has_room {
            self.scan_known(&UNREADABLE_PROGRAM, words.clone());
        }
        has_room
    }

    fn text(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| &word.text)
    }

    fn push(&mut self, program_scan: &ProgramScan, word: usize, role: ArgRole) {
        let from = role.start();
        let holds_value = match role {
            ArgRole::Stdin => self.stdin_has_value,
            _ => self.text(word).get(from..).is_some_and(|text| text.contains(VALUE_MARKER)),
        };
        // One report for each word, and one for stdin.
        let is_same = |found: &CodeFinding| match role {
            ArgRole::Stdin => found.role == ArgRole::Stdin,
            _ => found.word == word && found.role != ArgRole::Stdin,
        };
        if holds_value && self.findings.iter().any(|found| found.holds_value && is_same(found)) {
            return;
        }
        self.findings.push(CodeFinding {
            word,
            role,
            program: program_scan.program,
            syntax: program_scan.syntax,
            holds_value,
        });
    }

    fn push_code(&mut self, program_scan: &ProgramScan, words: Range<usize>) {
        words.for_each(|word| self.push(program_scan, word, ArgRole::Code(0)));
    }

    /// Reads what stands behind a program, as most programs do.
    fn scan_words(&mut self, mut program_scan: ProgramScan, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            if program_scan.options && self.text(at) == "--" {
                program_scan.options = program_scan.syntax.ignores_double_dash;
                at += 1;
            } else if program_scan.options
                && self.text(at) == "-"
                && matches!(program_scan.syntax.operands, Operands::Program(_))
            {
                // `env -` is `env -i`.
                at += 1;
            } else if program_scan.options && is_option(self.text(at), program_scan.syntax) {
                at = self.scan_option(&mut program_scan, at..range.end);
            } else if let Some(next) = self.scan_operand(&mut program_scan, at..range.end) {
                at = next;
            } else {
                return;
            }
        }
        let reads_stdin = match program_scan.syntax.operands {
            Operands::File | Operands::Shell => {
                !program_scan.has_code && !program_scan.stdin && program_scan.operands == 0
            }
            Operands::Joined(before) => program_scan.operands <= before && before > 0 && !program_scan.has_code,
            Operands::Stdin => !program_scan.has_code && !program_scan.stdin,
            _ => false,
        };
        if reads_stdin {
            self.push(&program_scan, program_scan.program, ArgRole::Stdin);
        }
    }

    /// Reads the word at the beginning of `rest`, which is not an option; gives the number of the next, if that matters.
    fn scan_operand(&mut self, program_scan: &mut ProgramScan, rest: Range<usize>) -> Option<usize> {
        let at = rest.start;
        let chooses =
            self.words.get(at).is_some_and(|word| word.may_start_with_dash && word.text.starts_with(VALUE_MARKER));
        if chooses && program_scan.options && !program_scan.expects_code_or_program() {
            self.push(program_scan, at, ArgRole::Option);
        }
        program_scan.operands += 1;
        match program_scan.syntax.operands {
            Operands::Code if !program_scan.has_code => {
                self.push(program_scan, at, ArgRole::Code(0));
                program_scan.has_code = true;
                Some(at + 1)
            }
            Operands::Joined(before) if program_scan.operands <= before => Some(at + 1),
            Operands::Program(before) if program_scan.operands <= before => {
                program_scan.options = false;
                Some(at + 1)
            }
            Operands::Program(_) if is_assignment(self.text(at)) => {
                let name = self.text(at).split('=').next().unwrap_or_default();
                if runs_code(name) {
                    self.push(program_scan, at, ArgRole::Setting(name.len()));
                }
                program_scan.options = false;
                Some(at + 1)
            }
            Operands::Variables => {
                self.scan_variable(program_scan, at);
                Some(at + 1)
            }
            Operands::Mixed | Operands::Code | Operands::Stdin => Some(at + 1),
            Operands::File if program_scan.pipes => {
                // A file is opened as `cmd|` or `|cmd` too.
                let text = self.text(at);
                if program_scan.has_code && (text.starts_with(VALUE_MARKER) || text.ends_with(VALUE_MARKER)) {
                    self.push(program_scan, at, ArgRole::PipedFile);
                }
                (program_scan.options, program_scan.has_code) = (false, true);
                Some(at + 1)
            }
            Operands::Shell if program_scan.options && self.chooses_plus_option(program_scan, &rest) => {
                self.push(program_scan, at, ArgRole::Option);
                None
            }
            // It may be absent, and the next word the first.
            Operands::File | Operands::Shell if !program_scan.has_code && is_value(self.text(at)) => Some(at + 1),
            _ => {
                self.scan_last_operand(program_scan, rest);
                None
            }
        }
    }

    /// Reads `NAME=VALUE`, which a word with a value can be too.
    fn scan_variable(&mut self, program_scan: &ProgramScan, at: usize) {
        let Some(word) = self.words.get(at).filter(|word| !word.has_fixed_values) else { return };
        let from = if is_assignment(&word.text) { word.text.find('=') } else { word.text.find(VALUE_MARKER) };
        if let Some(from) = from {
            self.push(program_scan, at, ArgRole::Setting(from));
        }
    }

    /// Reads the first word that is not an option, where no option can follow it.
    fn scan_last_operand(&mut self, program_scan: &mut ProgramScan, rest: Range<usize>) {
        match &program_scan.syntax.operands {
            Operands::Shell if program_scan.has_code => self.push(program_scan, rest.start, ArgRole::Code(0)),
            Operands::File | Operands::Shell if names_stdin(self.text(rest.start)) && !program_scan.has_code => {
                self.push(program_scan, program_scan.program, ArgRole::Stdin);
            }
            Operands::Joined(_) => {
                self.push_code(program_scan, rest.clone());
                if !rest.clone().any(|word| self.text(word).contains(VALUE_MARKER)) {
                    self.scan_program(rest, None);
                }
            }
            Operands::Subcommand(names) if names.contains(&self.text(rest.start)) => {
                self.scan_code_words(program_scan, rest.start + 1..rest.end);
            }
            Operands::Subcommand(_) => self.scan_subcommand(program_scan, rest),
            Operands::Program(_) => {
                // No program is called `-x`: `kubectl exec POD -c NAME -- PROGRAM`.
                let is_option = self.text(rest.start).starts_with('-');
                let behind = rest.clone().find(|&at| is_option && self.text(at) == "--").map(|at| at + 1);
                self.scan_program(behind.unwrap_or(rest.start)..rest.end, Some(program_scan.syntax));
            }
            Operands::Xargs => {
                let rest = self.insert_stdin_words(program_scan.program + 1..rest.start, rest);
                self.scan_program(rest, Some(program_scan.syntax));
            }
            _ => {}
        }
    }

    /// Reads the words of a subcommand.
    fn scan_subcommand(&mut self, program_scan: &ProgramScan, rest: Range<usize>) {
        let name = self.text(rest.start);
        if name.contains(VALUE_MARKER) {
            return self.push(program_scan, rest.start, ArgRole::Program);
        }
        if name == "config" && program_scan.syntax.names.contains(&"git") {
            let words: Vec<&str> = (rest.start + 1..rest.end).map(|at| self.text(at)).collect();
            if let Some(at) = config_code_word(program_scan.syntax, &words) {
                self.push(program_scan, rest.start + 1 + at, ArgRole::Setting(0));
            }
            return;
        }
        let Some(syntax) = program_scan.syntax.subcommand(name) else {
            return self.scan_unknown(rest);
        };
        self.scan_words(ProgramScan::new(syntax, program_scan.program), rest.start + 1..rest.end);
    }

    /// Reads words of which all but the options are code.
    fn scan_code_words(&mut self, program_scan: &mut ProgramScan, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            if is_option(self.text(at), program_scan.syntax) {
                at = self.scan_option(program_scan, at..range.end);
            } else {
                self.push(program_scan, at, ArgRole::Code(0));
                at += 1;
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
            self.words.push(ArgvWord {
                text: VALUE_MARKER.to_string(),
                may_start_with_dash: true,
                has_fixed_values: false,
            });
            return rest.start..self.words.len();
        };
        for word in self.words.iter_mut().take(rest.end).skip(rest.start) {
            word.text = word.text.replace(&replaced, &VALUE_MARKER.to_string());
        }
        rest
    }

    /// Reads the words of PowerShell, whose options may be shortened and written in capitals.
    fn scan_powershell(&mut self, program_scan: &ProgramScan, range: Range<usize>) {
        for at in range.clone() {
            let text = self.text(at).to_ascii_lowercase();
            let Some(name) = text.strip_prefix("--").or(text.strip_prefix('-')).filter(|name| !name.is_empty()) else {
                if text.ends_with(".ps1") {
                    return;
                }
                continue;
            };
            if name.starts_with(VALUE_MARKER) {
                self.push(program_scan, at, ArgRole::Option);
            } else if "file".starts_with(name) {
                return;
            } else if name == "cwa" || name.len() > 7 && "commandwithargs".starts_with(name) {
                return self.push_code(program_scan, at + 1..range.end.min(at + 2));
            } else if "command".starts_with(name) || "encodedcommand".starts_with(name) || name == "ec" {
                return self.push_code(program_scan, at + 1..range.end);
            }
        }
        self.push(program_scan, program_scan.program, ArgRole::Stdin);
    }
}

/// Whether a word is a file that is stdin.
fn names_stdin(text: &str) -> bool {
    let folders: Vec<&str> = text.split('/').filter(|folder| !matches!(*folder, "" | ".")).collect();
    let is_stdin = matches!(folders[..], ["dev", "stdin"] | ["dev", "fd", "0"] | ["proc", "self", "fd", "0"]);
    text == "-" || text.starts_with('/') && is_stdin
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
    let Some(long) = option.strip_prefix("--") else { return option.strip_prefix("-i").map(named) };
    let (name, replaced) = long.split_once('=').unwrap_or((long, ""));
    (!name.is_empty() && "replace".starts_with(name)).then(|| named(replaced))
}
