//! `folio completions`: a script that knows the command line, and asks `folio candidates` for the names of a manifest.

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use crate::cli::{Exit, Output};

/// Prints the script that completes folio's command line in a shell.
pub(crate) fn run(shell: Shell, output: &Output) -> anyhow::Result<Exit> {
    output.print_bytes(&completion_script(shell))?;
    Ok(Exit::Success)
}

fn completion_script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "folio", &mut script);
    match shell {
        Shell::Bash => script.extend(BASH_CANDIDATES.as_bytes()),
        Shell::Fish => script.extend(FISH_CANDIDATES.as_bytes()),
        Shell::Zsh => {
            let text = String::from_utf8_lossy(&script).replacen(ZSH_START, &format!("{ZSH_CANDIDATES}{ZSH_START}"), 1);
            script = text.into_bytes();
        }
        _ => {}
    }
    script
}

/// Readline replaces only what follows the last `=` or `:`.
const BASH_CANDIDATES: &str = r#"
_folio_candidates() {
    local line="${COMP_LINE:0:COMP_POINT}" program="${COMP_WORDS[0]/#\~/$HOME}" candidate word kept
    word="${line##*[[:space:]]}"
    kept="${word%"${word##*[=:]}"}"
    COMPREPLY=()
    while IFS= read -r candidate; do
        case "$candidate" in *[=/]) compopt -o nospace 2>/dev/null ;; esac
        COMPREPLY+=("$(printf '%q' "${candidate#"$kept"}")")
    done < <("$program" candidates -- "$line" 2>/dev/null)
    if [ "${#COMPREPLY[@]}" -eq 0 ]; then
        _folio "$@"
    fi
}
complete -F _folio_candidates -o nosort -o bashdefault -o default folio 2>/dev/null ||
    complete -F _folio_candidates -o bashdefault -o default folio
"#;

/// Where the script of zsh begins to complete, if it is loaded as a function.
const ZSH_START: &str = "if [ \"$funcstack[1]\" = \"_folio\" ]; then";

const ZSH_CANDIDATES: &str = r#"functions[_folio_of_clap]=$functions[_folio]
_folio() {
    local -a found named
    found=("${(@f)$("${(Q)words[1]}" candidates -- "$LBUFFER" 2>/dev/null)}")
    found=("${(@)found:#}")
    named=("${(@M)found:#*[=/]}")
    found=("${(@)found:#*[=/]}")
    if (( $#found + $#named )); then
        (( $#named )) && compadd -S '' -a named
        (( $#found )) && compadd -a found
        return 0
    fi
    _folio_of_clap "$@"
}

"#;

const FISH_CANDIDATES: &str = r#"
function __folio_candidates
    folio candidates -- (commandline -cp) 2>/dev/null
end
complete -c folio -n '__fish_seen_subcommand_from get call read remove trust update' -a '(__folio_candidates)'
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn scripts_of_three_shells_ask_for_candidates() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8_lossy(&completion_script(shell)).into_owned();
            assert!(script.contains(" candidates -- "), "{shell}");
        }
    }

    #[test]
    fn every_shell_completes_every_subcommand() {
        for shell in Shell::value_variants() {
            let script = String::from_utf8_lossy(&completion_script(*shell)).into_owned();
            for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}
