//! The command line with which hosts start folio, nearly always the same: read without the tables of all the others,
//! whose making would be a tenth of the start.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Arguments, Color, Command, Common, Filter, Later, Serve};

/// Reads `folio serve` and `folio serve PATH`; `None` for whatever else there is. What FOLIO_LOG holds is for the tables.
pub(super) fn read(words: &[OsString], log: Option<OsString>) -> Option<Arguments> {
    if log.is_some() {
        return None;
    }
    let path = match words {
        [_, serve] if serve == "serve" => PathBuf::from("."),
        [_, serve, path] if serve == "serve" && is_plain(path) => PathBuf::from(path),
        _ => return None,
    };
    let common = Common { log_level: Filter::default(), color: Color::Auto };
    Some(Arguments { command: Command::Serve(Later(Serve { path, ..Serve::default() })), common })
}

/// Whether a word is neither an option nor nothing.
fn is_plain(word: &OsString) -> bool {
    !matches!(word.as_encoded_bytes(), [] | [b'-', ..])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use clap::Parser;
    use proptest::prelude::*;

    use super::*;

    fn words(line: &[&str]) -> Vec<OsString> {
        line.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_usual_start_is_read_at_once() {
        for line in [&["folio", "serve"][..], &["folio", "serve", "/home/ada/desk"], &["folio", "serve", "help"]] {
            assert!(read(&words(line), None).is_some(), "{line:?}");
            assert!(read(&words(line), Some("debug".into())).is_none(), "{line:?}");
        }
    }

    proptest! {
        /// What is read here is what is read by the tables, and nothing is that they would refuse.
        #[test]
        fn it_is_read_as_the_tables_would(
            line in prop::collection::vec(
                prop::sample::select(vec!["serve", "check", "", "-", "--", "--http", "--help", "-V", ".", "a b", "é", "x=1"]), 0..4,
            ),
        ) {
            let line = [vec!["folio"], line].concat();
            if let Some(usual) = read(&words(&line), std::env::var_os("FOLIO_LOG")) {
                let tables = Arguments::try_parse_from(&line).unwrap();
                prop_assert_eq!(format!("{usual:?}"), format!("{tables:?}"));
            }
        }
    }
}
