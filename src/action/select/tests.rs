//! The interpreter gives the results of `jmespath`, and refuses expressions that grow without bound.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{SelectError, SelectExpression};
use crate::budget::{Budget, BudgetExceeded};

fn selection(text: &str) -> SelectExpression {
    SelectExpression { expression: jmespath::compile(text).unwrap() }
}

/// What `jmespath` itself finds, in folio's words where it finds nothing.
fn jmespath_search(text: &str, value: &Value) -> Result<Value, SelectError> {
    let found = jmespath::compile(text).unwrap().search(value);
    found.map(|found| serde_json::to_value(&*found).unwrap()).map_err(|error| SelectError::from_reason(&error.reason))
}

fn folio_search(text: &str, value: &Value) -> Result<Value, SelectError> {
    Budget::default().run(|| selection(text).apply(value)).unwrap()
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9i32..9).prop_map(Value::from),
        (-2.0f64..2.0).prop_map(Value::from),
        "[abé]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[a-c]",
        Just("@".to_owned()),
        Just("`[3, 1, 2]`".to_owned()),
        Just("`{\"a\": \"x\", \"b\": [1]}`".to_owned()),
        Just("'ab'".to_owned()),
        (-4i32..4).prop_map(|at| format!("[{at}]")),
        prop::array::uniform3(prop::option::of(-4i32..4)).prop_map(|ends| {
            let [start, stop, step] = ends.map(|end| end.map_or(String::new(), |end| end.to_string()));
            format!("[{start}:{stop}:{step}]")
        }),
    ];
    leaf.prop_recursive(5, 24, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        let three = (inner.clone(), inner.clone(), inner.clone());
        prop_oneof![
            (two.clone(), prop::sample::select(vec!["|", "||", "&&", "==", "!=", "<", ">="]))
                .prop_map(|((one, other), sign)| format!("({one}) {sign} ({other})")),
            inner.clone().prop_map(|one| format!("!({one})")),
            (inner.clone(), "[a-c]").prop_map(|(one, name)| format!("({one}).{name}")),
            (
                inner.clone(),
                prop::sample::select(vec!["[]", "[*]", ".*", "[*].a", "[0]", "[?a]", "[?@ > `1`]", "[1:]"])
            )
                .prop_map(|(one, rest)| format!("({one}){rest}")),
            two.clone().prop_map(|(one, other)| format!("[{one}, {other}]")),
            two.clone().prop_map(|(one, other)| format!("{{a: {one}, b: {other}}}")),
            (two.clone(), prop::sample::select(vec!["sort_by", "max_by", "min_by"]))
                .prop_map(|((one, other), name)| format!("{name}({one}, &({other}))")),
            two.clone().prop_map(|(one, other)| format!("map(&({one}), {other})")),
            (inner.clone(), prop::sample::select(UNARY_FUNCTIONS.to_vec()))
                .prop_map(|(one, name)| format!("{name}({one})")),
            (two, prop::sample::select(BINARY_FUNCTIONS.to_vec()))
                .prop_map(|((one, other), name)| format!("{name}({one}, {other})")),
            three.prop_map(|(one, two, three)| format!("not_null({one}, {two}, {three})")),
        ]
    })
}

const UNARY_FUNCTIONS: &[&str] = &[
    "abs", "avg", "ceil", "floor", "keys", "length", "max", "min", "reverse", "sort", "sum", "to_array", "to_number",
    "to_string", "type", "values", "merge", "not_null",
];
const BINARY_FUNCTIONS: &[&str] = &["contains", "ends_with", "starts_with", "join", "merge", "map", "sort_by", "abs"];

/// The functions whose results are integers where their arguments are.
const INTEGRAL_FUNCTIONS: &[&str] = &["abs(", "avg(", "ceil(", "floor(", "sum("];

#[test]
fn integers_stay_integers() {
    for (text, value, found) in [
        ("sum(@)", json!([9_007_199_254_740_993_i64, 1]), json!(9_007_199_254_740_994_i64)),
        ("sum(@)", json!([1, 0.5]), json!(1.5)),
        ("sum(@)", json!([]), json!(0)),
        ("abs(@)", json!(-4), json!(4)),
        ("abs(@)", json!(-4.5), json!(4.5)),
        ("avg(@)", json!([2, 4]), json!(3)),
        ("avg(@)", json!([2, 3]), json!(2.5)),
        ("avg(@)", json!([2.0, 4]), json!(3.0)),
        ("length(@)", json!([2.0]), json!(1)),
        ("ceil(@)", json!(1.2), json!(2)),
        ("floor(@)", json!(-1.2), json!(-2)),
    ] {
        assert_eq!(folio_search(text, &value), Ok(found), "{text} of {value}");
    }
}

