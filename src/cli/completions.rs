//! `folio completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, CompletionsArgs, Exit, Output};

/// Prints the script that completes folio's command line in a shell.
pub(super) fn run(arguments: &CompletionsArgs, output: &Output) -> anyhow::Result<Exit> {
    output.print_bytes(&completion_script(arguments.shell))?;
    Ok(Exit::Success)
}

fn completion_script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "folio", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_shell_completes_every_subcommand() {
        for shell in Shell::value_variants() {
            let script = String::from_utf8_lossy(&completion_script(*shell)).into_owned();
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}
