use super::guarded_values;
use crate::pack_format::shell_commands::ValueMarker;

/// The markers of a command, as far as a test needs them.
fn markers(command: &str) -> Vec<ValueMarker> {
    let mut markers = Vec::new();
    for (marker, name) in [("$ARGUMENTS", "arguments"), ("$1", "arg1"), ("{{args}}", "args")] {
        for (start, _) in command.match_indices(marker) {
            let range = start..start + marker.len();
            markers.push(ValueMarker { range, name: name.to_owned(), is_split_into_words: marker == "$ARGUMENTS" });
        }
    }
    markers.sort_by_key(|place| place.range.start);
    markers
}

#[test]
fn commands_that_may_read_values_as_code_are_refused() {
    for command in include_str!("refused.txt").split("\n%\n") {
        let markers = markers(command);
        assert!(!markers.is_empty() && guarded_values(command, &markers).is_none(), "{command}");
    }
}

#[test]
fn commands_with_known_programs_take_values() {
    for command in include_str!("accepted.txt").lines() {
        let markers = markers(command);
        assert!(!markers.is_empty() && guarded_values(command, &markers).is_some(), "{command}");
    }
}

#[test]
fn values_that_could_be_options_are_guarded() {
    for (command, count) in [
        ("git log $ARGUMENTS", 1),
        ("git diff $1", 1),
        ("git log main..$1", 0),
        ("git log --since=\"$1\"", 0),
        ("rg -n x$ARGUMENTS", 1),
        ("gh issue view \"$ARGUMENTS\" && git show ${X}$1", 2),
        ("echo $ARGUMENTS", 0),
        ("./check.sh \"$1\"", 1),
        ("find $1 -name x", 1),
        ("find . -name $1", 0),
    ] {
        assert_eq!(guarded_values(command, &markers(command)).map(|guarded| guarded.len()), Some(count), "{command}");
    }
}
