//! Reads the table of programs, `programs.txt`.

use super::syntax::{Operands, ProgramSyntax, ValueUse};

/// Reads the rows of a table. A word that ends with `:` is the names of the next row, all others are its keys.
///
/// # Errors
///
/// The word that cannot be read.
pub(super) fn read_programs(text: &'static str) -> Result<Vec<ProgramSyntax>, String> {
    let mut programs = Vec::new();
    for word in text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace) {
        let read = match word.strip_suffix(':').filter(|names| !names.contains('=')) {
            Some(names) => begin_row(&mut programs, names),
            None => read_key(&mut programs, word),
        };
        read.ok_or_else(|| word.to_owned())?;
    }
    Ok(programs)
}

fn begin_row(programs: &mut Vec<ProgramSyntax>, names: &'static str) -> Option<()> {
    let Some(names) = names.strip_prefix('>') else {
        programs.push(ProgramSyntax { names: split_list(names).collect(), ..ProgramSyntax::default() });
        return Some(());
    };
    let program = programs.last_mut()?;
    let code_settings = program.code_settings.clone();
    let names = split_list(names).collect();
    program.subcommands.push(ProgramSyntax { names, code_settings, ..ProgramSyntax::default() });
    Some(())
}

fn read_key(programs: &mut [ProgramSyntax], word: &'static str) -> Option<()> {
    let (key, value) = word.split_once('=')?;
    let known = programs.iter().find(|program| program.names.contains(&value)).cloned();
    let program = programs.last_mut()?;
    let row = if program.subcommands.is_empty() { program } else { program.subcommands.last_mut()? };
    match key {
        "like" => *row = ProgramSyntax { names: row.names.clone(), ..known? },
        "severity" if value == "warning" => row.only_warns = true,
        "operands" => row.operands = operands(value)?,
        "values" => row.values = value_use(value)?,
        "code-flags" => row.code_flags = value,
        "program-flags" => row.program_flags = value,
        "value-flags" => row.value_flags = value,
        "attached-value-flags" => row.attached_value_flags = value,
        "final-flags" => row.final_flags = value,
        "setting-flags" => row.setting_flags = value,
        "stdin-flags" => row.stdin_flags = value,
        "pipe-flags" => row.pipe_flags = value,
        "double-dash" if value == "ignored" => row.ignores_double_dash = true,
        _ => list_of_key(row, key)?.extend(split_list(value)),
    }
    Some(())
}

fn list_of_key<'a>(row: &'a mut ProgramSyntax, key: &str) -> Option<&'a mut Vec<&'static str>> {
    match key {
        "code-options" => Some(&mut row.code_options),
        "program-options" => Some(&mut row.program_options),
        "value-options" => Some(&mut row.value_options),
        "two-value-options" => Some(&mut row.two_value_options),
        "setting-options" => Some(&mut row.setting_options),
        "code-settings" => Some(&mut row.code_settings),
        "commands" => Some(&mut row.commands),
        _ => None,
    }
}

fn split_list(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split(',').filter(|word| !word.is_empty())
}

fn value_use(name: &str) -> Option<ValueUse> {
    match name {
        "none" => Some(ValueUse::None),
        "data" => Some(ValueUse::Data),
        "guarded" => Some(ValueUse::Guarded),
        "script" => Some(ValueUse::Script),
        _ => None,
    }
}

fn operands(text: &'static str) -> Option<Operands> {
    let (name, detail) = text.split_once(':').unwrap_or((text, ""));
    Some(match name {
        "mixed" => Operands::Mixed,
        "file" => Operands::File,
        "shell" => Operands::Shell,
        "code" => Operands::Code,
        "stdin" => Operands::Stdin,
        "variables" => Operands::Variables,
        "joined" => Operands::Joined(detail.parse().ok()?),
        "subcommand" => Operands::Subcommand(split_list(detail).collect()),
        "program" => Operands::Program(detail.parse().ok()?),
        "xargs" => Operands::Xargs,
        "embedded" => Operands::Embedded(split_list(detail).collect()),
        "data" => Operands::Data,
        "anywhere" => Operands::Anywhere,
        "powershell" => Operands::PowerShell,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_key_names_its_word() {
        assert_eq!(read_programs("sh: code-flag=c").unwrap_err(), "code-flag=c");
        assert_eq!(read_programs("operands=shell").unwrap_err(), "operands=shell");
    }
}
