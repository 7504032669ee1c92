//! Checks that say what they saw, and waits for what must come soon.

use std::error::Error;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

/// How long anything may take before it counts as never coming.
pub const SOON: Duration = Duration::from_secs(20);

pub type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Prints one line for a check, with what was seen; the first that does not hold ends the run.
pub fn check(what: &str, holds: bool, saw: Value) -> Outcome {
    let saw = saw.to_string();
    if !holds {
        println!("  FAIL {what}: {saw}");
        return Err(what.into());
    }
    let short: String = saw.chars().take(157).collect();
    println!("  ok   {what}: {short}{}", if short.len() < saw.len() { "..." } else { "" });
    Ok(())
}

pub fn same(what: &str, saw: Value, wanted: Value) -> Outcome {
    let holds = saw == wanted;
    check(what, holds, saw).inspect_err(|_| println!("       wanted: {wanted}"))
}

/// Looks again until it is so: for what nobody sends word of.
pub async fn until(what: &str, mut look: impl AsyncFnMut() -> Outcome<(bool, Value)>) -> Outcome {
    let end = Instant::now() + SOON;
    loop {
        let (holds, saw) = look().await?;
        if holds || Instant::now() >= end {
            return check(what, holds, saw);
        }
        sleep(Duration::from_millis(10)).await;
    }
}
