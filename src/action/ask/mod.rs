//! `ask`: one round of questions to the client.
//!
//! A client with a session answers in place, one without a session with its next request; only the
//! [`McpClient`] differs. What is not here: how a version of the protocol encodes questions (server/).

mod declared_question;
mod elicit;
mod number;
mod elicitation_url;
mod sample;
mod spec;

use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::{
    ActionError, ActionKind, ActionNode, ActionOutcome, AskError, Checkpoint, ClientCapability, ClientQuestion,
    ClientUse, McpClient, OutcomeBody, PendingQuestions, QuestionKind, QuestionRound, StepContext,
};
use crate::budget::Budget;
use crate::compile::Compiler;
use crate::diagnostic::{Code, truncate};
use crate::template::{Scope, Shape};
use crate::uri::file_uri_to_path;
use crate::value_types::is_identifier;
use crate::world::WorldError;
use crate::yaml::Spanned;

pub use declared_question::{DeclaredQuestion, DeclaredQuestionKind};
use elicit::ElicitTemplate;
use sample::SampleTemplate;
pub use spec::AskSpec;
use spec::OnDecline;

/// The default time limit of the answers to a step.
const DEFAULT_ASK_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// The time limit of `roots/list`, which a program answers.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(10);
/// How much of a root that cannot be used is logged.
const MAX_LOGGED_URI_CHARS: usize = 200;
/// How often a client is asked again after an invalid answer.
const MAX_ANSWER_RETRIES: usize = 1;

/// One round of questions.
pub struct AskAction {
    questions: Vec<CompiledQuestion>,
    timeout: Duration,
}

struct CompiledQuestion {
    key: String,
    template: QuestionTemplate,
    /// Whether it is skipped if the client does not support it.
    optional: bool,
    /// Whether the run continues if the user declines.
    continues_on_decline: bool,
}

enum QuestionTemplate {
    Elicit(ElicitTemplate),
    Sample(SampleTemplate),
    Roots,
}

/// The check of one answer.
enum AnswerVerdict {
    /// Valid: the outcome of the question.
    Accepted(Value),
    /// Invalid, for this reason.
    Invalid(String),
    /// The user declined, and the run ends with this message.
    Declined(String),
}

impl ActionKind for AskAction {
    type Spec = AskSpec;
    const IS_FOR_DISPLAY: bool = true;
    const SIBLING_KEYS: &'static [&'static str] = &["timeout"];
    const GRANT: Option<&'static str> = Some("ask");
    const TALKS_TO_CLIENT: bool = true;

    fn outcome_fields() -> String {
        "the keys of its questions".to_owned()
    }

    fn outcome_shape_of(spec: &AskSpec) -> Shape {
        Shape::object(spec.0.iter().map(|(key, question)| (key.value.clone(), answer_shape(question))))
    }

    fn compile(node: ActionNode<'_, AskSpec>, compiler: &mut Compiler<'_>) -> Option<AskAction> {
        if node.spec.value.0.is_empty() {
            compiler
                .error(Code::MissingKey, node.key, "missing question in `ask`")
                .help("write `ask: { KEY: { elicit: … } }`");
            return None;
        }
        let questions = node.spec.value.0.iter();
        let question: Vec<Option<CompiledQuestion>> =
            questions.map(|(key, question)| compile_question(key, question, compiler)).collect();
        let timeout = node.step.timeout.as_ref().map_or(DEFAULT_ASK_TIMEOUT, |timeout| timeout.value.to_std());
        Some(AskAction { questions: question.into_iter().collect::<Option<Vec<_>>>()?, timeout })
    }

    fn client_use(&self) -> ClientUse {
        ClientUse::Asks
    }

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        let mut answers = context.checkpoint.map(|checkpoint| checkpoint.answers.clone()).unwrap_or_default();
        self.skip_unsupported(context, &mut answers)?;
        let (mut invalid, began) = (None, Instant::now());
        for attempt in 0.. {
            let open = self.questions.iter().filter(|question| !answers.contains_key(&question.key));
            let open = open.map(|question| question.render(context)).collect::<Result<Vec<_>, _>>()?;
            if open.is_empty() {
                break;
            }
            if attempt > MAX_ANSWER_RETRIES {
                return Err(ActionError::message(invalid.unwrap_or_else(|| "no response from the client".to_owned())));
            }
            let timeout = self.timeout.saturating_sub(began.elapsed());
            let roots_timeout = ROOTS_TIMEOUT.min(timeout).min(context.timeout);
            let round = QuestionRound { questions: open, timeout, roots_timeout };
            match ask_client(context.entry.client(), context.scope.budget(), &round, self.timeout).await {
                Ok(Some(given)) => invalid = self.accept_answers(given, context.scope, &mut answers)?,
                Ok(None) => {
                    let checkpoint = Checkpoint { answers, ..Checkpoint::default() };
                    return Err(ActionError::InputRequired(Box::new(PendingQuestions {
                        questions: round.questions,
                        checkpoint,
                    })));
                }
                Err(ActionError::RootsUnanswered) => self.skip_unanswered(&mut answers)?,
                Err(error) => return Err(error),
            }
        }
        Ok(self.outcome(answers))
    }
}

