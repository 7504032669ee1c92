//! Calls that may have to ask their client: where one comes from, and how its question leaves.
//!
//! With a session the question is put and awaited inside the call. In 2026-07-28 the call ends with an
//! `input_required` result, and a later request brings the answers and the sealed state (basic/patterns/mrtr).

use std::{future::Future, sync::Arc};

use rmcp::{
    RoleServer,
    model::{ErrorCode, ErrorData, InputRequests, InputRequiredResult, InputResponses},
    service::RequestContext,
};
use serde_json::Value;

use crate::{
    action::{Asking, Checkpoint},
    catalog::{
        answer::{Call, Refusal, RefusalKind},
        face::Object,
    },
    digest::sha256,
};

use super::{Server, client::Caller, question, session::Admitted};

/// What of a request matters for its questions.
pub(crate) struct Request<'a> {
    pub(crate) method: &'static str,
    /// The tool or prompt, or the URI.
    pub(crate) name: &'a str,
    pub(crate) arguments: Option<&'a Object>,
    pub(crate) responses: Option<InputResponses>,
    pub(crate) state: Option<String>,
    /// Whether it may go on apart from this request.
    pub(crate) detach: bool,
}

/// What a call came to.
pub(crate) enum Came<T> {
    To(T),
    /// It waits for answers.
    Waits(InputRequiredResult),
    /// It goes on apart from the request, from here.
    Detached(Box<Checkpoint>),
}

impl Server {
    /// Makes a call for a client, which may be asked on the way.
    pub(crate) async fn ask_or<T, F: Future<Output = Result<T, Refusal>> + Send>(
        &self,
        (request, context): (Request<'_>, &RequestContext<RoleServer>),
        admitted: &Admitted,
        mut call: impl FnMut(Call) -> F,
        refuse: impl Fn(Refusal) -> ErrorData,
    ) -> Result<Came<T>, ErrorData> {
        let mut plain = self.call(context, &admitted.served);
        plain.detach = request.detach;
        // What waited goes on or is refused, also where nothing asks any more.
        if !admitted.served.talks && !request.detach && request.state.is_none() {
            return self.run(context, Box::pin(call(plain))).await.map(Came::To).map_err(refuse);
        }
        Box::pin(self.ask_along((request, context), admitted, (plain, call), refuse)).await
    }

    /// The same for a call that may ask, or whose question is answered.
    async fn ask_along<T, F: Future<Output = Result<T, Refusal>> + Send>(
        &self,
        (request, context): (Request<'_>, &RequestContext<RoleServer>),
        admitted: &Admitted,
        (plain, mut call): (Call, impl FnMut(Call) -> F),
        refuse: impl Fn(Refusal) -> ErrorData,
    ) -> Result<Came<T>, ErrorData> {
        let Request { method, name, arguments, responses, state, .. } = request;
        let server = &admitted.served.catalog.server().name;
        let binding = || binding(&[server, method, name], arguments);
        let checkpoint = match &state {
            Some(state) => Some(self.opened(state, &binding())?),
            None => None,
        };
        let answers = responses.map(|answers| answers.into_iter().collect());
        let caller = Arc::new(Caller::new(self, context, admitted.era, answers));
        let plain = plain.from(caller.clone());
        let resumed = match &checkpoint {
            Some(checkpoint) => plain.clone().resume(checkpoint.clone()),
            None => plain.clone(),
        };
        let mut came = self.run(context, Box::pin(call(resumed))).await;
        // Nothing was done that must not be done twice, so the call begins again.
        if changed(&came) && checkpoint.is_some_and(|checkpoint| !checkpoint.has_acted()) {
            caller.forget_answers();
            came = self.run(context, Box::pin(call(plain))).await;
        }
        caller.finish().await;
        match came {
            Ok(answer) => Ok(Came::To(answer)),
            Err(Refusal { kind: RefusalKind::Asks, asking: Some(asking), .. }) => {
                self.required(*asking, &binding(), admitted).map(Came::Waits)
            }
            Err(Refusal { kind: RefusalKind::Detached, asking: Some(asking), .. }) => {
                Ok(Came::Detached(Box::new(asking.checkpoint)))
            }
            Err(refusal) => Err(refuse(refusal)),
        }
    }

    /// Where the call stood, from the state that came with the request.
    fn opened(&self, state: &str, binding: &[u8]) -> Result<Checkpoint, ErrorData> {
        let refused = |words: String| ErrorData::new(ErrorCode::INVALID_PARAMS, words, None);
        let content = self.live.seal().open(state, binding).map_err(|error| refused(error.to_string()))?;
        serde_json::from_slice(&content)
            .map_err(|_| refused("this `requestState` is of another version of folio".to_owned()))
    }

    fn required(&self, asking: Asking, binding: &[u8], admitted: &Admitted) -> Result<InputRequiredResult, ErrorData> {
        let broken = || ErrorData::internal_error("the question could not be put", None);
        let content = serde_json::to_vec(&asking.checkpoint).map_err(|_| broken())?;
        let state = self.live.seal().seal(&content, binding).ok_or_else(broken)?;
        let put = asking.questions.into_iter();
        let requests: Option<InputRequests> =
            put.map(|question| Some((question.key, question::input_request(&question.asks)?))).collect();
        let result = InputRequiredResult::new(Some(requests.ok_or_else(broken)?), Some(state));
        Ok(result.with_meta(admitted.served.meta.clone()))
    }
}

fn changed<T>(came: &Result<T, Refusal>) -> bool {
    came.as_ref().is_err_and(|refusal| refusal.kind == RefusalKind::Changed)
}

/// What a state is bound to: the server, the method and the entry by their names, and a digest of the arguments, whatever
/// their order.
fn binding(names: &[&str], arguments: Option<&Object>) -> Vec<u8> {
    let mut arguments = Value::Object(arguments.cloned().unwrap_or_default());
    arguments.sort_all_objects();
    let digest = sha256(arguments.to_string().as_bytes());
    let mut binding = Vec::new();
    for part in names.iter().map(|name| name.as_bytes()).chain([&digest[..]]) {
        binding.extend_from_slice(&(part.len() as u64).to_be_bytes());
        binding.extend_from_slice(part);
    }
    binding
}
