//! Limits: no template and no value ends the process.

use super::*;
use crate::template::limit::{MAX_ITERATIONS, MAX_OUTPUT_BYTES, MAX_TEMPLATE_BYTES};

/// Runs on a stack of the size that a worker of the server has.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(test).unwrap().join().unwrap();
}

fn nested(depth: usize) -> String {
    format!("{}x{}", "{{#each steps.a.json.items}}".repeat(depth), "{{/each}}".repeat(depth))
}

#[test]
fn nesting_at_the_limit_renders_on_a_small_stack() {
    on_a_small_stack(|| {
        let one = json!({ "tags": ["a"], "flag": true, "diff": "d" });
        let blocks = format!("{}{{{{diff}}}}{}", "{{#if flag}}".repeat(64), "{{/if}}".repeat(64));
        assert_eq!(render_text(&blocks, one.clone()), "d");
        let eaches = format!("{}x{}", "{{#each @root.tags}}".repeat(64), "{{/each}}".repeat(64));
        assert_eq!(render_text(&eaches, one.clone()), "x");
        let chain = format!("{{{{#if limit}}}}a{}{{{{else}}}}z{{{{/if}}}}", "{{else if limit}}b".repeat(63));
        assert_eq!(render_text(&chain, one.clone()), "z");
        let parens = format!("{{{{upper {}diff{}}}}}", "(lower ".repeat(64), ")".repeat(64));
        assert_eq!(render_text(&parens, one.clone()), "D");
        let lists = format!("{{{{json {}1{}}}}}", "[".repeat(64), "]".repeat(64));
        assert_eq!(render_text(&lists, one), format!("{}1{}", "[".repeat(64), "]".repeat(64)));
    });
}

#[test]
fn costliest_nesting_renders_on_a_small_stack() {
    on_a_small_stack(|| {
        let leaf = "{{upper (lower (upper (json [[1]])))}}";
        let partials = [("q", "{{> @partial-block}}")];
        for (open, close) in [
            ("{{#if flag}}", "{{/if}}"),
            ("{{#each @root.tags}}", "{{/each}}"),
            ("{{#with @root.tags}}", "{{/with}}"),
            ("{{#eq 1 1}}", "{{/eq}}"),
            ("{{#unless flag}}a{{else if flag}}", "{{/unless}}"),
            ("{{#> q}}", "{{/q}}"),
            ("{{#> absent}}", "{{/absent}}"),
        ] {
            // What each of them does counts, and the leaf is five deep itself.
            let depth = if open.contains("else") { 29 } else { 58 };
            let text = format!("{}{leaf}{}", open.repeat(depth), close.repeat(depth));
            let template = Template::<TextSlot>::compile(&engine(&partials), &text, &names());
            let Ok(template) = template else { panic!("{open}: {template:?}") };
            let rendered = template.render(&scope(json!({ "tags": ["a"], "flag": true })));
            assert!(rendered.is_ok_and(|text| text.0.ends_with("[[1]]")), "{open}");
        }
    });
}

#[test]
fn partial_chain_counts_towards_nesting() {
    on_a_small_stack(|| {
        let chain = |length: usize| -> Vec<(String, String)> {
            (0..length)
                .map(|at| {
                    let next = if at + 1 < length {
                        format!("{{{{#> p{}}}}}{{{{diff}}}}{{{{/p{}}}}}", at + 1, at + 1)
                    } else {
                        "end".to_owned()
                    };
                    (format!("p{at}"), next)
                })
                .collect()
        };
        let (engine, errors) = Engine::new(chain(64));
        assert_eq!(errors, []);
        let template = Template::<TextSlot>::compile(&engine, "{{> p0}}", &names()).unwrap();
        assert_eq!(template.render(&scope(json!({}))).unwrap().0, "end");
        let deeper = Template::<TextSlot>::compile(&engine, "{{#if flag}}{{> p0}}{{/if}}", &names()).unwrap_err();
        assert_eq!(deeper[0].code.as_str(), "nesting");
        let (_, errors) = Engine::new([("p".to_owned(), nested(65))]);
        assert_eq!(errors[0].code.as_str(), "nesting");
    });
}