impl AskAction {
    /// Answers optional questions that the client does not support with null.
    fn skip_unsupported(&self, context: &StepContext<'_>, answers: &mut Map<String, Value>) -> Result<(), ActionError> {
        let mut lacking = Vec::new();
        for question in &self.questions {
            if answers.contains_key(&question.key) {
                continue;
            }
            let capability = question.template.required_capability();
            match (context.entry.client().has_capability(capability), question.optional) {
                (true, _) => continue,
                (false, true) => {
                    answers.insert(question.key.clone(), Value::Null);
                }
                (false, false) => lacking.push(capability),
            }
        }
        lacking.sort_unstable();
        lacking.dedup();
        if lacking.is_empty() { Ok(()) } else { Err(ActionError::MissingCapabilities(lacking)) }
    }

    /// Answers optional questions for roots that the client was silent about with null.
    fn skip_unanswered(&self, answers: &mut Map<String, Value>) -> Result<(), ActionError> {
        for question in &self.questions {
            if !question.optional && !answers.contains_key(&question.key) {
                return Err(ActionError::RootsUnanswered);
            }
            answers.entry(question.key.as_str()).or_insert(Value::Null);
        }
        Ok(())
    }

    /// Records the valid answers. Returns the error of an invalid one.
    fn accept_answers(
        &self,
        mut given: Map<String, Value>,
        scope: &Scope,
        answers: &mut Map<String, Value>,
    ) -> Result<Option<String>, ActionError> {
        let mut invalid = None;
        for question in &self.questions {
            if answers.contains_key(&question.key) {
                continue;
            }
            let Some(answer) = given.remove(&question.key) else { continue };
            match question.check_answer(&answer, scope)? {
                AnswerVerdict::Accepted(outcome) => {
                    answers.insert(question.key.clone(), outcome);
                }
                AnswerVerdict::Invalid(words) => {
                    invalid = Some(format!("invalid answer to `{}`: {words}", question.key));
                }
                AnswerVerdict::Declined(words) => return Err(ActionError::message(words)),
            }
        }
        Ok(invalid)
    }

    fn outcome(&self, mut answers: Map<String, Value>) -> ActionOutcome {
        let in_order = self.questions.iter().filter_map(|question| answers.remove_entry(&question.key));
        let value = Value::Object(in_order.collect());
        let has_answer = value.as_object().is_some_and(|answers| answers.values().any(|answer| !answer.is_null()));
        let body = if has_answer { OutcomeBody::Json(value.clone(), value.to_string()) } else { OutcomeBody::None };
        ActionOutcome::success(value, body)
    }
}

impl QuestionTemplate {
    fn required_capability(&self) -> ClientCapability {
        match self {
            QuestionTemplate::Elicit(elicited) => elicited.required_capability(),
            QuestionTemplate::Sample(sampled) => sampled.required_capability(),
            QuestionTemplate::Roots => ClientCapability::Roots,
        }
    }

