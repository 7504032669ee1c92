//! Random tokens.

use ring::rand::{SecureRandom, SystemRandom};

/// A token that no one can guess, in hexadecimal digits; `None` where the system has no randomness.
pub fn random_token() -> Option<String> {
    let mut bytes = [0; 24];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