proptest! {
    #[test]
    fn results_equal_those_of_jmespath(text in expression(), value in value()) {
        // What a slice of zero steps or an expression as an outcome comes to is an error in both.
        prop_assume!(jmespath::compile(&text).is_ok());
        // These make floats of integers there.
        if INTEGRAL_FUNCTIONS.iter().any(|name| text.contains(name)) {
            return Ok(());
        }
        prop_assert_eq!(folio_search(&text, &value), jmespath_search(&text, &value), "{} of {}", text, value);
    }
}

/// An expression that is repeated along a chain, and doubles what it is given.
fn chain(links: usize, link: &str) -> String {
    vec![link; links].join(" | ")
}

#[test]
fn exponential_growth_is_refused() {
    let nested = |open: &str, close: &str, times| format!("{}@{}", open.repeat(times), close.repeat(times));
    for text in [
        chain(60, "[@, @]"),
        chain(60, "{a: @, b: @}"),
        format!("[@] | {}", chain(60, "map(&[@, @], @)")),
        format!("[@] | {}", chain(60, "[*].[@, @] | []")),
        format!("[@] | {}", chain(60, "[@, @][] | [?@]")),
        format!("[@] | {}", chain(60, "[@, @][]")),
        nested("to_string([", "])", 60),
        chain(60, "to_string([@, @])"),
        chain(60, "join(@, ['a', 'b', 'c'])").replacen("join(@", "join('xxxxxxxxxxxxxxxx'", 1),
        format!("@ | {}", chain(60, "join('', [to_string(@), to_string(@)])")),
        format!("{} | length(to_string(@))", chain(60, "[@, @]")),
        format!("{} | @ == @", chain(60, "[@, @]")),
        format!("[@] | {}", chain(60, "sort_by([@, @][], &to_string(@))")),
        format!("{{a: @}} | {}", chain(60, "merge({a: [a, a]}, {b: [@, @]})")),
        format!("{} | contains([@], @)", chain(60, "[@, @]")),
    ] {
        let found = folio_search(&text, &json!({ "a": ["x", "y"], "b": 1 }));
        assert!(matches!(found, Err(SelectError::BudgetExceeded(BudgetExceeded::Memory))), "{text}: {found:?}");
    }
}

#[test]
fn recursive_expression_is_refused() {
    let found = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(|| folio_search("[&map([0], [@])] | map([0], [@])", &json!({})))
        .unwrap()
        .join()
        .unwrap();
    assert!(matches!(found, Err(SelectError::Mismatch { .. })), "{found:?}");
}

#[test]
fn extreme_indices_do_not_overflow() {
    let value = json!([1, 2, 3]);
    for (text, found) in [
        ("[1::2147483647]", json!([2])),
        ("[::-2147483647]", json!([3])),
        ("[-2147483647]", json!(null)),
        ("[-2147483647:2147483647]", value.clone()),
    ] {
        assert_eq!(folio_search(text, &value).unwrap(), found, "{text}");
    }
}

#[test]
fn keys_keep_their_order() {
    let value = json!({ "title": "t", "id": 1, "c": [{ "z": 1, "a": { "y": 1, "x": 2 } }, { "a": 1, "z": 2 }] });
    for (text, found) in [
        ("@", r#"{"title":"t","id":1,"c":[{"z":1,"a":{"y":1,"x":2}},{"a":1,"z":2}]}"#),
        ("{ title: title, id: id }", r#"{"title":"t","id":1}"#),
        ("c[].{ z: z, a: a, z: `0` }", r#"[{"z":0,"a":{"y":1,"x":2}},{"z":0,"a":1}]"#),
        ("map(&{ b: z, a: a }, c)", r#"[{"b":1,"a":{"y":1,"x":2}},{"b":2,"a":1}]"#),
        ("{ y: { q: id, p: title }, x: { p: title, q: id } }", r#"{"y":{"q":1,"p":"t"},"x":{"p":"t","q":1}}"#),
        ("c[].{ a: a, z: z } | [].{ z: z, a: a }", r#"[{"z":1,"a":{"y":1,"x":2}},{"z":2,"a":1}]"#),
        ("sort_by(c, &z)[-1:]", r#"[{"a":1,"z":2}]"#),
    ] {
        assert_eq!(folio_search(text, &value).unwrap().to_string(), found, "{text}");
    }
}
