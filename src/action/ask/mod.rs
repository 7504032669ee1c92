//! `ask`: one round of questions to the client.
//!
//! The same round is awaited in place by a client with a session, and answered with its next request by one without:
//! what differs is in the [`Client`](super::Client) alone. What is not here: how a question is put into the words of
//! a version of the protocol (server/).

mod elicit;
mod page;
mod sample;
mod spec;

use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::{
    Act, Asking, Body, Checkpoint, Client, Doing, Failure, Need, Outcome, Question, Round, Unanswered, Written, client,
};
use crate::budget::Waited;
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::notation::is_identifier;
use crate::template::{Scope, Shape};
use crate::world::WorldError;
use crate::yaml::Spanned;

use elicit::Elicited;
use sample::Sampled;
use spec::OnDecline;
pub use spec::Spec;

/// How long answers are waited for until something else is said.
const PATIENCE: Duration = Duration::from_secs(5 * 60);
/// How often a client that is waited for is asked again for an answer that does not fit.
const AGAIN: usize = 1;

/// One round of questions.
pub struct Ask {
    asked: Vec<Asked>,
    timeout: Duration,
}

/// One question, ready to be put.
struct Asked {
    key: String,
    what: What,
    /// Left out where the client cannot be asked.
    optional: bool,
    /// Whether the run goes on when the person says no.
    goes_on: bool,
}

enum What {
    Elicit(Elicited),
    Sample(Sampled),
    Roots,
}

/// What is made of one answer.
enum Verdict {
    /// It fits: the outcome of the question.
    Fits(Value),
    /// It does not, for this reason.
    Misfit(String),
    /// The person said no, and the run ends with these words.
    Over(String),
}

impl Act for Ask {
    type Spec = Spec;
    const BESIDE: &'static [&'static str] = &["timeout"];
    const GRANT: Option<&'static str> = Some("ask");

    fn shape(spec: &Spec) -> Shape {
        Shape::object(spec.0.iter().map(|(key, question)| (key.value.clone(), shape_of(question))))
    }

    fn compile(written: Written<'_, Spec>, compiler: &mut Compiler<'_>) -> Option<Ask> {
        if written.spec.value.0.is_empty() {
            compiler
                .error(Code::MissingKey, written.key, "`ask` needs a question")
                .help("write `ask: { KEY: { elicit: … } }`");
            return None;
        }
        let questions = written.spec.value.0.iter();
        let asked: Vec<Option<Asked>> = questions.map(|(key, question)| question_of(key, question, compiler)).collect();
        let timeout = written.beside.timeout.map_or(PATIENCE, |timeout| timeout.value.get());
        Some(Ask { asked: asked.into_iter().collect::<Option<Vec<_>>>()?, timeout })
    }

    async fn act(&self, doing: &Doing<'_>) -> Result<Outcome, Failure> {
        let mut answers = doing.resume.map(|checkpoint| checkpoint.answers.clone()).unwrap_or_default();
        self.leave_out(doing, &mut answers)?;
        let mut misfit = None;
        for round in 0.. {
            let open = self.open(doing.scope, &answers)?;
            if open.is_empty() {
                break;
            }
            if round > AGAIN {
                return Err(Failure::words(misfit.unwrap_or_else(|| "the client gave no answer".to_owned())));
            }
            let given = match self.put(open, doing).await? {
                Ok(given) => given,
                Err(questions) => {
                    let checkpoint = Checkpoint { answers, ..Checkpoint::default() };
                    return Err(Failure::Asks(Box::new(Asking { questions, checkpoint })));
                }
            };
            misfit = self.take(given, doing.scope, &mut answers)?;
        }
        Ok(self.outcome(answers))
    }
}