#[test]
fn deeper_nesting_is_refused_before_parsing() {
    on_a_small_stack(|| {
        for text in [
            nested(65),
            nested(100_000 / 35),
            format!("{{{{upper {}diff{}}}}}", "(lower ".repeat(65), ")".repeat(65)),
            format!("{}{{{{upper (lower diff)}}}}{}", "{{#if flag}}".repeat(64), "{{/if}}".repeat(64)),
            format!("{}{{{{json [[1]]}}}}{}", "{{#if flag}}".repeat(63), "{{/if}}".repeat(63)),
            format!("{{{{upper {}", "(lower ".repeat(100_000)),
            format!("{{{{#if flag}}}}{}{{{{/if}}}}", "{{else if flag}}".repeat(20_000)),
            format!("{{{{json {}1{}}}}}", "[".repeat(100_000), "]".repeat(100_000)),
            format!("{{{{json {}", "{\"a\":".repeat(100_000)),
            "{{#if flag}}".repeat(80_000),
            "{{#> x}}".repeat(80_000),
            "{{[".repeat(80_000),
            "a".repeat(MAX_TEMPLATE_BYTES + 1),
        ] {
            assert!(!errors::<TextSlot>(&text).is_empty());
        }
    });
}

#[test]
fn partial_cycles_are_refused() {
    let circles: [&[(&str, &str)]; 4] = [
        &[("a", "{{> b}}"), ("b", "{{> a}}")],
        &[("a", "{{#if flag}}{{> a}}{{/if}}")],
        &[("a", "{{#*inline \"x\"}}{{> a}}{{/inline}}{{> x}}")],
        &[("a", "{{#> b}}{{/b}}"), ("b", "{{#*inline \"i\"}}{{> a}}{{/inline}}{{#each xs}}{{> i}}{{/each}}")],
    ];
    for partials in circles {
        let (engine, errors) =
            Engine::new(partials.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
        assert!(errors.iter().any(|error| error.code.as_str() == "cycle"), "{partials:?} {errors:#?}");
        assert!(Template::<TextSlot>::compile(&engine, "{{> a}}", &names()).is_ok());
    }
    for text in [
        "{{#*inline \"x\"}}{{> x}}{{/inline}}{{> x}}",
        "{{#*inline \"x\"}}{{> y}}{{/inline}}{{#*inline \"y\"}}{{> x}}{{/inline}}{{> x}}",
        "{{#*inline \"x\"}}{{#> x}}{{> @partial-block}}{{/x}}{{/inline}}{{#> x}}{{/x}}",
    ] {
        let found = errors::<TextSlot>(text);
        assert!(found.iter().any(|error| error.starts_with("cycle")), "{text}: {found:#?}");
    }
}

#[test]
fn exponential_partials_are_refused() {
    let doubling: Vec<(String, String)> =
        (0..60).map(|at| (format!("p{at}"), format!("{{{{> p{}}}}}{{{{> p{}}}}}", at + 1, at + 1))).collect();
    let (_, errors) = Engine::new(doubling.into_iter().chain([("p60".to_owned(), String::new())]));
    assert!(errors.iter().any(|error| error.code.as_str() == "too-large"));
    let twice = [("p", "{{> @partial-block}}{{> @partial-block}}")];
    let blocks = format!("{}x{}", "{{#> p}}".repeat(30), "{{/p}}".repeat(30));
    assert!(errors_with::<TextSlot>(&twice, &blocks)[0].starts_with("too-large"));
}

#[test]
fn output_is_capped() {
    let big = "x".repeat(1 << 20);
    let too_large = Err(RenderError::TooLarge { limit: MAX_OUTPUT_BYTES });
    let many = json!({ "diff": big, "tags": vec!["a"; 40], "limit": 99_000_000 });
    for text in [
        "{{#each tags}}{{@root.diff}}{{/each}}",
        "{{#> nav}}{{#each tags}}{{@root.diff}}{{/each}}{{/nav}}",
        "{{replace diff \"x\" \"0123456789012345678\"}}",
        "{{#if (indent diff limit)}}{{/if}}",
        "{{#if (join (split diff \"y\") diff)}}{{/if}}{{join (split (truncate diff 100 end=\"\") \"x\") diff}}",
        &"{{diff}}".repeat(17),
    ] {
        assert_eq!(render::<TextSlot>(text, many.clone()).map(drop), too_large, "{text}");
    }
    let kept = [("p", "{{#if flag}}{{> @partial-block}}{{/if}}")];
    let doubled = [("drop", ""), ("twice", "{{> @partial-block}}{{> @partial-block}}")];
    let text =
        format!("{{{{#> drop}}}}{}{{{{diff}}}}{}{{{{/drop}}}}", "{{#> twice}}".repeat(5), "{{/twice}}".repeat(5));
    assert_eq!(compile_with::<TextSlot>(&doubled, &text).render(&scope(many.clone())).map(drop), too_large);
    let text = "{{#> p}}{{#each tags}}{{@root.diff}}{{/each}}{{/p}}";
    assert_eq!(compile_with::<TextSlot>(&kept, text).render(&scope(many)).map(drop), too_large);
}

#[test]
fn iterations_are_counted_over_all_loops() {
    let tags = vec!["a"; 101];
    let text = "{{#each tags}}{{#each @root.tags}}{{#each @root.tags}}{{/each}}{{/each}}{{/each}}";
    let error = render::<TextSlot>(text, json!({ "tags": tags })).unwrap_err();
    assert_eq!(error, RenderError::TooManyIterations { limit: MAX_ITERATIONS });
    let text = "{{#each tags}}{{#each @root.tags}}{{/each}}{{/each}}";
    assert_eq!(render_text(text, json!({ "tags": tags })), "");
}

#[test]
fn slow_handlebars_parse_is_refused() {
    let text = format!("{}{}", "{{#if flag}}{{/if}} ".repeat(20_000), "x".repeat(400_000));
    assert!(errors::<TextSlot>(&text)[0].starts_with("too-large"));
    assert_eq!(render_text(&"{{diff}} ".repeat(100_000), json!({ "diff": "" })).len(), 100_000);
}

#[test]
fn list_of_half_a_megabyte_is_passed_to_a_partial() {
    let numbers = json!({ "tags": vec![1; 250_000] });
    let partials = [("row", "{{this}}"), ("list", "{{#each items}}{{#if this}}{{> row}},{{/if}}{{/each}}")];
    let rendered = compile_with::<TextSlot>(&partials, "{{> list items=tags}}").render(&scope(numbers));
    assert!(rendered.is_ok_and(|text| text.0 == "1,".repeat(250_000)));
    let rows = json!({ "tags": vec!["x".repeat(100); 5000], "repos": vec![json!({ "name": "n" }); 200] });
    let partials = [("count", "{{len rows}} ")];
    let rendered = compile_with::<TextSlot>(&partials, "{{#each repos}}{{> count rows=@root.tags}}{{/each}}");
    assert!(rendered.render(&scope(rows)).is_ok_and(|text| text.0 == "5000 ".repeat(200)));
}

#[test]
fn lists_made_of_texts_are_held_until_their_block_ends() {
    let text = json!({ "diff": ",".repeat(1 << 20), "tags": ["a", "b", "c"] });
    let thrice = render::<TextSlot>("{{#each tags}}{{len (split @root.diff \",\")}} {{/each}}", text.clone());
    assert_eq!(thrice.unwrap().0, "1048577 ".repeat(3));
    let nested = "{{#each (split diff \",\")}}{{#each (split @root.diff \",\")}}x{{/each}}{{/each}}";
    let exceeded = RenderError::BudgetExceeded(crate::budget::BudgetExceeded::Memory);
    assert_eq!(render::<TextSlot>(nested, text).map(drop), Err(exceeded));
}
