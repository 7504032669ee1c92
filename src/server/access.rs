//! Which scopes a request lacks, before it is answered: over HTTP that is a status of its own.

use std::sync::Arc;

use rmcp::model::ClientRequest;
use tokio_util::sync::CancellationToken;

use crate::action::CallContext;
use crate::budget::Reservation;
use crate::catalog::result::refusal::{Refusal, RefusalKind};
use crate::identity::AccessControl;
use crate::world::RedactingWorld;

use super::{SharedServer, completion};

impl SharedServer {
    /// Refuses a request whose sender lacks scopes that it needs. What else is wrong with it is said by its answer.
    ///
    /// # Errors
    /// The refusal names all scopes that the entry needs.
    pub(crate) fn check_scopes(
        &self,
        request: &ClientRequest,
        access: &AccessControl,
        reservation: &Arc<Reservation>,
    ) -> Result<(), Refusal> {
        use ClientRequest as R;
        if *access == AccessControl::Unrestricted {
            return Ok(());
        }
        let catalog = self.catalog();
        let world = RedactingWorld::wrap(catalog.redactor(), &self.world());
        let call = CallContext::new(CancellationToken::new(), world, reservation.clone(), self.store().clone());
        let call = CallContext { access: access.clone(), ..call };
        let checked = match request {
            R::CallToolRequest(message) => {
                let (name, given) = (&*message.params.name, message.params.arguments.as_ref());
                let called = catalog.called_tool(name, given);
                // One that is called through another has its arguments within that one's.
                let inner = || given?.get("arguments")?.as_object();
                catalog.check_tool(called, if called == name { given } else { inner() }, &call)
            }
            R::GetPromptRequest(message) => {
                catalog.check_prompt(&message.params.name, message.params.arguments.as_ref(), &call)
            }
            R::ReadResourceRequest(message) => catalog.check_resource(&message.params.uri, &call),
            R::SubscribeRequest(message) => catalog.check_resource(&message.params.uri, &call),
            R::CompleteRequest(message) => match completion::completion_request(message.params.clone()) {
                Ok(asked) => catalog.check_completion(&asked, &call),
                Err(_) => Ok(()),
            },
            _ => Ok(()),
        };
        checked.or_else(|refusal| if refusal.kind == RefusalKind::InsufficientScope { Err(refusal) } else { Ok(()) })
    }
}
