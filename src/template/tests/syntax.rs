//! Syntax errors.

use super::*;

/// One error, and the tag it is at.
fn only(text: &str) -> String {
    let found = errors::<TextSlot>(text);
    assert_eq!(found.len(), 1, "{text}: {found:#?}");
    found.into_iter().next().unwrap()
}

#[test]
fn unclosed_block_is_reported_at_its_opening() {
    assert_eq!(
        only("ä {{#if flag}} x {{#each tags}}y{{/each}}"),
        "template at \"if\": unclosed block `if` | close it with `{{/if}}`"
    );
}

#[test]
fn inner_unclosed_block_is_the_one_reported() {
    assert_eq!(
        only("{{#if flag}}{{#each tags}}{{/if}}"),
        "template at \"each\": unclosed block `each` | close it with `{{/each}}`"
    );
}

#[test]
fn missing_brace_is_reported() {
    assert_eq!(
        only("a {{diff} b"),
        "template at \"{{diff}\": mismatched braces: `{{` must be closed with `}}` | write `{{diff}}`"
    );
    assert_eq!(
        only("a {{{diff}} b"),
        "template at \"{{{diff}}\": mismatched braces: `{{{` must be closed with `}}}` | write `{{{diff}}}`"
    );
}

#[test]
fn unclosed_tag_does_not_hide_the_next() {
    assert_eq!(
        errors::<TextSlot>("{{diff {{dif}}"),
        [
            "template at \"{{\": unclosed tag | close it with `}}`",
            "unknown-variable at \"dif\": unknown variable `dif` | did you mean `diff`?"
        ]
    );
}

#[test]
fn stray_and_mismatched_ends_differ() {
    assert_eq!(only("x{{/if}}"), "template at \"if\": unmatched `{{/if}}`");
    assert_eq!(
        only("{{#if flag}}x{{/unless}}"),
        "template at \"unless\": mismatched `{{/unless}}`, expected `{{/if}}` | write `{{/if}}`"
    );
}

#[test]
fn else_is_allowed_once_per_block() {
    assert_eq!(
        only("{{else}}"),
        "template at \"else\": `{{else}}` outside of a block | write `{{#if NAME}}…{{else}}…{{/if}}`"
    );
    assert_eq!(only("{{#if flag}}{{else}}{{else}}{{/if}}"), "template at \"else\": duplicate `{{else}}` in block `if`");
}

#[test]
fn names_starting_with_else_are_refused() {
    assert!(only("{{elsewhere}}").contains("ambiguous name `elsewhere`"));
}

#[test]
fn unsupported_syntax_is_refused_with_help() {
    for (text, word) in [
        ("{{{{raw}}}}x{{{{/raw}}}}", "raw block"),
        ("{{> (lookup repo diff)}}", "computed partial name"),
        ("{{> 'x'}}", "quoted partial name"),
        ("{{* deco}}", "unsupported decorator"),
        ("{{(upper diff)}}", "parentheses are"),
        ("{{\"text\"}}", "string literal"),
        ("{{.}}", "unsupported `.`"),
        ("{{#each tags}}{{../@index}}{{/each}}", "@../index"),
    ] {
        let found = errors::<TextSlot>(text);
        assert!(found[0].contains(word), "{text}: {found:#?}");
    }
}

#[test]
fn all_errors_are_reported_at_their_word() {
    let text = "ü {{dif}}\n{{#if flg}}{{uper diff}}{{/if}}\r\n{{> nope}} {{repo.nam}} {{join diff}}";
    assert_eq!(
        errors::<TextSlot>(text),
        [
            "unknown-variable at \"dif\": unknown variable `dif` | did you mean `diff`?",
            "unknown-variable at \"flg\": unknown variable `flg` | did you mean `flag`?",
            "unknown-helper at \"uper\": unknown helper `uper` | did you mean `upper`?",
            "unknown-partial at \"nope\": unknown partial `nope` | write `partials: partials/*.md` at the top, and the text to `partials/nope.md`",
            "unknown-variable at \"nam\": unknown field `nam` of `repo` | did you mean `name`? available fields: `name`, `stars`",
            "helper-argument at \"diff\": mismatched type: `join` expects a list, `diff` is text | use `lines` or `split` to turn text into a list",
        ]
    );
}

#[test]
fn suggestion_has_replacement_text() {
    let errors = Template::<TextSlot>::compile(&engine(&[]), "{{dif}}", &names()).unwrap_err();
    assert_eq!(errors[0].replacement.as_deref(), Some("diff"));
}

#[test]
fn broken_opening_tag_still_matches_its_end() {
    assert_eq!(only("{{#if (}}a{{/if}}").split(':').next(), Some("template at \"}\""));
}

#[test]
fn unusual_valid_syntax_renders() {
    for (text, wanted) in [
        (r"\{{diff}} \\{{diff}}", r"{{diff}} \d"),
        ("{{! a }}x{{!-- {{y}} --}}z", "xz"),
        ("{{ diff }}|{{~ diff ~}} |", "d|d|"),
        ("{{~#if flag~}} y {{~else~}} n {{~/if~}}", "y"),
        ("{\"a\":{{limit}}}", "{\"a\":3}"),
        ("{{{diff}}}{{&diff}}{{ {diff} }}", "ddd"),
        ("{{arguments.[diff]}}{{this.diff}}{{./diff}}{{@root.diff}}", "dddd"),
        ("{{#if flag}}a{{else if diff}}b{{else}}c{{/if}}", "a"),
        ("{{#unless flag}}a{{else if limit}}b{{else}}c{{/unless}}", "b"),
        ("{{replace diff \"d\" 'e\"'}}", "e\""),
        ("{{#eq diff \"d\"}}same{{else}}other{{/eq}}", "same"),
        ("{{#if flag}}{{^}}x{{/if}}", ""),
        ("{{lookup [1, 2] 1}}", "2"),
        ("{{#with steps.a.json}}[{{3}}{{{true}}}{{[1]}}{{&null}}{{#each items}}{{n}}{{/each}}]{{/with}}", "[12]"),
    ] {
        assert_eq!(render_text(text, json!({ "diff": "d", "limit": 3, "flag": true })), wanted, "{text}");
    }
}

#[test]
fn error_count_is_capped() {
    assert!(errors::<TextSlot>(&"{{".repeat(10_000)).len() <= 128);
    assert!(errors::<TextSlot>(&"{{nope}}".repeat(10_000)).len() <= 128);
}
