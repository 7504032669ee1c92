//! What is estimated of a message before it is parsed is never below what the allocator hands out.
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::Arc,
};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::server::RequestSender;
use crate::transport::{message, message_size::message_size};

thread_local! {
    static ALLOCATED: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// The allocator of the system, which counts what each thread holds.
struct CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// From here on blocks are moved without a copy.
const MAPPED_BYTES: i64 = 256 << 10;

/// What malloc takes for so many bytes: a header, and a multiple of 16.
fn block_bytes(size: usize) -> i64 {
    i64::try_from((size + 8).next_multiple_of(16).max(32)).unwrap_or(i64::MAX)
}

fn note(change: i64, copied: i64) {
    let reserved = ALLOCATED.get() + change;
    ALLOCATED.set(reserved);
    PEAK.set(PEAK.get().max(reserved + copied));
}

unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(block_bytes(layout.size()), 0);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(-block_bytes(layout.size()), 0);
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let before = block_bytes(layout.size());
        note(block_bytes(size) - before, if before < MAPPED_BYTES { before } else { 0 });
        unsafe { System.realloc(block, layout, size) }
    }
}

/// The most that `work` holds at a time.
fn peak_bytes<T>(work: impl FnOnce() -> T) -> u64 {
    let before = ALLOCATED.get();
    PEAK.set(before);
    drop(work());
    u64::try_from(PEAK.get() - before).unwrap()
}

/// What a message takes, and what is estimated.
fn measured(bytes: &[u8]) -> (u64, u64) {
    let (reservation, sender) = (Arc::default(), RequestSender::default());
    let parsed =
        peak_bytes(|| message::parse_envelope(bytes).and_then(|envelope| envelope.parse(&reservation, 0, &sender)));
    // The buffer that it was read into is up to twice as long.
    (bytes.len() as u64 * 2 + parsed, message_size(bytes))
}

/// Where a sender puts what it likes.
const MESSAGES: [&str; 13] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"t":@}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"t":@},"name":"x","arguments":{}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","inputResponses":{"t":{"action":"accept","content":{"t":@}}}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"t":@},"inputResponses":[]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"t":@},"name":7}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"roots":null,"experimental":{"t":{"t":@}}}}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x","arguments":{"t":@}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"t":@}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"t":@}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"made/up","params":{"t":@}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/made/up","params":{"t":@}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"t":@}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":@}}"#,
];

fn assert_estimated(text: &str) {
    for message in MESSAGES {
        let (taken, estimated) = measured(message.replace('@', text).as_bytes());
        let begin: String = text.chars().take(80).collect();
        assert!(taken <= estimated, "{taken} taken, {estimated} estimated: {message} of {begin}");
    }
}

#[test]
fn hostile_shapes_are_not_underestimated() {
    let units = [
        "[[[[[[1]]]]]]",
        "[]",
        r#"{"":{}}"#,
        r#"{"a":0}"#,
        "[[]]",
        "[0]",
        "{}",
        "0",
        r#""""#,
        r#""a""#,
        r#""\n""#,
        r#"{"\n":"\n"}"#,
        r#"[0,0,0,0,0]"#,
        r#"{"a":0,"b":0,"c":0,"d":0,"e":0}"#,
        r#"{"a":{"b":{"c":{"d":1}}}}"#,
        r#""\u0000""#,
        r#""a\nbcdefghijklmnopqrstuvwxyz""#,
        "1.5",
        "null",
    ];
    for unit in units {
        for count in [1, 5, 513, 900] {
            assert_estimated(&format!("[{}]", vec![unit; count].join(",")));
            let members: Vec<String> = (0..count).map(|number| format!("\"{number}\":{unit}")).collect();
            assert_estimated(&format!("{{{}}}", members.join(",")));
        }
    }
    assert_estimated(&format!("{}{}", "[".repeat(100), "]".repeat(100)));
    for text in ["x".repeat(1 << 20), "a\\n".repeat(1 << 18), "x".repeat(1 << 20) + "\\n"] {
        assert_estimated(&format!("\"{text}\""));
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        "[a-z\"\\\\\n]{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 400, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            prop::collection::vec(("[a-z\n]{0,9}", inner), 0..12)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn generated_json_is_not_underestimated(value in any_json(), count in 1..40_usize) {
        assert_estimated(&value.to_string());
        assert_estimated(&json!(vec![value; count]).to_string());
    }
}
