//! The output of templates.

use super::*;
use crate::template::{ArgvSlot, ConditionSlot, JsonSlot, helpers};

#[test]
fn text_is_neither_escaped_nor_rescanned() {
    assert_eq!(render_text("<{{diff}}>", json!({ "diff": "<&\"'{{limit}}>" })), "<<&\"'{{limit}}>>");
}

#[test]
fn null_prints_nothing_and_is_false() {
    assert_eq!(render_text("[{{diff}}{{repo.name}}{{steps.a.json.gone.deep}}]", json!({ "diff": null })), "[]");
    let all = "{{#if diff}}1{{/if}}{{#each tags}}2{{/each}}{{#with repo}}3{{/with}}{{#unless diff}}4{{/unless}}{{upper diff}}{{lookup repo \"x\"}}{{eq diff tags}}{{len tags}}";
    assert_eq!(render_text(all, json!({})), "4true0");
}

#[test]
fn missing_field_is_null_even_on_a_list() {
    let mut scope = scope(json!({}));
    scope.set_step("a", json!({ "json": [1, 2] }));
    for text in [
        "{{steps.a.json.name}}",
        "{{#if steps.a.json.name}}x{{/if}}",
        "{{#with steps.a.json as |j|}}{{j.x.y}}{{x}}{{/with}}",
        "{{#each steps.a.json}}{{x.y}}{{../steps.a.json.z}}{{/each}}",
        "{{#each steps.a.json.items}}x{{/each}}",
        "{{> p steps.a.json}}{{> p steps.a.json.x z=1}}",
    ] {
        let template = compile_with::<TextSlot>(&[("p", "{{x}}{{x.y}}{{#each q}}x{{/each}}")], text);
        assert_eq!(template.render(&scope).unwrap().0, "", "{text}");
    }
}

