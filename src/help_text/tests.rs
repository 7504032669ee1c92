#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::option::parse_option;
use super::parse_help;

/// The spelling of an option, its value, the choices of that, and whether it is repeated.
fn option(spec: &str, about: &str) -> String {
    let Some(option) = parse_option(spec, about) else { return "unread".to_owned() };
    let value = option.value.map_or(String::new(), |value| {
        let choices = if value.choices.is_empty() { value.name } else { value.choices.join("|") };
        format!(" {choices}{}", if value.is_optional { "?" } else { "" })
    });
    format!("{}{value}{}", option.spelling, if option.is_repeated { " ..." } else { "" })
}

#[test]
fn options_of_every_format_are_read() {
    for (spec, expected) in [
        ("-v, --verbose", "--verbose"),
        ("-v, --verbose...", "--verbose ..."),
        ("-o, --output <FILE>", "--output FILE"),
        ("--tag <TAG>...", "--tag TAG ..."),
        ("-o OUT, --out OUT", "--out OUT"),
        ("--level {low,high}", "--level low|high"),
        ("--format [json|yaml]", "--format json|yaml"),
        ("--color[=WHEN]", "--color WHEN?"),
        ("-n, --lines=NUM", "--lines NUM"),
        ("--shout / --no-shout", "--shout"),
        ("-n, --namespace string", "--namespace string"),
        ("--label stringArray", "--label stringArray ..."),
        ("-addr string", "-addr string"),
        ("-q", "-q"),
        ("--range <FROM> <TO>", "unread"),
        ("--[no-]ff", "unread"),
    ] {
        assert_eq!(option(spec, ""), expected, "{spec}");
    }
    assert_eq!(option("--color <WHEN>", "When [possible values: auto, never]"), "--color auto|never");
}

#[test]
fn positionals_are_read_from_usage() {
    for (usage, expected) in [
        ("Usage: pack add [OPTIONS] <NAME> [PATH]...", "NAME PATH?+"),
        ("usage: pack add [-h] [--level {low,high}] name [path ...]", "name path?+"),
        ("Usage:\n  pack add NAME [flags]", "NAME"),
        ("Usage: add [OPTION]... SOURCE... DEST", "SOURCE+ DEST"),
        ("Usage: add [OPTIONS] COMMAND [ARGS]...", ""),
    ] {
        let help = parse_help(usage, &["pack", "add"]);
        let shown: Vec<String> = help
            .positionals
            .iter()
            .map(|own| {
                let (optional, repeated) = (!own.is_required, own.is_repeated);
                format!("{}{}{}", own.name, if optional { "?" } else { "" }, if repeated { "+" } else { "" })
            })
            .collect();
        assert_eq!(shown.join(" "), expected, "{usage}");
    }
}

#[test]
fn description_continues_below() {
    let help = parse_help(
        "Options:\n      --deep\n          Goes deeper\n          than others\n\n  -n int\n    \tHow many\n",
        &[],
    );
    let read: Vec<_> = help.options.iter().map(|option| (option.spelling.as_str(), option.about.as_str())).collect();
    assert_eq!(read, [("--deep", "Goes deeper than others"), ("-n", "How many")]);
}
