//! Which elements of an argv are code, and which program runs it.

use std::ops::Range;

use super::table::{Operands, Row, row};

/// What stands for a value in the text of a word. No text of a manifest can hold it.
pub(super) const HOLE: char = '\0';

/// One element of argv, as far as it is known at load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Its text, with a [`HOLE`] for each value.
    pub(super) text: String,
    /// Whether a value that it begins with may begin with `-`.
    pub(super) may_dash: bool,
}

/// What an element is to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Code, from this byte of the word on.
    Code(usize),
    /// An option that a value chooses.
    Option,
    /// A program that a value chooses.
    Program,
    /// The program reads code from stdin.
    Stdin,
}

/// An element of argv that matters.
pub(super) struct Found {
    /// Its number.
    pub(super) word: usize,
    /// What it is.
    pub(super) role: Role,
    /// The number of the program that runs it.
    pub(super) program: usize,
    /// What is known of that program.
    pub(super) row: &'static Row,
    /// Whether a value is part of it.
    pub(super) holds_value: bool,
}

/// Finds what a program, and those that it starts, take for code. `fed` is whether values come through stdin.
pub(super) fn scan(words: Vec<Word>, fed: bool) -> Vec<Found> {
    let end = words.len();
    let mut scan = Scan { words, fed, found: Vec::new() };
    scan.program(0..end, None);
    scan.found
}

struct Scan {
    words: Vec<Word>,
    fed: bool,
    found: Vec<Found>,
}

/// What one option asks for.
enum Asked {
    /// So many of the next words, none of which is code.
    Words(usize),
    /// Code: from this byte of the word on, or the next word.
    Code(Option<usize>),
    /// A value says which option it is.
    Chosen,
}

/// What is known of a program while its words are read.
struct Reading {
    row: &'static Row,
    program: usize,
    /// Whether options may still come.
    options: bool,
    /// Whether an option has given code, or announced it.
    coded: bool,
    /// Whether an option says that code comes through stdin.
    stdin: bool,
    /// How many words were no options.
    operands: usize,
}

impl Scan {
    /// Reads a program and its words. `starter` is the row of the program that starts it.
    fn program(&mut self, range: Range<usize>, starter: Option<&'static Row>) {
        if range.is_empty() {
            return;
        }
        if self.text(range.start).contains(HOLE) {
            let (word, program) = (range.start, range.start.saturating_sub(1));
            let chosen = starter.map(|row| Found { word, role: Role::Program, program, row, holds_value: true });
            self.found.extend(chosen);
            return;
        }
        let Some(row) = row(self.text(range.start)) else { return };
        let reading = Reading { row, program: range.start, options: true, coded: false, stdin: false, operands: 0 };
        let words = range.start + 1..range.end;
        match row.operands {
            Operands::Embedded(flags) => self.embedded(row, flags, words),
            Operands::Anywhere => self.anywhere(words),
            Operands::PowerShell => self.powershell(&reading, words),
            _ => self.words_of(reading, words),
        }
    }

