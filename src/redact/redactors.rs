//! The redactors of the served load and of earlier ones that are still in use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use super::Redactor;
use parking_lot::RwLock;

/// The redactors in use. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Redactors {
    inner: Arc<RedactorsState>,
}

#[derive(Debug, Default)]
struct RedactorsState {
    /// Whether any redactor has secrets, for a fast path.
    has_secrets: AtomicBool,
    history: RwLock<RedactorHistory>,
}

#[derive(Debug, Default)]
struct RedactorHistory {
    current: Arc<Redactor>,
    /// The previous one, whose last answers may be in flight.
    previous: Arc<Redactor>,
    /// Earlier ones, each while it is in use.
    older: Vec<Weak<Redactor>>,
}

impl Redactors {
    /// Creates it with one redactor.
    pub fn new(first: Arc<Redactor>) -> Redactors {
        let redactors = Redactors::default();
        redactors.replace(first);
        redactors
    }

    /// Adds `next`. Earlier redactors apply while they are in use.
    pub fn replace(&self, next: Arc<Redactor>) {
        let mut kept = self.inner.history.write();
        if *kept.current == *next {
            return;
        }
        let current = std::mem::replace(&mut kept.current, next);
        let previous = std::mem::replace(&mut kept.previous, current);
        kept.older.push(Arc::downgrade(&previous));
        drop(previous);
        kept.older.retain(|older| older.strong_count() > 0);
        let any = !kept.current.is_empty() || !kept.previous.is_empty() || !kept.older.is_empty();
        self.inner.has_secrets.store(any, Ordering::Release);
    }

    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        !self.inner.has_secrets.load(Ordering::Acquire)
    }

    /// Redacts a text.
    pub fn redact_text(&self, text: String) -> String {
        self.redact_with_all(text, |redactor, text| redactor.redact_in_place(text))
    }

    /// Redacts bytes.
    pub fn redact_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.redact_with_all(bytes, |redactor, bytes| {
            redactor.redact_bytes(bytes, super::InputEnd::Complete);
        })
    }

    /// Redacts a JSON-RPC message, or a list of them.
    pub fn redact_message(&self, message: Vec<u8>) -> Vec<u8> {
        self.redact_with_all(message, |redactor, message| *message = redactor.redact_message(std::mem::take(message)))
    }

    /// Passes a value through all redactors in use.
    fn redact_with_all<T>(&self, mut value: T, redact: impl Fn(&Redactor, &mut T)) -> T {
        self.active().iter().for_each(|redactor| redact(redactor, &mut value));
        value
    }

    fn active(&self) -> Vec<Arc<Redactor>> {
        if self.is_empty() {
            return Vec::new();
        }
        let kept = self.inner.history.read();
        let older = kept.older.iter().filter_map(Weak::upgrade);
        let all = [kept.current.clone(), kept.previous.clone()].into_iter().chain(older);
        all.filter(|redactor| !redactor.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor_of(secret: &str) -> Arc<Redactor> {
        Arc::new(Redactor::new([secret]))
    }

    #[test]
    fn secret_is_redacted_while_its_load_is_in_use() {
        let redactors = Redactors::default();
        assert!(redactors.is_empty());
        let first = redactor_of("first-one");
        redactors.replace(first.clone());
        for next in ["second-one", "third-one", "fourth-one"] {
            redactors.replace(redactor_of(next));
        }
        let said = "first-one second-one third-one fourth-one".to_owned();
        assert_eq!(redactors.redact_text(said.clone()), "[secret] second-one [secret] [secret]");
        drop(first);
        assert_eq!(redactors.redact_text(said), "first-one second-one [secret] [secret]");
    }
}
