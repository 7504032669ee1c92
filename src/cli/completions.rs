//! `folio completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Arguments, Completions, Exit, Output};

/// Prints the script that completes folio's command line in a shell.
pub(super) fn run(arguments: &Completions, output: &Output) -> anyhow::Result<Exit> {
    output.print_bytes(&script(arguments.shell))?;
    Ok(Exit::Success)
}

fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "folio", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_shell_learns_every_subcommand() {
        for shell in Shell::value_variants() {
            let script = String::from_utf8_lossy(&script(*shell)).into_owned();
            for command in Arguments::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}
