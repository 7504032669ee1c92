//! What went wrong, in words for whoever called; and the secrets kept out of whatever leaves.

use base64::Engine as _;
use serde_json::Value;

use crate::action::{Asking, Asks, Failure, Need};
use crate::budget::Exhausted;
use crate::template::RenderError;
use crate::world::WorldError;

use super::answer::{Block, Body, Contents, Refusal, RefusalKind};

/// A value that a template refuses is the caller's fault.
pub(super) fn refused(error: RenderError) -> Refusal {
    match error {
        RenderError::Exhausted(why) => exhausted(why),
        error => Refusal::new(RefusalKind::BadArguments, error.to_string()),
    }
}

/// Why a call may do no more, as a refusal.
pub(super) fn exhausted(why: Exhausted) -> Refusal {
    let kind = match why {
        Exhausted::Work | Exhausted::Memory => RefusalKind::BadArguments,
        Exhausted::Time { .. } => RefusalKind::TimedOut,
        Exhausted::Cancelled => RefusalKind::Cancelled,
        Exhausted::Busy | Exhausted::Here => RefusalKind::Internal,
    };
    Refusal::new(kind, why.to_string())
}

/// Why an action gave nothing, as a refusal.
pub(super) fn failed(failure: Failure) -> Refusal {
    if let Failure::Exhausted(why) | Failure::Render(RenderError::Exhausted(why)) = failure {
        return exhausted(why);
    }
    let message = match &failure {
        Failure::World(WorldError::TimedOut { tail, .. }) if !tail.trim().is_empty() => {
            format!("{failure}:\n{}", tail.trim())
        }
        _ => failure.to_string(),
    };
    let kind = match &failure {
        Failure::World(WorldError::Cancelled) => RefusalKind::Cancelled,
        Failure::World(WorldError::TimedOut { .. }) => RefusalKind::TimedOut,
        Failure::Render(_) | Failure::Dash { .. } | Failure::Nul { .. } => RefusalKind::BadArguments,
        Failure::Said { code: Some(code), .. } => RefusalKind::Own(*code),
        Failure::Needs(_) => RefusalKind::Needs,
        Failure::Asks(_) => RefusalKind::Asks,
        Failure::Changed => RefusalKind::Changed,
        Failure::Detached(_) => RefusalKind::Detached,
        _ => RefusalKind::Internal,
    };
    let refusal = Refusal::new(kind, message);
    match failure {
        Failure::Needs(needs) => refusal.with_data(Value::Object(Need::capabilities(&needs))),
        Failure::Asks(asking) => Refusal { asking: Some(asking), ..refusal },
        Failure::Detached(checkpoint) => {
            let asking = Asking { questions: Vec::new(), checkpoint: *checkpoint };
            Refusal { asking: Some(Box::new(asking)), ..refusal }
        }
        _ => refusal,
    }
}

/// Why an entry gave nothing, to the step that used it.
pub(super) fn told_to_step(refusal: Refusal) -> Failure {
    match (refusal.kind, refusal.asking) {
        (RefusalKind::Cancelled, _) => WorldError::Cancelled.into(),
        (RefusalKind::Asks, Some(asking)) => Failure::Asks(asking),
        (RefusalKind::Changed, _) => Failure::Changed,
        (RefusalKind::Needs, _) => Failure::Needs(Need::of(refusal.data.as_ref())),
        (RefusalKind::Own(code), _) => Failure::Said { message: refusal.message, code: Some(code) },
        _ => Failure::Said { message: refusal.message, code: None },
    }
}

/// Whether a tool tells its model what went wrong; the rest is the client's to know.
pub(super) fn is_for_the_model(kind: RefusalKind) -> bool {
    !matches!(
        kind,
        RefusalKind::Cancelled
            | RefusalKind::Asks
            | RefusalKind::Changed
            | RefusalKind::Detached
            | RefusalKind::Needs
            | RefusalKind::Own(_)
    )
}

/// Replaces secrets wherever text leaves the process.
#[derive(Debug, Default)]
pub(super) struct Redactor {
    secrets: Vec<String>,
}

/// What stands in the place of a secret.
const HIDDEN: &str = "[secret]";
/// Shorter values stand in too many innocent words.
const SHORTEST: usize = 4;

impl Redactor {
    /// Hides these values, the longest first.
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Redactor {
        let long = secrets.into_iter().filter(|secret| secret.len() >= SHORTEST);
        let mut secrets: Vec<String> = long.flat_map(forms).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Redactor { secrets }
    }