    fn render(&self, scope: &Scope) -> Result<QuestionKind, ActionError> {
        match self {
            QuestionTemplate::Elicit(elicited) => elicited.render(scope),
            QuestionTemplate::Sample(sampled) => sampled.render(scope),
            QuestionTemplate::Roots => Ok(QuestionKind::Roots),
        }
    }
}

impl CompiledQuestion {
    /// Renders it. A person cannot answer a question without words.
    fn render(&self, context: &StepContext<'_>) -> Result<ClientQuestion, ActionError> {
        let kind = self.template.render(context.scope)?;
        if kind.message().is_some_and(|message| message.trim().is_empty()) {
            let step = context.id.map(|step| format!(" of step `{step}`")).unwrap_or_default();
            return Err(ActionError::message(format!("the `message` of question `{}`{step} is empty", self.key)));
        }
        Ok(ClientQuestion { key: self.key.clone(), kind })
    }

    fn check_answer(&self, answer: &Value, scope: &Scope) -> Result<AnswerVerdict, ActionError> {
        match &self.template {
            QuestionTemplate::Elicit(elicited) => elicited.check_answer(answer, self.continues_on_decline, scope),
            QuestionTemplate::Sample(_) => Ok(sample::check_answer(answer)),
            QuestionTemplate::Roots => Ok(match parse_roots(answer) {
                Some(roots) => AnswerVerdict::Accepted(Value::Array(roots)),
                None => AnswerVerdict::Invalid("expected a list of roots".to_owned()),
            }),
        }
    }
}

/// Asks a client for its roots, outside of any step, in the time that is left, and returns their URIs.
///
/// # Errors
/// The client does not support roots, is silent, answers with a later request, or answers something else, or none of its
/// roots counts here.
pub async fn ask_roots(
    client: &dyn McpClient,
    budget: &Budget,
    time_left: Duration,
) -> Result<Vec<String>, ActionError> {
    if !client.has_capability(ClientCapability::Roots) {
        return Err(ActionError::MissingCapabilities(vec![ClientCapability::Roots]));
    }
    let question = ClientQuestion { key: ROOTS_KEY.to_owned(), kind: QuestionKind::Roots };
    // What follows needs some of the time too, such as the folder in place of the roots.
    let timeout = ROOTS_TIMEOUT.min(time_left - time_left / 10);
    let round = QuestionRound { questions: vec![question], timeout, roots_timeout: timeout };
    let answers = ask_client(client, budget, &round, timeout).await?;
    let Some(answer) = answers.and_then(|mut answers| answers.remove(ROOTS_KEY)) else {
        let checkpoint = Checkpoint { wants_roots: true, ..Checkpoint::default() };
        return Err(ActionError::InputRequired(Box::new(PendingQuestions { questions: round.questions, checkpoint })));
    };
    let roots = parse_roots(&answer)
        .ok_or_else(|| ActionError::message("invalid `roots/list` result, expected a list of roots".to_owned()))?;
    let uris: Vec<&str> = roots.iter().filter_map(|root| root.get("uri")?.as_str()).collect();
    let is_allowed = |uri: &&&str| file_uri_to_path(uri).is_some_and(|path| client.allows_root(&path));
    let allowed: Vec<String> = uris.iter().filter(is_allowed).map(|uri| (*uri).to_owned()).collect();
    if allowed.is_empty() && !uris.is_empty() {
        return Err(ActionError::message(
            "none of the client's roots counts: over HTTP they must be inside the folder of `--workspace`".to_owned(),
        ));
    }
    Ok(allowed)
}

