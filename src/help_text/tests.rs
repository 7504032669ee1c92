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
        ("--[no-]ff", "--ff"),
        ("-o, --[no-]origin <name>", "--origin name"),
        ("--no-walk[=(sorted|unsorted)]", "--no-walk sorted|unsorted?"),
        ("--no-decorate, --decorate[=short|full]", "--decorate short|full?"),
        ("--prune=(always|never:)", "--prune always|never"),
        ("--[no-]chmod (+|-)x", "--chmod +|-)x"),
        ("--quiet.", "--quiet"),
        ("-NUM", "unread"),
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
        ("usage: pack add [<options>] [--] <repo> [<dir>]", "repo dir?"),
        ("usage: pack add [-i] [--exec <cmd>] [--onto <base> | --keep] [<upstream> [<branch>]]", "upstream? branch?"),
        ("usage: pack add [-e] <pattern> [<rev>...] [[--] <path>...]", "pattern rev?+ path?+"),
        ("usage: pack add --from FILE (<one> | <other>)...", "one+"),
        ("Usage: add [options...] <url>\n -d, --data <data>  HTTP data\n -f, --fail  Fail fast", "url"),
        ("Usage: add NAME\n\n  more words here", "NAME"),
        ("Usage: add NAME\n  build   Builds it", "NAME"),
        ("NAME\n       x - y\n\nSYNOPSIS\n       pack add [-q]\n            <x> [<y>]\n       pack add --all", "x y?"),
        ("Usage: add a b c d e f g h i", ""),
        ("usage: pack log [<range>] [[--] <path>...]\n   or: pack add [<options>] <object>...", "object+"),
        ("usage: pack add list [<x>]\n   or: pack add (pop | apply) [<y>]\n   or: pack add [push [<z>]] [--]", ""),
        ("usage: pack add start [<x>]\n   or: pack add (good|bad) [<rev>...]", ""),
        ("usage: pack add --no-index [<options>] <path> <path>", ""),
        ("usage: pack add [-v]\n   or: pack add set <name> <url>", ""),
        (
            "Usage: pack add [OPTION]... [-T] SOURCE DEST\n  or:  pack add [OPTION]... SOURCE... DIRECTORY",
            "SOURCE DEST",
        ),
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
        "Options:\n      --deep\n          Goes deeper\n          than others\n\n  -n int\n    \tHow many\n  -u, --user <a:b> Server \
         user\n",
        &[],
    );
    let read: Vec<_> = help.options.iter().map(|option| (option.spelling.as_str(), option.about.as_str())).collect();
    assert_eq!(read, [("--deep", "Goes deeper than others"), ("-n", "How many"), ("--user", "Server user")]);
}

#[test]
fn review_notes_are_printed() {
    for (text, told) in [
        ("Usage: add a b c d e f g h i", "seems to name 9 positional arguments"),
        ("Adds things.\n\n  -q  quiet", "no usage was found"),
        (
            "usage: pack add list [<x>]\n   or: pack add pop",
            "the usage requires more words, such as in `pack add list [<x>]`",
        ),
        ("usage: pack add [-v]\n   or: pack add set <x>", "the usage has other forms, such as `pack add set <x>`"),
        ("Usage: add\n\nThis is not the full help, this menu is split", "is not the full one"),
        ("Usage: add\n\nExit status is 0 if a line is selected, 1 otherwise.", "okExit: [0, 1]"),
        ("Usage: add\n\nExit status:\n 0  if OK,\n 1  if minor problems", "okExit: [0, 1]"),
    ] {
        let words: &[&str] = if text.contains("pack") { &["pack", "add"] } else { &["add"] };
        let review_notes = parse_help(text, words).review_notes;
        assert!(review_notes.len() == 1 && review_notes[0].contains(told), "{text}: {review_notes:?}");
    }
    assert_eq!(parse_help("Usage: add [--code N]\n\nExit code of 12 is set", &["add"]).review_notes, [""; 0]);
}

#[test]
fn description_is_whole_sentences_of_the_program() {
    for (text, expected) in [
        (
            "Usage: x\nSaves files together, and can\nrestore them.\n\nExamples:\n  x a",
            "Saves files together, and can restore them.",
        ),
        ("Usage: x\n -d  Data\n\nThis is not the full help, this menu is split.\nUse \"--help all\" for more.\n", ""),
        ("Adds things.\n\nUsage: x", "Adds things."),
    ] {
        assert_eq!(parse_help(text, &["x"]).about, expected);
    }
    let help = parse_help("usage: x\n-b     : issue warnings\n         and more\n-c cmd : program\n", &["x"]);
    let read: Vec<_> = help.options.iter().map(|option| (option.spelling.as_str(), option.about.as_str())).collect();
    assert_eq!(read, [("-b", "issue warnings and more"), ("-c", "program")]);
}

#[test]
fn drawings_and_prose_are_not_options() {
    let text = "Usage: x\n\n   ---1----2\n   - an item\n   --deep\n      Goes deeper\n   --deep is given, and then much more follows it\n";
    let help = parse_help(text, &["x"]);
    let spellings: Vec<&str> = help.options.iter().map(|option| option.spelling.as_str()).collect();
    assert_eq!((spellings, help.unparsed), (vec!["--deep"], Vec::new()));
}
