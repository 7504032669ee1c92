use indexmap::IndexMap;
use proptest::prelude::*;

use super::*;

fn template(text: &str) -> UriTemplate {
    UriTemplate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn matched(text: &str, uri: &str) -> Option<Vec<(String, String)>> {
    template(text).matches(uri).map(|values| values.into_iter().collect())
}

fn pairs(values: &[(&str, &str)]) -> Vec<(String, String)> {
    values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn value_stops_before_later_parameters() {
    let template = template("s:{a}{.d}{;g,h}");
    let found = template.matches("s:x.y;g=1.5;h=2").unwrap();
    let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(found, [("a", "x"), ("d", "y"), ("g", "1.5"), ("h", "2")]);
}

#[test]
fn every_operator_is_matched() {
    for (text, uri, values) in [
        ("i://{id}", "i://12", vec![("id", "12")]),
        ("i://{id}", "i://a:b@c", vec![("id", "a:b@c")]),
        ("i://{a}/x/{b}", "i://1/x/2", vec![("a", "1"), ("b", "2")]),
        ("i://{a,b}", "i://1,2", vec![("a", "1"), ("b", "2")]),
        // An encoded value holds no colon, so that the first ends at the first; the last is taken as it is.
        ("i://{a}:{b}", "i://1:2:3", vec![("a", "1"), ("b", "2:3")]),
        ("i://{a}:{b}", "i://1:2", vec![("a", "1"), ("b", "2")]),
        ("s://{+path}", "s://a/b/c.rs", vec![("path", "a/b/c.rs")]),
        ("s://{+path}/raw", "s://a/raw/b/raw", vec![("path", "a/raw/b")]),
        ("s://h{/a,b}", "s://h/1/2", vec![("a", "1"), ("b", "2")]),
        ("s://{name}{.ext}", "s://a.tar.gz", vec![("name", "a.tar"), ("ext", "gz")]),
        ("s://{id}{;x,y}", "s://1;x=2;y", vec![("id", "1"), ("x", "2"), ("y", "")]),
        ("s://{id}{;x,y}", "s://1", vec![("id", "1")]),
        ("s://h{#part}", "s://h#a/b?c", vec![("part", "a/b?c")]),
        ("s://h{#part}", "s://h", vec![]),
        ("s://h#{part}", "s://h#a", vec![("part", "a")]),
        ("s://h{?a,b}", "s://h?b=2&a=1", vec![("a", "1"), ("b", "2")]),
        ("s://h{?a,b}", "s://h?b=", vec![("b", "")]),
        ("s://h{?a,b}", "s://h", vec![]),
        ("s://h{?a}{&b}#x", "s://h?b=1#x", vec![("b", "1")]),
        ("s://h?f=1{&b}", "s://h?f=1&b=2", vec![("b", "2")]),
        ("s://h?q={q}&r={r}", "s://h?q=1&r=2", vec![("q", "1"), ("r", "2")]),
        ("S://h/{id}", "s://h/1", vec![("id", "1")]),
        ("s://h/{id}", "S://h/1", vec![("id", "1")]),
        ("s://h/{id}", "s://h/a%20%C3%A9", vec![("id", "a \u{e9}")]),
        ("s://h/{id}", "s://h/a%2Fb", vec![("id", "a/b")]),
        ("i://H/{id}", "i://h/A", vec![("id", "A")]),
        ("i://h/{id}", "i://H/A", vec![("id", "A")]),
        ("i://{id}", "i://Alice", vec![("id", "Alice")]),
        ("i://{id}/x", "i://Alice/./x", vec![("id", "alice")]),
        ("i://Team.{id}.Example/{page}", "i://tEAM.Red.example/A", vec![("id", "Red"), ("page", "A")]),
        ("i://{+path}/Raw", "i://a/Raw", vec![("path", "a")]),
        ("i://{id}{;Key}", "i://a;key=1", vec![("id", "a"), ("Key", "1")]),
        ("i://{hour}:{minute}", "i://12:05", vec![("hour", "12"), ("minute", "05")]),
        ("i://{+path}", "i://docs/", vec![("path", "docs/")]),
        ("i://{+path}", "i:///", vec![("path", "/")]),
        ("i://h/{id}", "i://h/../1", vec![("id", "1")]),
        ("i://h/x/{+path}", "i://h/%78/y/../z", vec![("path", "z")]),
        ("i://h/%7euser/{id}", "i://h/~user/%7E", vec![("id", "~")]),
        ("https://Wiki.Example:443/{page}", "https://wiki.example/A", vec![("page", "A")]),
        ("https://wiki.example/{page}", "https://WIKI.example:443/A", vec![("page", "A")]),
        ("https://b%c3%bccher.example/{page}", "https://xn--bcher-kva.example/a", vec![("page", "a")]),
        ("https://h{?q}", "https://h/?q=1", vec![("q", "1")]),
        ("https://h/{?q}", "https://h?q=1", vec![("q", "1")]),
        ("https://h/{?q}", "https://h/", vec![]),
        ("https://{+any}", "https://Wiki.example/a", vec![("any", "Wiki.example/a")]),
        ("file://localhost/srv/{+path}", "file:///srv/a", vec![("path", "a")]),
    ] {
        assert_eq!(matched(text, uri), Some(pairs(&values)), "{text} {uri}");
    }
}

#[test]
fn mismatching_uri_is_not_matched() {
    for (text, uri) in [
        ("i://{id}", "i://"),
        ("i://{id}", "i://1/2"),
        ("i://{id}", "i://1?x"),
        ("i://{id}", "i://1#x"),
        ("i://{id}", "j://1"),
        ("i://{id}", "xi://1"),
        ("i://h/A{id}", "i://h/a1"),
        ("i://{id}", "i://%"),
        ("i://{id}", "i://%2"),
        ("i://{id}", "i://%+1"),
        ("i://{id}", "i://%ff"),
        ("i://{id}", "i://a%00b"),
        ("s://{+path}", "s://a?b"),
        ("s://{+path}", "s://"),
        ("s://h{?a}", "s://h?b=1"),
        ("s://h{?a}", "s://h?a=1&b=1"),
        ("s://h{?a}", "s://h?a=1&a=2"),
        ("s://h{?a}", "s://h?a=1&"),
        ("s://h{?a}", "s://h&a=1"),
        ("s://h{?a}", "s://h?a=%zz"),
        ("s://h?q={q}", "s://h?q=1&r=2"),
        ("s://h{/a}", "s://h"),
        ("s://h{.a}", "s://h"),
        ("s://h/x", "s://h/y"),
        ("s://h.x/{a}", "s://hzx/1"),
    ] {
        assert_eq!(matched(text, uri), None, "{text} {uri}");
    }
}

/// Section 3.2 of RFC 6570, for the values it uses.
#[test]
fn expansion_matches_rfc6570_examples() {
    let value = |name: &str| {
        let known = [
            ("var", "value"),
            ("hello", "Hello World!"),
            ("half", "50%"),
            ("empty", ""),
            ("path", "/foo/bar"),
            ("x", "1024"),
            ("y", "768"),
            ("who", "fred"),
            ("v", "6"),
            ("dub", "me/too"),
        ];
        known.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    for (text, uri) in [
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("?{undef,y}", "?768"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{+path}/here", "/foo/bar/here"),
        ("here?ref={+path}", "here?ref=/foo/bar"),
        ("{+x,hello,y}", "1024,Hello%20World!,768"),
        ("{+path,x}/here", "/foo/bar,1024/here"),
        ("X{#var}", "X#value"),
        ("X{#hello}", "X#Hello%20World!"),
        ("{#x,hello,y}", "#1024,Hello%20World!,768"),
        ("{#path,x}", "#/foo/bar,1024"),
        ("foo{#empty}", "foo#"),
        ("foo{#undef}", "foo"),
        ("{.who}", ".fred"),
        ("{.half,who}", ".50%25.fred"),
        ("X{.var}", "X.value"),
        ("X{.empty}", "X."),
        ("X{.undef}", "X"),
        ("{/who}", "/fred"),
        ("{/half,who}", "/50%25/fred"),
        ("{/who,dub}", "/fred/me%2Ftoo"),
        ("{/var,empty}", "/value/"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{;who}", ";who=fred"),
        ("{;half}", ";half=50%25"),
        ("{;empty}", ";empty"),
        ("{;v,empty,who}", ";v=6;empty;who=fred"),
        ("{;v,undef,who}", ";v=6;who=fred"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{?who}", "?who=fred"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?x,y,undef}", "?x=1024&y=768"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("?fixed=yes{&x,y,empty}", "?fixed=yes&x=1024&y=768&empty="),
    ] {
        assert_eq!(template(&format!("s:{text}")).expand(&value), format!("s:{uri}"), "{text}");
    }
}

#[test]
fn continuation_starts_the_query_if_none() {
    let text = template("s://h{?a}{&b}");
    let uri = text.expand(&|name: &str| (name == "b").then(|| "1".to_owned()));
    assert_eq!(uri, "s://h?b=1");
    assert_eq!(text.matches(&uri).unwrap()["b"], "1");
}

#[test]
fn template_exposes_prefix_and_variables() {
    let text = template("src://a/{id}/x{?b}");
    assert_eq!(text.literal_prefix(), "src://a/");
    assert!(!text.is_literal());
    assert!(template("src://a").is_literal());
    assert_eq!(template("src://a").literal_prefix(), "src://a");
    let known: Vec<_> =
        text.variables().iter().map(|known| (known.name.as_str(), known.operator, known.range.clone())).collect();
    assert_eq!(known, [("id", Operator::Simple, 9..11), ("b", Operator::Query, 16..17)]);
}

#[test]
fn parse_errors_have_range_and_message() {
    for (text, at, message) in [
        ("", "", "missing URI scheme"),
        ("docs/{id}", "docs", "missing URI scheme"),
        ("{scheme}://x", "", "missing URI scheme"),
        ("1x://{id}", "1x", "invalid URI scheme `1x`"),
        ("s://{id", "{", "unclosed `{`"),
        ("s://{a{b}", "{", "unclosed `{`"),
        ("s://a}", "}", "unmatched `}`"),
        ("s://{}", "{}", "empty expression `{}`"),
        ("s://{+}", "", "missing variable name"),
        ("s://{a,}", "", "missing variable name"),
        ("s://{{id}}", "{{", "unexpected `{{` in a URI template"),
        ("s://{id*}", "*", "unsupported explode modifier `*`"),
        ("s://{id:3}", ":3", "unsupported prefix modifier `:`"),
        ("s://{user-id}", "user-id", "invalid variable name `user-id`"),
        ("s://{a.b}", "a.b", "invalid variable name `a.b`"),
        ("s://{ id }", " id ", "invalid variable name ` id `"),
        ("s://{1}", "1", "invalid variable name `1`"),
        ("s://{!a}", "!", "reserved operator `!` (RFC 6570)"),
        ("s://{a}/{a}", "a", "duplicate variable `a`"),
        ("s://{a}{b}", "{b}", "ambiguous adjacent expressions"),
        ("s://{+a}{+b}", "{+b}", "ambiguous adjacent expressions"),
        ("s://{?a}/x", "/x", "unexpected text after a query expression"),
        ("s://{?a}{/b}", "{/b}", "unexpected expression after a query expression"),
        ("s://{?a}{?b}", "{?b}", "duplicate query expression"),
        ("s://h?a=1{?b}", "{?b}", "duplicate query expression"),
        ("s://h{&b}", "{&b}", "`{&…}` without a query"),
        ("s://h{#a}/x", "/x", "unexpected text after fragment `{#…}`"),
        ("s://h#x{?a}", "{?a}", "unexpected expression after `#`"),
        ("s://h#x{#a}", "{#a}", "unexpected expression after `#`"),
        ("s://h#x{a}#y", "#y", "duplicate `#` in URI"),
        ("s://a b/{id}", " ", "invalid character in URI: a space"),
        ("s://\u{e9}/{id}", "\u{e9}", "invalid character in URI: `\u{e9}`"),
        ("s://%zz/{id}", "%", "invalid escape: `%` must be followed by two hexadecimal digits"),
    ] {
        let error = UriTemplate::parse(text).expect_err(text);
        assert_eq!((&text[error.at.clone()], error.message.as_str()), (at, message), "{text}");
    }
}

#[test]
fn help_suggests_a_replacement() {
    let help = |text: &str| UriTemplate::parse(text).unwrap_err().help.unwrap();
    assert_eq!(help("s://{id*}"), "write `id`; RFC 6570 is supported to level 3");
    assert_eq!(help("s://a b"), "write it as `%20`");
    assert_eq!(help("s://\u{e9}"), "write it as `%C3%A9`");
}

#[test]
fn check_uri_wants_absolute_uri_characters() {
    for good in [
        "docs://guide", "x:", "urn:a:b", "file:///a%20b", "http://[::1]:80/a?b#c", "a+b.c-1://x", "s://a:b",
        "s://[id].tsx",
    ] {
        assert_eq!(check_uri(good), Ok(()), "{good}");
    }
    for (bad, at) in [
        ("", ""),
        ("guide", "guide"),
        ("/a:b", ""),
        ("docs/a:b", "docs"),
        (":x", ""),
        ("1a:x", "1a"),
        ("s://a b", " "),
        ("s://a\nb", "\n"),
        ("s://\u{e9}", "\u{e9}"),
        ("s://{id}", "{"),
        ("s://a\\b", "\\"),
        ("s://%2", "%"),
        ("s://%\u{e9}", "\u{e9}"),
        ("s://a#b#c", "#"),
    ] {
        let error = check_uri(bad).expect_err(bad);
        assert_eq!(&bad[error.at.clone()], at, "{bad}");
    }
}

#[test]
fn router_prefers_literals_then_longest_prefix() {
    let written = [
        "s://{+any}", "s://a/{x}", "s://a/b", "s://a/{y}", "s://a/{x}/c", "s://a/{x}/{z}", "s://a/{x}{?q}", "S://c/{x}",
    ];
    let router = Router::new(written.iter().map(|text| (template(text), *text)));
    for (uri, text) in [
        ("s://a/b", Some("s://a/b")),
        ("S://a/b", Some("s://a/b")),
        ("s://c/1", Some("S://c/{x}")),
        ("s://a/1", Some("s://a/{x}")),
        ("s://a/1?q=1", Some("s://a/{x}{?q}")),
        ("s://a/1/c", Some("s://a/{x}/c")),
        ("s://a/1/d", Some("s://a/{x}/{z}")),
        ("s://a/1/d/e", Some("s://{+any}")),
        ("s://b", Some("s://{+any}")),
        ("s://b?x", None),
        ("t://b", None),
    ] {
        assert_eq!(router.find(uri).map(|(text, _)| *text), text, "{uri}");
    }
}

#[test]
fn hostile_uri_matches_in_linear_time() {
    let text = template("s://{+a}y{+b}y{+c}z");
    assert!(text.matches(&format!("s://{}", "y".repeat(64 * 1024))).is_none());
    assert!(text.matches(&format!("s://{}z", "y".repeat(64 * 1024))).is_some());
}

/// One variable in ten forms, and what may stand between two so that their values stay apart.
fn templates() -> impl Strategy<Value = String> {
    let simple = prop::collection::vec(prop::sample::select(vec!["/", ":", "@", "/x/", ",", ";k=", "!y"]), 1..4);
    let middle = prop::sample::select(vec!["", "/{+r}", "{/r}", "{/r,s}", ":{+r}", "{;r}", "{;r,s}", "/{r,s}"]);
    let end = prop::sample::select(vec!["", "{?q}", "{?q,p}", "{?q}{&p}", "?k=1{&q}", "{#f}", "{?q}{#f}", "#x", "/z"]);
    (simple, middle, end).prop_map(|(separators, middle, end)| {
        let mut text = "s://h/x".to_owned();
        for (at, separator) in separators.iter().enumerate() {
            text.push_str(&format!("{separator}{{v{at}}}"));
        }
        text + middle + end
    })
}

fn values(template: &UriTemplate) -> impl Strategy<Value = Vec<String>> + use<> {
    let value = prop_oneof!["[^\0]{1,6}", "[-a%/?#&;:,.=+ 2F]{1,6}"];
    prop::collection::vec(value, template.variables().len())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn match_inverts_expand(
        (template, values) in templates().prop_flat_map(|text| {
            let template = template(&text);
            let values = values(&template);
            (Just(template), values)
        }),
    ) {
        let given: IndexMap<String, String> =
            template.variables().iter().map(|variable| variable.name.clone()).zip(values).collect();
        let uri = template.expand(&|name: &str| given.get(name).cloned());
        prop_assert_eq!(check_uri(&uri), Ok(()), "{} {}", &template, &uri);
        // Clients resolve dot segments, so that such a value is never sent.
        prop_assume!(!uri.split(['/', '?', '#']).any(|segment| matches!(segment, "." | "..")));
        prop_assert_eq!(template.matches(&uri), Some(given), "{} {}", &template, &uri);
    }

    #[test]
    fn optional_variables_stay_absent(
        present in prop::collection::vec(any::<bool>(), 5),
        value in "[^\0]{0,4}",
    ) {
        let template = template("s://{id}{;a,b}{?c}{&d}#e");
        let names = ["a", "b", "c", "d"].iter().zip(&present).filter(|(_, present)| **present);
        let mut given: IndexMap<String, String> = names.map(|(name, _)| ((*name).to_owned(), value.clone())).collect();
        given.insert("id".to_owned(), "1".to_owned());
        let uri = template.expand(&|name: &str| given.get(name).cloned());
        prop_assert_eq!(template.matches(&uri), Some(given), "{}", &uri);
    }

    #[test]
    fn any_template_matches_its_own_expansion(text in template_like(), uri in uri_like()) {
        let _ = check_uri(&uri);
        match UriTemplate::parse(&text) {
            Err(error) => prop_assert!(text.get(error.at.clone()).is_some(), "{:?} {:?}", &text, error),
            Ok(template) => {
                let _ = template.matches(&uri);
                let written = template.expand(&|_: &str| Some("v%.x".to_owned()));
                let found = template.matches(&written);
                prop_assert!(found.is_some(), "{} {}", &template, &written);
                let again = found.unwrap();
                let rewritten = template.expand(&|name: &str| again.get(name).cloned());
                // A value that may hold `;` and `/` can take what was written as the next one's: then the reading of
                // it stays the same, if not its spelling.
                let greedy = template.variables().iter().any(|variable| variable.operator == Operator::Reserved);
                prop_assert!(greedy || rewritten == written, "{} {} {}", &template, &written, &rewritten);
                prop_assert_eq!(template.matches(&rewritten), Some(again));
            }
        }
    }

    #[test]
    fn router_agrees_with_linear_search(
        written in prop::collection::vec(prop::sample::select(ROUTES.to_vec()), 0..12),
        uri in prop::collection::vec(prop::sample::select(vec!["s://", "a", "b", "/", "x", "?q=1", "ab"]), 1..6),
    ) {
        let uri = uri.concat();
        let routes: Vec<_> = written.iter().enumerate().map(|(at, text)| (template(text), at)).collect();
        let mut naive: Vec<_> = routes.iter().filter(|(template, _)| template.matches(&uri).is_some()).collect();
        naive.sort_by_key(|(template, at)| {
            (!template.is_literal(), std::cmp::Reverse(template.literal_prefix().len()), *at)
        });
        let expected = naive.first().map(|(template, at)| (at, template.matches(&uri).unwrap()));
        let router = Router::new(routes.clone());
        prop_assert_eq!(router.find(&uri), expected);
    }
}

const ROUTES: &[&str] = &[
    "s://a", "S://a/b", "S://b/{x}", "s://{x}{?q}#x", "s://{x}", "s://{+x}", "s://a{x}", "s://a/{x}", "s://a/{+x}",
    "s://{x}/b", "s://{x}b", "s://{+x}/x", "s://a/{x}/b", "s://a/{x}{?q}", "s://ab/{x}", "s://a{/x}", "s://a/{x}/{y}",
    "s://{x}{#f}", "s://a/b{?q}", "s://{x}/ab",
];

fn template_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{", "}", "{a}", "{+b}", "{#c}", "{.d}", "{/e,f}", "{;g,h}", "{?i,j}", "{&k}", "/", "x", "?", "#", "%41", "%",
        "é", "&", "=", ",", ";", ":", "{l,m}", "{+n,o}", "{#p,q}", "*", ".", "-",
    ]);
    let pieces = prop::collection::vec(piece, 0..7).prop_map(|pieces| format!("s:{}", pieces.concat()));
    prop_oneof![3 => pieces, 1 => any::<String>()]
}

fn uri_like() -> impl Strategy<Value = String> {
    prop_oneof!["s:[-a-z/?#%&=;,.{}0-9é]{0,24}", any::<String>()]
}