    fn text(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| &word.text)
    }

    fn push(&mut self, reading: &Reading, word: usize, role: Role) {
        let from = if let Role::Code(from) = role { from } else { 0 };
        let holds_value = match role {
            Role::Stdin => self.fed,
            _ => self.text(word).get(from..).is_some_and(|text| text.contains(HOLE)),
        };
        self.found.push(Found { word, role, program: reading.program, row: reading.row, holds_value });
    }

    fn push_code(&mut self, reading: &Reading, words: Range<usize>) {
        words.for_each(|word| self.push(reading, word, Role::Code(0)));
    }

    /// Reads what stands behind a program, as most programs do.
    fn words_of(&mut self, mut reading: Reading, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            if reading.options && self.text(at) == "--" {
                reading.options = false;
                at += 1;
            } else if reading.options && is_option(self.text(at), reading.row) {
                at = self.option(&mut reading, at..range.end);
            } else if let Some(next) = self.operand(&mut reading, at..range.end) {
                at = next;
            } else {
                return;
            }
        }
        let reads_stdin = match reading.row.operands {
            Operands::File | Operands::Shell => !reading.coded && !reading.stdin && reading.operands == 0,
            Operands::Joined(before) => reading.operands == before && before > 0,
            _ => false,
        };
        if reads_stdin {
            self.push(&reading, reading.program, Role::Stdin);
        }
    }

    /// Reads the option at the beginning of `rest`; gives the number of the word behind it.
    fn option(&mut self, reading: &mut Reading, rest: Range<usize>) -> usize {
        let (at, row, text) = (rest.start, reading.row, self.text(rest.start).to_owned());
        reading.coded |= row.operands == Operands::Shell && letters(&text).contains('c');
        if telling_letter(row, &text).is_some_and(|letter| row.last.contains(letter)) {
            (reading.options, reading.coded) = (false, true);
        }
        if row.operands == Operands::Shell && letters(&text).contains('s') {
            self.push(reading, reading.program, Role::Stdin);
            reading.stdin = true;
        }
        match asked(row, &text) {
            Asked::Words(count) => {
                reading.coded |= row.operands == Operands::Code && names_file(row, &text);
                at + 1 + count
            }
            Asked::Chosen => {
                self.push(reading, at, Role::Option);
                at + 1
            }
            Asked::Code(from) => {
                reading.coded = true;
                let word = if from.is_some() { at } else { at + 1 };
                if word < rest.end {
                    self.push(reading, word, Role::Code(from.unwrap_or(0)));
                }
                word + 1
            }
        }
    }

    /// Reads the word at the beginning of `rest`, which is no option; gives the number of the next, if that matters.
    fn operand(&mut self, reading: &mut Reading, rest: Range<usize>) -> Option<usize> {
        let at = rest.start;
        let chooses = self.words.get(at).is_some_and(|word| word.may_dash && word.text.starts_with(HOLE));
        let is_code = match reading.row.operands {
            Operands::Shell => reading.coded,
            Operands::Code => !reading.coded,
            Operands::Program(before) => reading.operands >= before,
            Operands::Fed => true,
            _ => false,
        };
        if chooses && reading.options && !is_code {
            self.push(reading, at, Role::Option);
        }
        reading.operands += 1;
        match reading.row.operands {
            Operands::Code if !reading.coded => {
                self.push(reading, at, Role::Code(0));
                reading.coded = true;
                Some(at + 1)
            }
            Operands::Joined(before) if reading.operands <= before => Some(at + 1),
            Operands::Program(before) if reading.operands <= before => {
                reading.options = false;
                Some(at + 1)
            }
            Operands::Program(_) if assigns(self.text(at)) => {
                reading.options = false;
                Some(at + 1)
            }
            Operands::Mixed | Operands::Code => Some(at + 1),
            // It may be absent, and the next word the first.
            Operands::File | Operands::Shell if !reading.coded && is_value(self.text(at)) => Some(at + 1),
            _ => {
                self.last_operand(reading, rest);
                None
            }
        }
    }

    /// Reads the first word that is no option, where no option can follow it.
    fn last_operand(&mut self, reading: &Reading, rest: Range<usize>) {
        match reading.row.operands {
            Operands::Shell if reading.coded => self.push(reading, rest.start, Role::Code(0)),
            Operands::File | Operands::Shell if self.text(rest.start) == "-" && !reading.coded => {
                self.push(reading, reading.program, Role::Stdin);
            }
            Operands::Joined(_) => {
                self.push_code(reading, rest.clone());
                if !rest.clone().any(|word| self.text(word).contains(HOLE)) {
                    self.program(rest, None);
                }
            }
            Operands::Subcommand(names) if names.contains(&self.text(rest.start)) => {
                self.push_code(reading, rest.start + 1..rest.end);
            }
            Operands::Program(_) => self.program(rest, Some(reading.row)),
            Operands::Fed => {
                let rest = self.feed(reading.program + 1..rest.start, rest);
                self.program(rest, Some(reading.row));
            }
            _ => {}
        }
    }

    /// Puts what `xargs` reads from stdin where it will stand among the words of the program that it starts.
    fn feed(&mut self, options: Range<usize>, rest: Range<usize>) -> Range<usize> {
        if !self.fed {
            return rest;
        }
        let Some(replaced) = options.clone().find_map(|at| replacement(self.text(at), self.text(at + 1))) else {
            self.words.truncate(rest.end);
            self.words.push(Word { text: HOLE.to_string(), may_dash: true });
            return rest.start..self.words.len();
        };
        for word in self.words.iter_mut().take(rest.end).skip(rest.start) {
            word.text = word.text.replace(&replaced, &HOLE.to_string());
        }
        rest
    }

    /// Reads the programs between `-exec` and `;`.
    fn embedded(&mut self, row: &'static Row, flags: &[&str], range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let start = at + 1;
            if flags.contains(&self.text(at)) {
                let ends = |at: usize| self.text(at) == ";" || self.text(at) == "+" && self.text(at - 1) == "{}";
                at = (start..range.end).find(|&at| ends(at)).unwrap_or(range.end);
                self.program(start..at, Some(row));
            }
            at += 1;
        }
    }

    /// Reads the first known program, wherever it stands.
    fn anywhere(&mut self, range: Range<usize>) {
        let known = |at: &usize| !self.text(*at).starts_with('-') && row(self.text(*at)).is_some();
        if let Some(at) = range.clone().find(known) {
            self.program(at..range.end, None);
        }
    }

    /// Reads the words of PowerShell, whose options may be shortened and written in capitals.
    fn powershell(&mut self, reading: &Reading, range: Range<usize>) {
        for at in range.clone() {
            let text = self.text(at).to_ascii_lowercase();
            let Some(name) = text.strip_prefix('-').filter(|name| !name.is_empty()) else {
                if text.ends_with(".ps1") {
                    return;
                }
                continue;
            };
            if name.starts_with(HOLE) {
                self.push(reading, at, Role::Option);
            } else if "file".starts_with(name) {
                return;
            } else if name == "cwa" || name.len() > 7 && "commandwithargs".starts_with(name) {
                return self.push_code(reading, at + 1..range.end.min(at + 2));
            } else if "command".starts_with(name) || "encodedcommand".starts_with(name) || name == "ec" {
                return self.push_code(reading, at + 1..range.end);
            }
        }
        self.push(reading, reading.program, Role::Stdin);
    }
}