/// Asks a client, while others have the memory of the call. The time of a person or a model does not count as that of the
/// call. `None` if the answers come with a later request; `limit` is the time limit as it was written.
async fn ask_client(
    client: &dyn McpClient,
    budget: &Budget,
    round: &QuestionRound,
    limit: Duration,
) -> Result<Option<Map<String, Value>>, ActionError> {
    let (began, suspended) = (Instant::now(), budget.suspend()?);
    let answered = client.ask(round).await;
    drop(suspended);
    if round.questions.iter().any(|question| question.kind != QuestionKind::Roots) {
        budget.client_wait().add(began.elapsed());
    }
    match answered {
        Ok(answers) => Ok(Some(answers)),
        Err(AskError::InputRequired) => Ok(None),
        Err(AskError::Cancelled) => Err(WorldError::Cancelled.into()),
        Err(AskError::TimedOut) => Err(ActionError::message(format!("the client timed out after {limit:?}"))),
        Err(AskError::RootsUnanswered) => Err(ActionError::RootsUnanswered),
        Err(AskError::Refused(words)) => {
            Err(ActionError::message(format!("the request to the client failed: {words}")))
        }
    }
}

/// The key of the question for roots outside of any step.
const ROOTS_KEY: &str = "roots";

/// Whether an answer is a `ListRootsResult`.
#[must_use]
pub fn is_roots_list(answer: &Value) -> bool {
    roots_of(answer).is_some()
}

/// What a `ListRootsResult` lists: nothing where `roots` is null or absent, or the result is `[]`, as PHP writes an empty
/// object. `None` if it is not such a result.
fn roots_of(answer: &Value) -> Option<&[Value]> {
    if answer.as_array().is_some_and(Vec::is_empty) {
        return Some(&[]);
    }
    match answer.as_object()?.get("roots") {
        None | Some(Value::Null) => Some(&[]),
        Some(roots) => roots.as_array().map(Vec::as_slice),
    }
}

/// The roots of a `ListRootsResult` that can be used, or `None` if it is none. Others, such as the virtual folders of an
/// editor, are left out.
fn parse_roots(answer: &Value) -> Option<Vec<Value>> {
    let usable = |root: &Value| {
        let uri = root.get("uri").and_then(Value::as_str).unwrap_or_default();
        if file_uri_to_path(uri).is_none() {
            let uri = truncate(uri, MAX_LOGGED_URI_CHARS);
            tracing::warn!(target: "folio::call", "a root of the client is left out: {uri:?} is no folder of this machine");
            return None;
        }
        Some(serde_json::json!({ "uri": uri, "name": root.get("name").and_then(Value::as_str) }))
    };
    Some(roots_of(answer)?.iter().filter_map(usable).collect())
}

fn answer_shape(question: &spec::Question) -> Shape {
    match (&question.elicit, &question.sample, &question.roots) {
        (Some(elicit), _, _) => elicit::elicit_answer_shape(elicit),
        (_, Some(_), _) => Shape::object([
            ("text", Shape::Text),
            ("content", Shape::Any),
            ("model", Shape::Text),
            ("stopReason", Shape::Text),
        ]),
        (_, _, Some(_)) => Shape::list(Shape::object([("uri", Shape::Text), ("name", Shape::Text)])),
        _ => Shape::Any,
    }
}

fn compile_question(
    key: &Spanned<String>,
    question: &spec::Question,
    compiler: &mut Compiler<'_>,
) -> Option<CompiledQuestion> {
    if !is_identifier(key) {
        compiler
            .error(Code::BadName, key.location, format!("invalid question key `{}`", key.value))
            .help("use letters, digits and `_`");
    }
    let what = match (&question.elicit, &question.sample, &question.roots) {
        (Some(elicit), None, None) => QuestionTemplate::Elicit(ElicitTemplate::compile(elicit, compiler)?),
        (None, Some(sample), None) => QuestionTemplate::Sample(SampleTemplate::compile(sample, compiler)?),
        (None, None, Some(_)) => QuestionTemplate::Roots,
        _ => {
            compiler
                .not_exactly_one(key.location, "`elicit`, `sample`, `roots` in a question")
                .help("put each question under a key of its own");
            return None;
        }
    };
    if question.on_decline.is_some() && question.elicit.is_none() {
        compiler.warning(Code::Unused, key.location, "`onDecline` has no effect without `elicit`");
    }
    Some(CompiledQuestion {
        key: key.value.clone(),
        template: what,
        optional: question.optional == Some(true),
        continues_on_decline: question.on_decline == Some(OnDecline::Continue),
    })
}