#[test]
fn lists_and_objects_print_as_json() {
    let values = json!({ "tags": ["a", "b"], "repo": { "name": "n", "stars": 1 } });
    assert_eq!(render_text("{{tags}}{{repo}}{{first repos}}", values.clone()), r#"["a","b"]{"name":"n","stars":1}"#);
    assert_eq!(render_text("{{#if flag}}{{/if}}{{tags}}{{repo}}", values), r#"["a","b"]{"name":"n","stars":1}"#);
}

#[test]
fn truthiness_follows_handlebars() {
    let truth = |value: Value| render::<ConditionSlot>("{{diff}}", json!({ "diff": value })).unwrap();
    for value in [json!("false"), json!("0"), json!(1), json!([0]), json!(true)] {
        assert!(truth(value));
    }
    for value in [json!(""), json!(0), json!(false), json!(null), json!([])] {
        assert!(!truth(value));
    }
}

#[test]
fn helpers_match_their_description() {
    for (text, wanted) in [
        ("{{json repo}}", r#"{"name":"n","stars":1}"#),
        ("{{json tags indent=2}}", "[\n  \"b\",\n  \"a\"\n]"),
        ("{{json gone}}", "null"),
        ("{{upper mixed}}|{{lower mixed}}|{{capitalize mixed}}", "ÄB C|äb c|ÄB C"),
        ("[{{trim \" x \"}}]", "[x]"),
        ("{{join tags}}|{{join tags \"-\"}}", "b, a|b-a"),
        ("{{#each (split \"a,b\" \",\")}}<{{this}}>{{/each}}", "<a><b>"),
        ("{{replace \"aXbX\" \"X\" \"--\"}}", "a--b--"),
        ("{{default gone \"x\"}}{{default \"\" gone \"y\"}}{{default 0 1}}", "xy0"),
        ("{{indent \"a\\n\\nb\" 2}}|{{indent \"a\" \"> \"}}", "  a\n\n  b|> a"),
        ("{{truncate \"äöüß\" 3}}{{truncate \"äöü\" 3}}{{truncate \"abcdef\" 3 end=\"..\"}}", "äö…äöüa.."),
        ("{{len (lines \"a\\nb\")}}{{len \"äö\"}}{{len tags}}{{len repo}}", "2222"),
        ("{{first tags}}{{last tags}}{{join (first tags 1)}}{{join (last tags 1)}}", "baba"),
        ("{{date \"2024-02-03T04:05:06+02:00\" \"%d.%m.%Y %H:%M %z\"}}", "03.02.2024 04:05 +0200"),
        ("{{date 0 \"%Y-%m-%d\"}} {{date \"2024-02-03\" \"%H\"}}", "1970-01-01 00"),
        ("{{path \"a b/ü\"}}", "a%20b/%C3%BC"),
        (
            "{{contains mixed \"B\"}}{{contains tags \"c\"}}{{contains repo \"name\"}}{{contains gone 1}}",
            "truefalsetruefalse",
        ),
        ("{{startsWith mixed \"ä\"}}{{endsWith mixed \"B\"}}{{matches mixed \"^.B C$\"}}", "truefalsetrue"),
        (
            "{{slice \"äöüß\" 1 3}}|{{slice \"abc\" -2}}|{{slice \"abc\" 2 1}}|{{slice tags 1}}|{{slice \"a\" 9}}",
            "öü|bc||[\"a\"]|",
        ),
        (
            "{{add 1 2 3}} {{sub 1 2.5}} {{mul 3 4}} {{div 6 3}} {{div 1 4}} {{mod 7 3}} {{mod -7 3}}",
            "6 -1.5 12 2 0.25 1 -1",
        ),
        ("{{add 9007199254740993 1}} {{mul 9223372036854775807 2}}", "9007199254740994 18446744073709551614"),
        ("{{round 2.5}} {{round -1.2}} {{round 2.345 2}} {{round 7}} {{json (round 2)}}", "3 -1 2.35 7 2"),
        (
            "{{number 1234567.891 decimals=2 group=\",\"}} {{number -1234 group=\".\"}} {{number 5 decimals=1}}",
            "1,234,567.89 -1.234 5.0",
        ),
        ("{{sort tags}} {{reverse tags}} {{unique (concat tags tags)}}", "[\"a\",\"b\"] [\"a\",\"b\"] [\"b\",\"a\"]"),
        (
            "{{keys repo}} {{values repo}} {{keys tags}} {{concat \"a\" 1 gone \"c\"}}",
            "[\"name\",\"stars\"] [\"n\",1] [0,1] a1c",
        ),
        (
            "{{basename \"/a/b.md\"}} {{basename \"/a/b.md/\" \".md\"}} {{dirname \"/a/b.md\"}} {{dirname \"b\"}} {{dirname \"/b\"}}",
            "b.md b /a . /",
        ),
        ("{{base64 \"aé\"}} {{urlencode \"a/b é\"}}", "YcOp a%2Fb%20%C3%A9"),
        ("{{hash \"abc\"}}", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("{{len (uuid 4)}}{{slice (uuid 4) 14 15}}{{slice (uuid 7) 14 15}}{{eq (uuid 4) (uuid 4)}}", "3647false"),
        ("{{date \"2024-07-01T10:00:00Z\" \"%H:%M %Z\" tz=\"Europe/Berlin\"}}", "12:00 CEST"),
        ("{{date 0 \"%H\" tz=\"Asia/Tokyo\"}}", "09"),
        ("{{lookup tags 1}}{{lookup repo \"name\"}}{{lookup repo \"gone\"}}", "an"),
        ("{{and 1 0}}{{or 1 0}}{{not 1}}{{gt 2 1}}{{lte 2 1}}{{ne 1 1}}", "falsetruefalsetruefalsefalse"),
        ("{{#if (and flag (gt (len tags) 1))}}yes{{/if}}", ""),
    ] {
        let names = ScopeShape::new().with_arguments([
            ("gone", Shape::Text),
            ("mixed", Shape::Text),
            ("tags", Shape::list(Shape::Text)),
            ("repo", Shape::Map(Box::new(Shape::Any))),
            ("flag", Shape::Boolean),
        ]);
        let template = Template::<TextSlot>::compile(&engine(&[]), text, &names)
            .unwrap_or_else(|errors| panic!("{text} {errors:#?}"));
        let values = json!({ "mixed": "äB C", "tags": ["b", "a"], "repo": { "name": "n", "stars": 1 } });
        assert_eq!(template.render(&scope(values)).unwrap().0, wanted, "{text}");
    }
}

#[test]
fn registry_has_exactly_the_table() {
    let (engine, _) = Engine::new([]);
    let missing = |name: &str| {
        let tried = engine.registry().render_template(&format!("{{{{#{name} 1 1 1}}}}{{{{/{name}}}}}"), &json!({}));
        tried.is_err_and(|error| error.to_string().contains("Helper not found"))
    };
    for doc in helpers() {
        assert!(!missing(doc.name), "{}", doc.name);
        assert!(doc.usage.contains(doc.name) && !doc.description.ends_with('.'), "{}", doc.name);
    }
    assert!(missing("log") && missing("raw"));
}

#[test]
fn now_is_injectable() {
    let now: jiff::Timestamp = "2020-01-02T03:04:05.6Z".parse().unwrap();
    let scope = scope(json!({})).with_now(now);
    let shown = compile_with::<TextSlot>(
        &[("p", "{{now}}")],
        "{{now}} {{now \"%Y\"}} {{date (now) \"%d\"}} {{> p}} {{> p now=1}}",
    );
    assert_eq!(shown.render(&scope).unwrap().0, "2020-01-02T03:04:05Z 2020 02 2020-01-02T03:04:05Z 1");
}

#[test]
fn now_has_a_time_zone() {
    let scope = scope(json!({})).with_now("2020-07-02T03:04:05.6Z".parse().unwrap());
    let shown = compile_with::<TextSlot>(&[], "{{now tz=\"America/New_York\"}} {{now \"%H\" tz=\"Asia/Tokyo\"}}");
    assert_eq!(shown.render(&scope).unwrap().0, "2020-07-01T23:04:05-04:00 12");
}

#[test]
fn helpers_refuse_what_they_cannot_take() {
    for (text, wanted) in [
        ("{{add mixed 1}}", "`add`: expected numbers"),
        ("{{div 1 mixed}}", "`div`: division by zero"),
        ("{{mod 1 mixed}}", "`mod`: division by zero"),
        ("{{matches \"x\" mixed}}", "`matches`: invalid or too large regular expression"),
        ("{{uuid mixed}}", "`uuid`: expected the version 4 or 7"),
        ("{{now tz=mixed}}", "`now`: unknown time zone"),
    ] {
        let names = ScopeShape::new().with_arguments([("mixed", Shape::Any)]);
        let template = Template::<TextSlot>::compile(&engine(&[]), text, &names).unwrap();
        let value = if wanted.contains("zero") { json!(0) } else { json!("((") };
        let error = template.render(&scope(json!({ "mixed": value }))).unwrap_err().to_string();
        assert_eq!(error, wanted, "{text}");
    }
}

#[test]
fn new_values_of_secrets_are_known_as_altered() {
    for text in [
        "{{slice diff 1}}",
        "{{basename diff}}",
        "{{dirname diff}}",
        "{{base64 diff}}",
        "{{urlencode diff}}",
        "{{hash diff}}",
        "{{concat \"a\" (slice diff 1)}}",
        "{{now \"%Y\" tz=diff}}",
    ] {
        let template = compile_with::<TextSlot>(&[], text);
        assert!(template.altered_values().iter().any(|altered| altered.path == ["diff"]), "{text}");
    }
    assert!(compile_with::<TextSlot>(&[], "{{concat \"a\" diff}}{{contains diff \"x\"}}").altered_values().is_empty());
}

#[test]
fn invalid_date_error_hides_the_value() {
    let error = render::<TextSlot>("{{date diff \"%Y\"}}", json!({ "diff": "s3cret" })).unwrap_err().to_string();
    assert!(error.contains("`date`") && !error.contains("s3cret"), "{error}");
}

#[test]
fn standalone_tags_remove_their_line() {
    let text = "a\r\n{{#if flag}}\r\nb {{diff}}\r\n{{/if}}\r\nc\n";
    assert_eq!(render_text(text, json!({ "flag": true, "diff": "d" })), "a\r\nb d\r\nc\n");
    assert_eq!(render_text("{{diff}}\r\n", json!({ "diff": "d" })), "d\r\n");
}

#[test]
fn partials_on_their_own_line_indent_what_they_print() {
    let text = "x\n  {{> p}}\ny";
    assert_eq!(render_text_with(&[("p", "1\n{{diff}}\n")], text, json!({ "diff": "2" })), "x\n  1\n  2\ny");
}

/// The outputs are those of handlebars.js.
#[test]
fn only_a_partial_on_its_own_line_indents_its_lines() {
    for (text, partial, wanted) in [
        ("A: {{> p}}", "{{diff}}", "A: 1\n2\n\n3\r\n4"),
        ("  {{> p}} x", "q\n{{diff}}", "  q\n1\n2\n\n3\r\n4 x"),
        ("  {{> p}} {{> p}}\n", "q\n{{diff}}", "  q\n1\n2\n\n3\r\n4 q\n1\n2\n\n3\r\n4\n"),
        ("{{#each tags}}- {{> p}}\n{{/each}}", "q\n{{this}}", "- q\nx\ny\n- q\nz\n"),
        ("{{#if diff}}  {{> p}}{{/if}}", "q\n{{diff}}", "  q\n1\n2\n\n3\r\n4"),
        ("{{! c }}  {{> p}}\n", "a\nb", "  a\nb\n"),
        ("  {{> p}}{{! c }}\n", "a\nb", "  a\nb\n"),
        ("a\n  {{> p ~}}\n b", "{{diff}}", "a\n  1\n  2\n  \n  3\r\n  4b"),
        ("\t{{~> p}}\n", "a\nb", "a\nb"),
        ("a {{~> p}} x", "{{diff}}", "a1\n2\n\n3\r\n4 x"),
        ("  {{> p}}", "{{diff}}", "  1\n  2\n  \n  3\r\n  4"),
        ("  {{> p}}\nX", "a {{diff}}\n\nz\n", "  a 1\n  2\n  \n  3\r\n  4\n  \n  z\nX"),
        ("{{#if diff}}\n  {{> p}}\n{{/if}}", "q\n{{diff}}", "  q\n  1\n  2\n  \n  3\r\n  4"),
        ("  {{> p}}\n", "{{#if diff}}\n  in\n{{/if}}\nq\n", "    in\n  q\n"),
        ("  {{> p}}\n", "a\n {{> q}}\nz", "  a\n   <\n   1\n   2\n   \n   3\r\n   4>z"),
        ("  {{> p}}\n", "a: {{> q}}\nz", "  a: <\n  1\n  2\n  \n  3\r\n  4>\n  z"),
        ("  {{> p}}", "{{#each tags}}\nq {{this}}\n{{/each}}end", "  q x\n  y\n  q z\n  end"),
    ] {
        let values = json!({ "diff": "1\n2\n\n3\r\n4", "tags": ["x\ny", "z"] });
        let partials = [("p", partial), ("q", "<\n{{diff}}>")];
        assert_eq!(render_text_with(&partials, text, values.clone()), wanted, "{text} {partial}");
        let template = compile_with::<ArgvSlot>(&partials, text);
        assert_eq!(template.render(&scope(values)).unwrap().unwrap().text, wanted, "{text} {partial}");
    }
}

#[test]
fn this_comes_from_the_outer_loop() {
    let names = names().with_this(Shape::object([("name", Shape::Text)]), &[]);
    let scope = scope(json!({ "diff": "d", "tags": ["t"] })).with_this(json!({ "name": "N" }));
    for (text, wanted) in [
        ("{{this.name}}", "N"),
        ("{{upper this.name}}{{diff}}", "Nd"),
        ("{{#each tags}}{{this}}{{../this.name}}{{/each}}{{json this}}", "tN{\"name\":\"N\"}"),
        ("{{#with this}}{{name}}{{/with}}{{> p this}}", "NN"),
    ] {
        let template = Template::<TextSlot>::compile(&engine(&[("p", "{{name}}")]), text, &names).unwrap();
        assert_eq!(template.render(&scope).unwrap().0, wanted, "{text}");
        assert!(template.read_paths().iter().any(|path| path[0] == "this"));
    }
    let template = Template::<JsonSlot>::compile(&engine(&[]), "{{this}}", &names).unwrap();
    assert_eq!(template.render(&scope).unwrap().0, Some(json!({ "name": "N" })));
}

#[test]
fn block_params_shadow_outer_names() {
    let values = json!({ "repos": [{ "name": "a" }, { "name": "b" }], "labels": { "k": "v" } });
    assert_eq!(
        render_text("{{#each repos as |diff i|}}{{i}}{{diff.name}}{{#if @last}}!{{/if}}{{/each}}", values.clone()),
        "0a1b!"
    );
    assert_eq!(
        render_text("{{#each labels as |v k|}}{{k}}={{v}}{{@key}}{{@first}}{{/each}}", values.clone()),
        "k=vktrue"
    );
    assert_eq!(
        render_text("{{#each (first repos 1) as |r|}}{{r.name}}{{name}}{{this.name}}{{/each}}", values.clone()),
        "aaa"
    );
    assert_eq!(render_text("{{#with (first repos) as |r|}}{{r.name}}{{name}}{{/with}}", values.clone()), "aa");
    assert_eq!(
        render_text("{{#each repos}}{{#each ../repos}}{{@../index}}{{@index}}{{/each}};{{/each}}", values),
        "0001;1011;"
    );
}