/// Whether a word is exactly one value.
fn is_value(text: &str) -> bool {
    text.len() == HOLE.len_utf8() && text.starts_with(HOLE)
}

fn is_option(text: &str, row: &Row) -> bool {
    let plus = row.operands == Operands::Shell && text.starts_with('+');
    text.len() > 1 && (text.starts_with('-') || plus)
}

/// The letters of a short option, up to a value.
fn letters(text: &str) -> &str {
    let known = text.split(HOLE).next().unwrap_or_default();
    if known.starts_with("--") { "" } else { known }
}

/// The letter of a short option that takes what stands behind it.
fn telling_letter(row: &Row, text: &str) -> Option<char> {
    letters(text)
        .chars()
        .skip(1)
        .find(|&letter| [row.code, row.operand, row.attached].iter().any(|all| all.contains(letter)))
}

fn asked(row: &Row, text: &str) -> Asked {
    if row.code_names.contains(&text) {
        return Asked::Code(None);
    }
    match text.strip_prefix("--") {
        Some(long) => asked_by_name(row, long),
        None => asked_by_letters(row, text),
    }
}

fn asked_by_name(row: &Row, long: &str) -> Asked {
    let (name, given) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
    if name.contains(HOLE) {
        return Asked::Chosen;
    }
    let is = |whole: &str| whole == name || name.len() > 2 && whole.starts_with(name);
    if row.code_names.iter().filter_map(|whole| whole.strip_prefix("--")).any(is) {
        return Asked::Code(given.then_some(name.len() + 3));
    }
    match name {
        _ if given => Asked::Words(0),
        _ if row.operand_names.contains(&name) => Asked::Words(1),
        _ if row.pair_names.contains(&name) => Asked::Words(2),
        _ => Asked::Words(0),
    }
}

fn asked_by_letters(row: &Row, text: &str) -> Asked {
    for (at, letter) in text.char_indices().skip(1) {
        let rest = at + letter.len_utf8();
        if letter == HOLE {
            return Asked::Chosen;
        }
        if row.code.contains(letter) {
            return Asked::Code((rest < text.len()).then_some(rest));
        }
        if row.operand.contains(letter) {
            return Asked::Words(usize::from(rest == text.len()));
        }
        if row.attached.contains(letter) {
            break;
        }
    }
    Asked::Words(0)
}

/// Whether an option says which file holds the code.
fn names_file(row: &Row, text: &str) -> bool {
    text.starts_with("--file") || text.starts_with("--from-file") || telling_letter(row, text) == Some('f')
}

/// Whether a word gives a variable a value.
fn assigns(text: &str) -> bool {
    text.split(HOLE).next().is_some_and(|known| known.contains('='))
}

/// What `xargs` replaces with what it reads, where this option says so.
fn replacement(option: &str, next: &str) -> Option<String> {
    let named = |text: &str| if text.is_empty() { "{}".to_owned() } else { text.to_owned() };
    if option == "-I" || option == "-J" {
        return Some(next.to_owned()).filter(|next| !next.is_empty());
    }
    let attached = ["--replace=", "--replace", "-I", "-i"].iter().find_map(|prefix| option.strip_prefix(prefix));
    attached.map(named)
}
