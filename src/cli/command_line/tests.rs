use std::path::Path;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::*;
use crate::cli::output::Color;
use crate::cli::serve::ListenAddress;
use crate::diagnostic::Format;

fn parse(line: &str) -> Result<CliCommand, clap::Error> {
    let words = std::iter::once("folio").chain(line.split_whitespace());
    Cli::try_parse_from(words).map(|arguments| arguments.command)
}

fn serve(line: &str) -> ServeArgs {
    match parse(line).unwrap() {
        CliCommand::Serve(serve) => serve,
        other => panic!("{other:?}"),
    }
}

fn refused(line: &str) -> (ErrorKind, String) {
    let error = parse(line).unwrap_err();
    (error.kind(), error.to_string())
}

#[test]
fn command_definition_is_valid() {
    Cli::command().debug_assert();
}

#[test]
fn serve_defaults_to_this_folder_over_stdio() {
    let plain = serve("serve");
    assert_eq!(plain.path, Path::new("."));
    assert_eq!((plain.http, plain.no_watch, plain.poll, plain.insecure), (None, false, None, false));
}

#[test]
fn http_address_is_optional() {
    assert_eq!(serve("serve desk --http").http, Some(None));
    assert_eq!(serve("serve --http 9000").http, Some(Some(ListenAddress::loopback(9000))));
    assert_eq!(serve("serve --http=:0 desk").http, Some(Some(ListenAddress::loopback(0))));
    let (kind, words) = refused("serve --http ./desk");
    assert_eq!(kind, ErrorKind::ValueValidation);
    assert!(words.contains("invalid port `./desk`, expected PORT, :PORT or HOST:PORT"), "{words}");
}

#[test]
fn poll_interval_is_optional() {
    assert_eq!(serve("serve --poll").poll.unwrap(), Duration::from_secs(1));
    for (interval, milliseconds) in [("500ms", 500), ("2s", 2_000), ("1m", 60_000), ("24h", 86_400_000)] {
        let arguments = serve(&format!("serve --poll {interval}"));
        assert_eq!(arguments.poll.unwrap(), Duration::from_millis(milliseconds), "{interval}");
    }
    for interval in ["5", "s", "1.5s", "2sec", "99999999999999999999s"] {
        let (_, words) = refused(&format!("serve --poll {interval}"));
        assert!(words.contains(&format!("invalid interval `{interval}`, expected a number and a unit")), "{words}");
    }
    for interval in ["0s", "25h"] {
        let (_, words) = refused(&format!("serve --poll {interval}"));
        assert!(words.contains(&format!("interval `{interval}` out of range: 1ms to 24h")), "{words}");
    }
}

#[test]
fn conflicting_options_are_refused() {
    assert_eq!(refused("serve --no-watch --poll").0, ErrorKind::ArgumentConflict);
    assert_eq!(refused("serve --insecure").0, ErrorKind::MissingRequiredArgument);
}

#[test]
fn check_takes_format_and_strict() {
    let CliCommand::Check(check) = parse("check desk --format lines --strict").unwrap() else { panic!() };
    assert_eq!((check.paths[0].as_path(), check.format, check.strict), (Path::new("desk"), Format::Lines, true));
    let (kind, words) = refused("check --format jsn");
    assert_eq!(kind, ErrorKind::InvalidValue);
    assert!(words.contains("'json'"), "{words}");
}

#[test]
fn get_call_and_read_take_a_file_option() {
    let CliCommand::Get(get) = parse("get greet who=Ada n=-1 -f desk").unwrap() else { panic!() };
    assert_eq!((get.name.as_str(), get.request.file.as_path()), ("greet", Path::new("desk")));
    assert_eq!(get.arguments, ["who=Ada", "n=-1"]);
    let CliCommand::Call(call) = parse("call --file desk search").unwrap() else { panic!() };
    assert_eq!(
        (call.name.as_str(), call.request.file.as_path(), call.arguments.len()),
        ("search", Path::new("desk"), 0)
    );
    let CliCommand::Read(read) = parse("read docs://policy").unwrap() else { panic!() };
    assert_eq!((read.uri.as_str(), read.request.file.as_path()), ("docs://policy", Path::new(".")));
}

#[test]
fn global_options_are_accepted_anywhere() {
    for line in ["--log-level debug --color never schema", "schema --log-level debug --color never"] {
        let words = std::iter::once("folio").chain(line.split_whitespace());
        let arguments = Cli::try_parse_from(words).unwrap();
        assert_eq!(arguments.global.color, Color::Never);
        assert_eq!(arguments.global.log_level, "debug".parse().unwrap());
    }
    assert!(refused("schema --log-level lowd").1.contains("invalid log level `lowd`"));
}

#[test]
fn an_unknown_subcommand_gets_a_suggestion() {
    let (kind, words) = refused("chekc");
    assert_eq!(kind, ErrorKind::InvalidSubcommand);
    assert!(words.contains("'check'"), "{words}");
}

#[test]
fn missing_subcommand_prints_help_and_exits_2() {
    let error = parse("").unwrap_err();
    assert_eq!((error.kind(), error.exit_code()), (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, 2));
    assert!(error.to_string().contains("Exit status"));
}

#[test]
fn every_help_text_has_an_example() {
    let help = Cli::command().render_long_help().to_string();
    for line in
        ["folio: 1", "        text: \"Say hello to {{who}}.\"", "folio init hello", "folio get greet who=Ada -f hello"]
    {
        assert!(help.contains(line), "{line} in {help}");
    }
    for command in Cli::command().get_subcommands_mut() {
        let help = command.render_help().to_string();
        assert!(help.contains("Example"), "{help}");
        assert!(
            help.lines().skip_while(|line| !line.starts_with("Example")).any(|line| line.contains("  folio ")),
            "{help}"
        );
    }
}

#[test]
fn exit_codes_are_0_1_and_2() {
    assert_eq!([Exit::Success, Exit::Failure, Exit::CannotRun].map(Exit::code), [0, 1, 2]);
}
