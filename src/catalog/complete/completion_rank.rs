//! Ranks completion candidates.

use std::cmp::Reverse;
use std::collections::HashSet;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::manifest::CompletionMatch;

/// Orders the candidates that match what was typed, best first, without regard to case: those that begin with it
/// before those in which its letters are scattered, if these match; ties in the order given. Nothing typed matches all.
pub fn rank(candidates: &[String], typed: &str, matching: CompletionMatch) -> Vec<String> {
    let mut seen = HashSet::new();
    let once = candidates.iter().filter(|candidate| seen.insert(candidate.as_str()));
    if typed.is_empty() {
        return once.cloned().collect();
    }
    let mut scorer = Scorer::new(typed, matching);
    let mut scored: Vec<_> =
        once.filter_map(|candidate| Some((Reverse(scorer.score(candidate)?), candidate))).collect();
    scored.sort_by_key(|(score, _)| *score);
    scored.into_iter().map(|(_, candidate)| candidate.clone()).collect()
}

struct Scorer {
    typed: String,
    matching: CompletionMatch,
    pattern: Pattern,
    matcher: Matcher,
    letters: Vec<char>,
}

/// How well a candidate matches: what decides stands first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    is_equal: bool,
    is_prefix: bool,
    is_substring: bool,
    fuzzy: u32,
}

impl Scorer {
    fn new(typed: &str, matching: CompletionMatch) -> Scorer {
        Scorer {
            typed: typed.to_lowercase(),
            matching,
            pattern: Pattern::new(typed, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy),
            matcher: Matcher::new(Config::DEFAULT),
            letters: Vec::new(),
        }
    }

    fn score(&mut self, candidate: &str) -> Option<Score> {
        let lower = candidate.to_lowercase();
        let (is_equal, is_prefix) = (lower == self.typed, lower.starts_with(&self.typed));
        let is_substring = lower.contains(&self.typed);
        if self.matching == CompletionMatch::Prefix {
            return is_prefix.then_some(Score { is_equal, is_prefix, is_substring, fuzzy: 0 });
        }
        let letters = Utf32Str::new(candidate, &mut self.letters);
        let fuzzy = self.pattern.score(letters, &mut self.matcher);
        // White space in what was typed separates words for the matcher; a text that holds it whole matches anyway.
        let fuzzy = if is_substring { fuzzy.unwrap_or(0) } else { fuzzy? };
        Some(Score { is_equal, is_prefix, is_substring, fuzzy })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::rank;
    use crate::manifest::CompletionMatch;

    fn matched(candidates: &[&str], typed: &str, matching: CompletionMatch) -> Vec<String> {
        rank(&candidates.iter().map(|&text| text.to_owned()).collect::<Vec<_>>(), typed, matching)
    }

    fn ranked(candidates: &[&str], typed: &str) -> Vec<String> {
        matched(candidates, typed, CompletionMatch::Fuzzy)
    }

    #[test]
    fn prefix_match_needs_the_beginning() {
        let candidates = ["remain", "mainline", "a-m-a-i-n", "Main", "mainline"];
        assert_eq!(matched(&candidates, "mAin", CompletionMatch::Prefix), ["Main", "mainline"]);
        assert_eq!(matched(&["b", "a"], "", CompletionMatch::Prefix), ["b", "a"]);
        assert_eq!(matched(&["Ärger"], "är", CompletionMatch::Prefix), ["Ärger"]);
    }

    #[test]
    fn empty_input_keeps_given_order() {
        assert_eq!(ranked(&["zeta", "alpha", "mid"], ""), ["zeta", "alpha", "mid"]);
    }

    #[test]
    fn prefix_ranks_before_fuzzy_match() {
        assert_eq!(
            ranked(&["a-m-a-i-n", "remain", "main", "mainline"], "main"),
            ["main", "mainline", "remain", "a-m-a-i-n"]
        );
    }

    #[test]
    fn matching_ignores_case() {
        assert_eq!(ranked(&["README.md", "readme"], "ReAd"), ["README.md", "readme"]);
    }

    #[test]
    fn ties_stay_in_the_order_given() {
        assert_eq!(ranked(&["v2", "v1", "v3"], "v"), ["v2", "v1", "v3"]);
    }

    #[test]
    fn non_matches_and_duplicates_are_removed() {
        assert_eq!(ranked(&["open", "closed", "open"], "op"), ["open"]);
        assert_eq!(ranked(&["b", "a", "b"], ""), ["b", "a"]);
    }

    #[test]
    fn fuzzy_match_bridges_gaps() {
        assert_eq!(ranked(&["src/main.rs", "docs/policy.md"], "smr"), ["src/main.rs"]);
    }

    #[test]
    fn letters_of_other_scripts_match_without_regard_to_case() {
        assert_eq!(ranked(&["Ärger", "straße", "Журнал"], "жур"), ["Журнал"]);
        assert_eq!(ranked(&["Ärger"], "är"), ["Ärger"]);
    }

    #[test]
    fn special_characters_are_only_characters() {
        assert_eq!(ranked(&["a^b", "c!d", "e'f$"], "^"), ["a^b"]);
        assert_eq!(ranked(&["a^b", "c!d", "e'f$"], "!d"), ["c!d"]);
        assert_eq!(ranked(&["two words"], "two words"), ["two words"]);
        assert_eq!(ranked(&["two  words"], " "), ["two  words"]);
    }

    proptest! {
        #[test]
        fn every_candidate_finds_itself_first(message in prop::collection::vec("\\PC{1,12}", 1..8), at in 0usize..8) {
            let typed = message[at % message.len()].clone();
            let ranked = rank(&message, &typed, CompletionMatch::Fuzzy);
            prop_assert_eq!(ranked[0].to_lowercase(), typed.to_lowercase());
        }
    }
}