impl Ask {
    /// Answers with nothing what the client cannot be asked and need not be.
    fn leave_out(&self, doing: &Doing<'_>, answers: &mut Map<String, Value>) -> Result<(), Failure> {
        let mut lacking = Vec::new();
        for asked in &self.asked {
            if answers.contains_key(&asked.key) {
                continue;
            }
            let need = asked.what.need();
            match (doing.client.can(need), asked.optional) {
                (true, _) => continue,
                (false, true) => {
                    answers.insert(asked.key.clone(), Value::Null);
                }
                (false, false) => lacking.push(need),
            }
        }
        lacking.sort_unstable();
        lacking.dedup();
        if lacking.is_empty() { Ok(()) } else { Err(Failure::Needs(lacking)) }
    }

    /// The questions that have no answer yet.
    fn open(&self, scope: &Scope, answers: &Map<String, Value>) -> Result<Vec<Question>, Failure> {
        let open = self.asked.iter().filter(|asked| !answers.contains_key(&asked.key));
        open.map(|asked| Ok(Question { key: asked.key.clone(), asks: asked.what.render(scope)? })).collect()
    }

    /// Puts the questions. Gives them back where the answers come with another request.
    async fn put(
        &self,
        questions: Vec<Question>,
        doing: &Doing<'_>,
    ) -> Result<Result<Map<String, Value>, Vec<Question>>, Failure> {
        let round = Round { questions, timeout: self.timeout };
        let began = Instant::now();
        let answered = doing.client.ask(&round).await;
        doing.waited.add(began.elapsed());
        match answered {
            Ok(given) => Ok(Ok(given)),
            Err(Unanswered::Later) => Ok(Err(round.questions)),
            Err(Unanswered::Cancelled) => Err(WorldError::Cancelled.into()),
            Err(Unanswered::TimedOut) => Err(Failure::words(format!("nobody answered within {:?}", self.timeout))),
            Err(Unanswered::Failed(words)) => Err(Failure::words(format!("the client did not answer: {words}"))),
        }
    }

    /// Takes the answers that fit. Says what was wrong with one that does not.
    fn take(
        &self,
        mut given: Map<String, Value>,
        scope: &Scope,
        answers: &mut Map<String, Value>,
    ) -> Result<Option<String>, Failure> {
        let mut misfit = None;
        for asked in &self.asked {
            if answers.contains_key(&asked.key) {
                continue;
            }
            let Some(answer) = given.remove(&asked.key) else { continue };
            match asked.judge(&answer, scope)? {
                Verdict::Fits(outcome) => {
                    answers.insert(asked.key.clone(), outcome);
                }
                Verdict::Misfit(words) => {
                    misfit = Some(format!("the answer to `{}` does not fit what was asked: {words}", asked.key));
                }
                Verdict::Over(words) => return Err(Failure::words(words)),
            }
        }
        Ok(misfit)
    }

    fn outcome(&self, mut answers: Map<String, Value>) -> Outcome {
        let in_order = self.asked.iter().filter_map(|asked| answers.remove_entry(&asked.key));
        let value = Value::Object(in_order.collect());
        let said = value.as_object().is_some_and(|answers| answers.values().any(|answer| !answer.is_null()));
        let body = if said { Body::Json(value.clone(), value.to_string()) } else { Body::None };
        Outcome::of(value, body)
    }
}

impl What {
    fn need(&self) -> Need {
        match self {
            What::Elicit(elicited) => elicited.need(),
            What::Sample(sampled) => sampled.need(),
            What::Roots => Need::Roots,
        }
    }

    fn render(&self, scope: &Scope) -> Result<client::Asks, Failure> {
        match self {
            What::Elicit(elicited) => elicited.render(scope),
            What::Sample(sampled) => sampled.render(scope),
            What::Roots => Ok(client::Asks::Roots),
        }
    }
}

impl Asked {
    fn judge(&self, answer: &Value, scope: &Scope) -> Result<Verdict, Failure> {
        match &self.what {
            What::Elicit(elicited) => elicited.judge(answer, self.goes_on, scope),
            What::Sample(_) => Ok(sample::judge(answer)),
            What::Roots => Ok(match roots(answer) {
                Some(roots) => Verdict::Fits(Value::Array(roots)),
                None => Verdict::Misfit("it is no list of roots with `file:` URIs".to_owned()),
            }),
        }
    }
}

