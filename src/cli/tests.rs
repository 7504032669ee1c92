#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::*;
use crate::diagnostic::Format;

fn parse(line: &str) -> Result<Command, clap::Error> {
    let words = std::iter::once("folio").chain(line.split_whitespace());
    Arguments::try_parse_from(words).map(|arguments| arguments.command)
}

fn serve(line: &str) -> Serve {
    match parse(line).unwrap() {
        Command::Serve(serve) => serve,
        other => panic!("{other:?}"),
    }
}

fn refused(line: &str) -> (ErrorKind, String) {
    let error = parse(line).unwrap_err();
    (error.kind(), error.to_string())
}

#[test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn serving_is_of_this_folder_over_stdin_unless_asked_otherwise() {
    let plain = serve("serve");
    assert_eq!(plain.path, Path::new("."));
    assert_eq!((plain.http, plain.no_watch, plain.poll, plain.insecure), (None, false, None, false));
}

#[test]
fn http_is_given_with_and_without_an_address() {
    assert_eq!(serve("serve desk --http").http, Some(None));
    assert_eq!(serve("serve --http 9000").http, Some(Some(Address::loopback(9000))));
    assert_eq!(serve("serve --http=:0 desk").http, Some(Some(Address::loopback(0))));
    let (kind, words) = refused("serve --http ./desk");
    assert_eq!(kind, ErrorKind::ValueValidation);
    assert!(words.contains("`./desk` is no port: write PORT, :PORT or HOST:PORT"), "{words}");
}

#[test]
fn polling_has_an_interval() {
    assert_eq!(serve("serve --poll").poll.unwrap().duration(), Duration::from_secs(1));
    assert_eq!(serve("serve --poll 500ms").poll.unwrap().duration(), Duration::from_millis(500));
    let (_, words) = refused("serve --poll 5");
    assert!(words.contains("`5` is no length of time"), "{words}");
}

#[test]
fn options_that_make_no_sense_together_are_refused() {
    assert_eq!(refused("serve --no-watch --poll").0, ErrorKind::ArgumentConflict);
    assert_eq!(refused("serve --insecure").0, ErrorKind::MissingRequiredArgument);
}

#[test]
fn checking_takes_a_form_and_strictness() {
    let Command::Check(check) = parse("check desk --format lines --strict").unwrap() else { panic!() };
    assert_eq!((check.path.as_path(), check.format, check.strict), (Path::new("desk"), Format::Lines, true));
    let (kind, words) = refused("check --format jsn");
    assert_eq!(kind, ErrorKind::InvalidValue);
    assert!(words.contains("'json'"), "{words}");
}

#[test]
fn getting_calling_and_reading_take_a_manifest_by_option() {
    let Command::Get(get) = parse("get greet who=Ada n=-1 -f desk").unwrap() else { panic!() };
    assert_eq!((get.name.as_str(), get.file.as_path()), ("greet", Path::new("desk")));
    assert_eq!(get.arguments, ["who=Ada", "n=-1"]);
    let Command::Call(call) = parse("call --file desk search").unwrap() else { panic!() };
    assert_eq!((call.name.as_str(), call.file.as_path(), call.arguments.len()), ("search", Path::new("desk"), 0));
    let Command::Read(read) = parse("read docs://policy").unwrap() else { panic!() };
    assert_eq!((read.uri.as_str(), read.file.as_path()), ("docs://policy", Path::new(".")));
}

#[test]
fn global_options_stand_anywhere() {
    for line in ["--log-level debug --color never schema", "schema --log-level debug --color never"] {
        let words = std::iter::once("folio").chain(line.split_whitespace());
        let arguments = Arguments::try_parse_from(words).unwrap();
        assert_eq!(arguments.common.color, Color::Never);
        assert_eq!(arguments.common.log_level, "debug".parse().unwrap());
    }
    assert!(refused("schema --log-level lowd").1.contains("`lowd` is no level"));
}

#[test]
fn an_unknown_subcommand_gets_a_suggestion() {
    let (kind, words) = refused("chekc");
    assert_eq!(kind, ErrorKind::InvalidSubcommand);
    assert!(words.contains("'check'"), "{words}");
}

#[test]
fn alone_it_prints_help_and_that_is_a_wrong_command_line() {
    let error = parse("").unwrap_err();
    assert_eq!((error.kind(), error.exit_code()), (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, 2));
    assert!(error.to_string().contains("Exit status"));
}

#[test]
fn help_shows_a_whole_server_and_every_subcommand_an_example() {
    let help = Arguments::command().render_long_help().to_string();
    for line in
        ["folio: 1", "        text: \"Say hello to {{who}}.\"", "folio init hello", "folio get greet who=Ada -f hello"]
    {
        assert!(help.contains(line), "{line} in {help}");
    }
    for command in Arguments::command().get_subcommands_mut() {
        let help = command.render_help().to_string();
        assert!(help.contains("Example"), "{help}");
        assert!(
            help.lines().skip_while(|line| !line.starts_with("Example")).any(|line| line.contains("  folio ")),
            "{help}"
        );
    }
}

#[test]
fn the_outcomes_are_zero_one_and_two() {
    assert_eq!([Exit::Success, Exit::Failed, Exit::Unusable].map(Exit::code), [0, 1, 2]);
}
