//! Reads the options of a program, and what stands behind them.

use std::ops::Range;

use super::{ArgRole, ArgvScan, ProgramScan, VALUE_MARKER, names_stdin};
use crate::action::program::code_injection::option_argument::{
    OptionArgument, is_file_option, option_argument, option_letters, short_flags, value_flag,
};
use crate::action::program::code_injection::syntax::Operands;
use crate::action::program::code_injection::variables::runs_code;

impl ArgvScan {
    /// Reads the option at the beginning of `rest`; gives the number of the word behind it.
    pub(super) fn scan_option(&mut self, program_scan: &mut ProgramScan, rest: Range<usize>) -> usize {
        let (at, syntax, text) = (rest.start, program_scan.syntax, self.text(rest.start).to_owned());
        self.note_option_letters(program_scan, &text);
        let names_file = syntax.operands == Operands::Code && is_file_option(syntax, &text);
        match option_argument(syntax, &text) {
            OptionArgument::Skip(count) => {
                program_scan.has_code |= names_file;
                self.scan_setting(program_scan, at + count);
                at + 1 + count
            }
            OptionArgument::Unknown => {
                self.push(program_scan, at, ArgRole::Option);
                at + 1
            }
            OptionArgument::Code(from) => {
                program_scan.has_code = true;
                let word = if from.is_some() { at } else { at + 1 };
                if word < rest.end {
                    self.push(program_scan, word, ArgRole::Code(from.unwrap_or(0)));
                }
                word + 1
            }
            OptionArgument::Program(from) => {
                program_scan.has_code |= names_file;
                let word = if from.is_some() { at } else { at + 1 };
                if word < rest.end {
                    let from = from.unwrap_or(0);
                    let is_stdin = self.text(word).get(from..).is_some_and(names_stdin);
                    let role = if is_stdin { ArgRole::Stdin } else { ArgRole::ProgramOption(from) };
                    self.push(program_scan, if is_stdin { program_scan.program } else { word }, role);
                }
                word + 1
            }
        }
    }

    /// Notes what the letters of an option say of the words that follow.
    fn note_option_letters(&mut self, program_scan: &mut ProgramScan, text: &str) {
        let syntax = program_scan.syntax;
        program_scan.has_code |= syntax.operands == Operands::Shell && short_flags(text).contains('c');
        if value_flag(syntax, text).is_some_and(|character| syntax.final_flags.contains(character)) {
            (program_scan.options, program_scan.has_code) = (false, true);
        }
        let letters = option_letters(syntax, text);
        program_scan.pipes |= letters.contains(|letter| syntax.pipe_flags.contains(letter));
        if letters.contains(|letter| syntax.stdin_flags.contains(letter)) {
            self.push(program_scan, program_scan.program, ArgRole::Stdin);
            program_scan.stdin = true;
        }
    }

    /// Whether the word at the beginning of `rest` may be `+c`, which makes the next word, with a value in it, code.
    pub(super) fn chooses_plus_option(&self, program_scan: &ProgramScan, rest: &Range<usize>) -> bool {
        let mut behind = (rest.start + 1..rest.end).map(|at| self.text(at));
        !program_scan.has_code
            && self.text(rest.start).starts_with(VALUE_MARKER)
            && behind
                .find(|text| !text.starts_with('-') || short_flags(text).contains('c'))
                .is_some_and(|text| !text.starts_with('-') && text.contains(VALUE_MARKER))
    }

    /// Reads `NAME=VALUE` behind an option, in its own word or the next.
    fn scan_setting(&mut self, program_scan: &ProgramScan, word: usize) {
        let (syntax, text) = (program_scan.syntax, self.text(word));
        let is_letter = |option: &str| {
            let character = value_flag(syntax, option).filter(|_| option.starts_with('-'));
            character.filter(|character| syntax.setting_flags.contains(*character))
        };
        let is_name = |option: &str| {
            let name = option.strip_prefix("--").filter(|name| !name.is_empty());
            name.is_some_and(|name| syntax.setting_options.iter().any(|whole| whole.starts_with(name)))
        };
        let attached = is_letter(text).and_then(|character| text.find(character)).map(|at| at + 1);
        let named = text.split_once('=').filter(|(option, _)| is_name(option)).map(|(option, _)| option.len() + 1);
        let from = attached.or(named).unwrap_or(0);
        let before = self.text(word - 1);
        if from == 0 && is_letter(before).is_none() && !is_name(before) {
            return;
        }
        let setting = text.get(from..).unwrap_or_default();
        let name = setting.split(['=', ' ']).next().unwrap_or_default();
        if name.contains(VALUE_MARKER) || syntax.is_code_setting(name) || runs_code(name) {
            self.push(program_scan, word, ArgRole::Setting(from));
        }
    }
}