    /// Hides the secrets in a text.
    pub(super) fn text(&self, text: &mut String) {
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), HIDDEN);
            }
        }
    }

    fn hidden(&self, mut text: String) -> String {
        self.text(&mut text);
        text
    }

    /// Hides them in every text of a JSON value, keys too.
    pub(super) fn value(&self, value: &mut Value) {
        if self.secrets.is_empty() {
            return;
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                if fields.keys().any(|key| self.secrets.iter().any(|secret| key.contains(secret.as_str()))) {
                    *fields =
                        std::mem::take(fields).into_iter().map(|(key, field)| (self.hidden(key), field)).collect();
                }
                fields.values_mut().for_each(|field| self.value(field));
            }
            _ => {}
        }
    }

    /// Hides them in a block.
    pub(super) fn block(&self, block: &mut Block) {
        if self.secrets.is_empty() {
            return;
        }
        match block {
            Block::Text(text) => self.text(&mut text.text),
            Block::Resource(embedded) => self.contents(&mut embedded.resource),
            Block::ResourceLink(link) => {
                self.text(&mut link.uri);
                self.text(&mut link.name);
                link.title.iter_mut().chain(&mut link.description).for_each(|text| self.text(text));
            }
            Block::Image(_) | Block::Audio(_) => {}
        }
    }

    /// Hides them in a piece of a resource.
    pub(super) fn contents(&self, contents: &mut Contents) {
        if let Body::Text(text) = &mut contents.body {
            self.text(text);
        }
    }

    /// Hides them in a refusal. What travels sealed is not for the client to read.
    pub(super) fn refusal(&self, mut refusal: Refusal) -> Refusal {
        self.text(&mut refusal.message);
        refusal.data.iter_mut().for_each(|data| self.value(data));
        refusal.asking.iter_mut().for_each(|asking| self.asking(asking));
        refusal
    }

    fn asking(&self, asking: &mut Asking) {
        for question in &mut asking.questions {
            self.asks(&mut question.asks);
        }
    }

    /// Hides them in what a client is asked.
    pub(super) fn asks(&self, asks: &mut Asks) {
        match asks {
            Asks::Form { message, .. } => self.text(message),
            Asks::Page { message, url } => {
                self.text(message);
                self.text(url);
            }
            Asks::Sample(params) => params.values_mut().for_each(|value| self.value(value)),
            Asks::Roots => {}
        }
    }
}

/// A secret in every form in which it travels: as it is, in JSON, in a URL or a form, and in base64.
fn forms(secret: &str) -> Vec<String> {
    let json = Value::from(secret).to_string();
    // Without the quotes around it; one at its own end is escaped, and belongs to it.
    let json = json.get(1..json.len() - 1).unwrap_or_default().to_owned();
    let escape = |unit: &u16| format!("\\u{unit:04x}");
    let ascii = json.chars().map(|letter| match letter {
        letter if letter.is_ascii() => letter.to_string(),
        letter => letter.encode_utf16(&mut [0; 2]).iter().map(escape).collect(),
    });
    let form: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let percent = form.replace('+', "%20").replace("%7E", "~");
    let base64 = base64::engine::general_purpose::STANDARD_NO_PAD.encode(secret);
    vec![secret.to_owned(), ascii.collect(), json.replace('/', "\\/"), json, percent, form, base64]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::Redactor;
    use serde_json::json;

    #[test]
    fn a_secret_is_hidden_in_every_form_in_which_it_travels() {
        let redactor = Redactor::new(["pä\"ss/wo rd+"]);
        for said in [
            "pä\"ss/wo rd+",
            r#"{"a":"pä\"ss/wo rd+"}"#,
            r#"{"a":"p\u00e4\"ss/wo rd+"}"#,
            r#"{"a":"pä\"ss\/wo rd+"}"#,
            "k=p%C3%A4%22ss%2Fwo+rd%2B",
            "/p%C3%A4%22ss%2Fwo%20rd%2B",
            "cMOkInNzL3dvIHJkKw==",
        ] {
            let mut text = said.to_owned();
            redactor.text(&mut text);
            assert!(text.contains("[secret]") && !text.contains("ss"), "{said} became {text}");
        }
    }

    #[test]
    fn a_secret_that_ends_with_a_quote_is_hidden_to_its_end() {
        let mut text = r#"{"a":"hunter\"","b":1}"#.to_owned();
        Redactor::new(["hunter\""]).text(&mut text);
        assert_eq!(text, r#"{"a":"[secret]","b":1}"#);
    }

    #[test]
    fn a_secret_is_hidden_in_whole_even_where_another_begins_like_it() {
        let redactor = Redactor::new(["hunter2", "hunter2-longer", "abc"]);
        let mut value = json!({"a": ["x hunter2-longer y", {"b": "hunter2hunter2"}], "c": "abc"});
        redactor.value(&mut value);
        assert_eq!(value, json!({"a": ["x [secret] y", {"b": "[secret][secret]"}], "c": "abc"}));
    }
}
