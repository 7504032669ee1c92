//! Matches that take long end with their call, and those that people write match long texts.

use std::time::Duration;

use super::*;
use crate::budget::{Budget, BudgetExceeded};

/// Expressions as they are in manifests, with a text that each takes, and one that it does not.
const COMMON: &[(&str, &str, &str)] = &[
    (r"^\w{1,64}$", "some_name_9", "no spaces"),
    (r"^[a-z0-9-]{1,255}$", "a-host-name", "Not One"),
    (r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$", "me@example.org", "me@example"),
    (
        r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
        "123e4567-e89b-12d3-a456-426614174000",
        "123e4567",
    ),
    (r"^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?Z?)?$", "2026-07-28T10:00Z", "28.7.2026"),
    (
        r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$",
        "1.2.3-rc.1+build.5",
        "1.2",
    ),
    (r"^\p{L}{1,100}$", "Übergrößenträger", "4"),
    (r"^(?!-)[a-z0-9-]{1,63}(?<!-)$", "a-label", "-label"),
    (r"^(?=.*[A-Z])(?=.*\d).{8,}$", "Correct9horse", "correct horse"),
    (r"^(?!\s*$).+", "not blank", "   "),
    (r"(?<!\d)\d{4}(?!\d)", "in the year 1984 or so", "12345"),
];

fn of_text(pattern: &str, text: &str) -> Result<bool, BudgetExceeded> {
    let schema = compiled(json!({ "properties": { "x": { "pattern": pattern } } }));
    schema.violations(&json!({ "x": text })).map(|found| found.is_empty())
}

#[test]
fn common_patterns_match_short_and_long_texts() {
    for (pattern, fits, misfits) in COMMON {
        assert_eq!(of_text(pattern, fits), Ok(true), "{pattern}");
        assert_eq!(of_text(pattern, misfits), Ok(false), "{pattern}");
        let long = format!("{}{}", misfits, " ".repeat(1 << 18));
        assert!(matches!(of_text(pattern, &long), Ok(false)), "{pattern}");
    }
    assert_eq!(of_text(r"^[\w\s.,]+$", &"Many words, and more. ".repeat(1 << 15)), Ok(true));
    assert_eq!(of_text(r"^(?!\s*$).+", &"Not blank. ".repeat(1 << 15)), Ok(true));
}

/// Whether a value is refused, though its call has a second alone, because it takes more.
fn is_too_much(schema: Value, value: &Value) -> bool {
    let budget = Budget::default().with_timeout(Duration::from_secs(1));
    matches!(budget.run(|| compiled(schema).violations(value)).unwrap(), Err(BudgetExceeded::Time { .. }))
}

#[test]
fn a_match_ends_with_its_call() {
    let text = "x".repeat(200_000);
    for pattern in ["(x{1,500}){1,100}y", "^(x{1,500}){1,100}$|y", r"(\b|x{1,500}){1,100}y"] {
        assert!(is_too_much(json!({ "pattern": pattern }), &json!(text)), "{pattern}");
        assert!(of_text(pattern, "x").is_ok(), "{pattern}");
    }
    assert_eq!(of_text(r"\bx{1,500}y\b", "é xy"), Ok(true), "a boundary between letters that are not ASCII");
    assert_eq!(of_text("z(x{1,500}){1,100}$", &text), Ok(false));
    let many = json!(vec!["x".repeat(1_000); 2_000]);
    assert!(is_too_much(json!({ "items": { "pattern": "(x{1,500}){1,100}y" } }), &many));
    assert!(is_too_much(json!({ "patternProperties": { "(x{1,500}){1,100}y": {} } }), &json!({ text: 1 })));
}

#[test]
fn a_large_pattern_with_look_around_is_refused() {
    let found = errors(json!({ "pattern": "(?=x)(x{1,500}){1,100}y" }));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].at, "/pattern");
    assert!(found[0].message.contains("too large"), "{found:?}");
}
