//! Reads programs that start another one somewhere among their words, and those that are not known.

use std::ops::Range;

use super::{ArgRole, ArgvScan, ProgramScan, VALUE_MARKER};
use crate::action::program::code_injection::option_argument::{
    OptionArgument, option_argument, short_flags, value_flag,
};
use crate::action::program::code_injection::programs::{PATTERN_PROGRAMS, UNKNOWN_PROGRAM, syntax_of};
use crate::action::program::code_injection::syntax::ProgramSyntax;

/// Options that take code in many programs.
const COMMON_CODE_OPTIONS: &[&str] = &["-c", "-e", "-E", "-ex", "--eval", "--command", "--exec", "-Command"];

/// How the names of scripts end.
const SCRIPT_ENDINGS: &[&str] = &[".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua"];

impl ArgvScan {
    /// Reads each interpreter among the words, for an image, a container or a user may be called like one.
    pub(super) fn scan_anywhere(&mut self, program_scan: &ProgramScan, range: Range<usize>) {
        self.scan_launcher_options(program_scan, range.clone());
        let syntax = program_scan.syntax;
        let starting = range.clone().find_map(|at| Some((at, syntax.subcommand(self.text(at))?)));
        let Some((at, subcommand)) = starting else { return };
        self.scan_words(ProgramScan::new(subcommand, program_scan.program), at + 1..range.end);
        for at in range.clone() {
            if syntax_of(self.text(at)).is_some_and(ProgramSyntax::reads_code_or_starts_programs) {
                self.scan_program(at..range.end, None);
            }
        }
    }

    /// Reads the options of a launcher that name a program, up to the program that it starts.
    fn scan_launcher_options(&mut self, program_scan: &ProgramScan, range: Range<usize>) {
        for at in range.clone() {
            if !self.text(at).starts_with('-') && syntax_of(self.text(at)).is_some() {
                return;
            }
            if let OptionArgument::Program(from) = option_argument(program_scan.syntax, self.text(at)) {
                let word = if from.is_some() { at } else { at + 1 };
                self.push(program_scan, word, ArgRole::ProgramOption(from.unwrap_or(0)));
                self.scan_entrypoint(word, from.unwrap_or(0), range.end);
            }
        }
    }

    /// Reads `-c CODE`, which stands behind the image, for the program that `--entrypoint` names from this byte of the word on.
    fn scan_entrypoint(&mut self, word: usize, from: usize, end: usize) {
        let Some(syntax) = self.text(word).get(from..).and_then(syntax_of) else { return };
        let script = (word + 1..end)
            .find(|&at| SCRIPT_ENDINGS.iter().any(|ending| self.text(at).ends_with(ending)))
            .unwrap_or(end);
        let takes_code = |text: &str| text.starts_with('-') && short_flags(text).contains('c');
        if let Some(at) = (word + 1..script).find(|&at| takes_code(self.text(at))) {
            self.scan_words(ProgramScan::new(syntax, word), at..end);
        }
    }

    /// Reads the programs between `-exec` and `;`.
    pub(super) fn scan_embedded(&mut self, syntax: &'static ProgramSyntax, flags: &[&str], range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            if let Some(start) = self.embedded_start(syntax, flags, at) {
                let ends = |at: usize| self.text(at) == ";" || self.text(at) == "+" && self.text(at - 1) == "{}";
                at = (start..range.end).find(|&at| ends(at)).unwrap_or(range.end);
                self.scan_program(start..at, Some(syntax));
            }
            at += 1;
        }
    }

    /// Where the command of an option such as `-exec` starts. Of `--exec=PROGRAM` it leaves the program alone.
    fn embedded_start(&mut self, syntax: &ProgramSyntax, flags: &[&str], at: usize) -> Option<usize> {
        let text = self.text(at);
        if let Some((flag, program)) = text.split_once('=')
            && flag.starts_with("--")
            && flags.contains(&flag)
        {
            let program = program.to_owned();
            self.words.iter_mut().skip(at).take(1).for_each(|word| word.text.clone_from(&program));
            return Some(at);
        }
        // `-Hx` is `-H -x`.
        let is_cluster = text.len() > 2 && short_flags(text) == text && value_flag(syntax, text).is_none();
        let last = text.chars().last().filter(|_| is_cluster).map(|letter| format!("-{letter}"));
        (flags.contains(&text) || last.is_some_and(|last| flags.contains(&last.as_str()))).then_some(at + 1)
    }

    /// Reads a program that is not in the table: what stands behind an option that often takes code, and looks like it.
    pub(super) fn scan_unknown(&mut self, range: Range<usize>) {
        let program = self.text(range.start).rsplit('/').next().unwrap_or_default();
        if PATTERN_PROGRAMS.contains(&program) {
            return;
        }
        let program_scan = ProgramScan::new(&UNKNOWN_PROGRAM, range.start);
        for at in range.start + 1..range.end {
            let text = self.text(at);
            let attached = text.split_once('=').filter(|(name, _)| name.starts_with("--")).map(|(name, _)| name);
            let names_program = |option: &str| UNKNOWN_PROGRAM.program_options.contains(&option);
            let option = attached.unwrap_or_else(|| self.text(at - 1));
            if names_program(option) && text.contains(VALUE_MARKER) {
                let from = attached.map_or(0, |name| name.len() + 1);
                self.push(&program_scan, at, ArgRole::ProgramOption(from));
                continue;
            }
            let from = match attached {
                Some(name) if COMMON_CODE_OPTIONS.contains(&name) => name.len() + 1,
                _ if COMMON_CODE_OPTIONS.contains(&self.text(at - 1)) => 0,
                _ => continue,
            };
            if text.get(from..).is_some_and(mixes_code_and_value) {
                self.push(&program_scan, at, ArgRole::Code(from));
            }
        }
    }
}

/// Whether a value stands beside text that looks like code.
fn mixes_code_and_value(text: &str) -> bool {
    text.contains(VALUE_MARKER)
        && text.contains(|character: char| character.is_whitespace() || ";|&$()".contains(character))
}