/// Asks a client for its roots, apart from any step: their URIs.
///
/// # Errors
/// It cannot be asked, has yet to answer, or answers something else.
pub async fn ask_roots(client: &dyn Client, waited: &Waited) -> Result<Vec<String>, Failure> {
    if !client.can(Need::Roots) {
        return Err(Failure::Needs(vec![Need::Roots]));
    }
    let question = Question { key: ROOTS.to_owned(), asks: client::Asks::Roots };
    let round = Round { questions: vec![question], timeout: PATIENCE };
    let began = Instant::now();
    let answered = client.ask(&round).await;
    waited.add(began.elapsed());
    let later = || {
        let checkpoint = Checkpoint { wants_roots: true, ..Checkpoint::default() };
        Failure::Asks(Box::new(Asking { questions: round.questions.clone(), checkpoint }))
    };
    match answered {
        Ok(mut answers) => match answers.remove(ROOTS) {
            Some(answer) => roots(&answer)
                .map(|roots| roots.iter().filter_map(|root| Some(root.get("uri")?.as_str()?.to_owned())).collect())
                .ok_or_else(|| Failure::words("the client's roots are no list of `file:` URIs".to_owned())),
            None => Err(later()),
        },
        Err(Unanswered::Later) => Err(later()),
        Err(Unanswered::Cancelled) => Err(WorldError::Cancelled.into()),
        Err(Unanswered::TimedOut) => Err(Failure::words("the client did not tell its roots in time".to_owned())),
        Err(Unanswered::Failed(words)) => Err(Failure::words(format!("the client did not tell its roots: {words}"))),
    }
}

/// The key under which roots are asked for apart from any step.
const ROOTS: &str = "roots";

/// The roots in a `ListRootsResult`; `None` where it is none.
#[must_use]
pub fn roots(answer: &Value) -> Option<Vec<Value>> {
    let roots = answer.get("roots")?.as_array()?;
    let root = |root: &Value| {
        let uri = root.get("uri")?.as_str().filter(|uri| uri.starts_with("file:"))?;
        Some(serde_json::json!({ "uri": uri, "name": root.get("name").and_then(Value::as_str) }))
    };
    roots.iter().map(root).collect()
}

fn shape_of(question: &spec::Question) -> Shape {
    match (&question.elicit, &question.sample, &question.roots) {
        (Some(elicit), _, _) => elicit::shape(elicit),
        (_, Some(_), _) => sample::shape(),
        (_, _, Some(_)) => Shape::list(Shape::object([("uri", Shape::Text), ("name", Shape::Text)])),
        _ => Shape::Any,
    }
}

fn question_of(key: &Spanned<String>, question: &spec::Question, compiler: &mut Compiler<'_>) -> Option<Asked> {
    if !is_identifier(key) {
        compiler
            .error(Code::BadName, key.at, format!("`{}` is no name of a question", key.value))
            .help("use letters, digits and `_`");
    }
    let what = match (&question.elicit, &question.sample, &question.roots) {
        (Some(elicit), None, None) => What::Elicit(Elicited::compile(elicit, compiler)?),
        (None, Some(sample), None) => What::Sample(Sampled::compile(sample, compiler)?),
        (None, None, Some(_)) => What::Roots,
        _ => {
            compiler
                .error(Code::Conflict, key.at, "a question is exactly one of `elicit`, `sample`, `roots`")
                .help("put each question under a key of its own");
            return None;
        }
    };
    if question.on_decline.is_some() && question.elicit.is_none() {
        compiler.warning(Code::Unused, key.at, "`onDecline` does nothing here: only a person declines");
    }
    Some(Asked {
        key: key.value.clone(),
        what,
        optional: question.optional == Some(true),
        goes_on: question.on_decline == Some(OnDecline::Continue),
    })
}
