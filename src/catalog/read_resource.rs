//! Reads resources, for clients, for steps and for the blocks that embed them.

use indexmap::IndexMap;
use serde_json::json;

use crate::action::CallContext;
use crate::diagnostic::{one_line, truncate};
use crate::uri::check_uri;
use crate::value_types::CacheScope;

use super::access::ensure_visible;
use super::content::block::RenderedBlock;
use super::entry::PackContext;
use super::listing::{ResourceInfo, ResourceListing};
use super::resource::{ReadBody, ReadOutcome};
use super::result::call_result::{BlockNotes, EmbeddedBlock, ResourceResult, ResultBlock, ResultContents, TextOrBlob};
use super::result::refusal::{CallError, Refusal, RefusalKind};
use super::routes::Route;
use super::{Catalog, MAX_SHOWN_URI_CHARS, MAX_URI_DATA_CHARS};

impl Catalog {
    /// Reads a resource.
    ///
    /// # Errors
    /// The URI is invalid or unknown, its variables are invalid, or its content fails.
    pub async fn read_resource(&self, uri: &str, call: &CallContext) -> Result<ResourceResult, CallError> {
        let mut result = self.read_route(uri, self.routes.find(uri), call).await?;
        let note = result.note.take();
        result.contents.extend(note.map(|note| ResultContents::note(uri, note)));
        Ok(result)
    }

    async fn read_route(
        &self,
        uri: &str,
        route: Option<Route<'_>>,
        call: &CallContext,
    ) -> Result<ResourceResult, CallError> {
        let (resource, values) = match route {
            Some(Route::Skill(file)) => {
                ensure_visible(file.access.as_ref(), call, || no_resource_refusal(uri))?;
                file.check_access(&mut call.clone())?;
                return Ok(file.read(uri, &call.budget)?);
            }
            Some(Route::Resource(nth, values)) => (self.resources.get(nth), values),
            None => (None, IndexMap::new()),
        };
        let resource = resource.ok_or_else(|| no_resource_refusal(uri))?;
        ensure_visible(resource.access.as_ref(), call, || no_resource_refusal(uri))?;
        resource.check_scopes(&values, call)?;
        let ReadOutcome { body, note } = resource.read(uri, values, self, call).await?;
        let contents = match body {
            ReadBody::Contents(contents) => vec![contents],
            ReadBody::Blocks(rendered) => {
                let blocks = self.resolve_blocks(rendered, &resource.pack_context, call).await?;
                blocks_to_contents(uri, blocks)
            }
        };
        let cache_scope = if resource.is_private { Some(CacheScope::Private) } else { resource.cache_scope };
        Ok(ResourceResult { contents, ttl_ms: resource.ttl_ms, cache_scope, note })
    }

    /// Whether a resource of a pack answers a URI.
    pub(super) fn has_resource_for(&self, pack_context: &PackContext, uri: &str) -> bool {
        self.routes.find_in_pack(pack_context, uri).is_some()
    }

    /// Reads a resource for an entry of a pack.
    pub(super) async fn read_for_pack(
        &self,
        uri: &str,
        pack_context: &PackContext,
        call: &CallContext,
    ) -> Result<ResourceResult, CallError> {
        let route = self.routes.find_in_pack(pack_context, uri);
        self.read_route(uri, route, call).await
    }

    /// Blocks whose resources are read.
    pub(super) async fn resolve_blocks(
        &self,
        rendered: Vec<RenderedBlock>,
        pack_context: &PackContext,
        call: &CallContext,
    ) -> Result<Vec<ResultBlock>, CallError> {
        let mut blocks = Vec::with_capacity(rendered.len());
        for block in rendered {
            match block {
                RenderedBlock::Block(block) => blocks.push(block),
                RenderedBlock::Link(link) => blocks.push(ResultBlock::ResourceLink(self.complete_link(*link, call))),
                // In a box: few blocks are embedded.
                RenderedBlock::ServerResource { uri, notes } => {
                    blocks.extend(Box::pin(self.embed_resource(uri, notes, pack_context, call)).await?);
                }
            }
        }
        Ok(blocks)
    }

    /// The contents of a resource of this server as blocks.
    async fn embed_resource(
        &self,
        uri: String,
        notes: BlockNotes,
        pack_context: &PackContext,
        call: &CallContext,
    ) -> Result<impl Iterator<Item = ResultBlock>, CallError> {
        let read = self.read_for_pack(&uri, pack_context, &call.nested()?).await;
        let ResourceResult { contents, note, .. } = read.map_err(|error| reject_embedded_question(&uri, error))?;
        let embed = move |resource| ResultBlock::Resource(EmbeddedBlock { resource, notes: notes.clone() });
        Ok(contents.into_iter().map(embed).chain(note.map(ResultBlock::text)))
    }

    /// A link with what the catalog knows of the resource that it names.
    fn complete_link(&self, link: ResourceListing, call: &CallContext) -> ResourceListing {
        let known = match self.routes.find(&link.uri).filter(|_| self.sees_resource(&link.uri, &call.access)) {
            Some(Route::Skill(file)) => Some(file.listing.clone()),
            Some(Route::Resource(nth, values)) => {
                self.resources.get(nth).map(|resource| resource.linked_listing(link.uri.clone(), &values))
            }
            None => None,
        };
        let last = link.uri.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or(&link.uri);
        let known = known.unwrap_or_else(|| ResourceListing {
            info: ResourceInfo { name: last.to_owned(), ..ResourceInfo::default() },
            ..ResourceListing::default()
        });
        let info = ResourceInfo {
            name: if link.info.name.is_empty() { known.info.name } else { link.info.name },
            title: link.info.title.or(known.info.title),
            description: link.info.description.or(known.info.description),
            mime_type: link.info.mime_type.or(known.info.mime_type),
            ..link.info
        };
        ResourceListing { uri: link.uri, info, size: link.size.or(known.size) }
    }
}

/// Nothing answers what may not even be a URI.
pub(super) fn no_resource_refusal(uri: &str) -> Refusal {
    match check_uri(uri) {
        Ok(()) => Refusal::not_found(uri, format!("Resource not found: {}", truncate(uri, MAX_SHOWN_URI_CHARS))),
        Err(error) => {
            let message = format!("invalid URI `{}`: {}", one_line(&truncate(uri, MAX_SHOWN_URI_CHARS)), error.message);
            Refusal::new(RefusalKind::BadUri, message).with_data(json!({ "uri": truncate(uri, MAX_URI_DATA_CHARS) }))
        }
    }
}

/// A question cannot be put in the middle of a text: a client without a session would begin it again.
fn reject_embedded_question(uri: &str, error: CallError) -> CallError {
    match error {
        CallError::InputRequired(_) => {
            let message = format!("cannot embed `{uri}`: it asks the client; use a `read` step");
            Refusal::new(RefusalKind::Internal, message).into()
        }
        error => error,
    }
}

/// A resource that was made of blocks: its texts, and what they embed.
fn blocks_to_contents(uri: &str, blocks: Vec<ResultBlock>) -> Vec<ResultContents> {
    let mut contents = Vec::with_capacity(blocks.len());
    for block in blocks {
        let (mime_type, body) = match block {
            ResultBlock::Text(text) => ("text/plain".to_owned(), TextOrBlob::Text(text.text)),
            ResultBlock::Image(media) | ResultBlock::Audio(media) => (media.mime_type, TextOrBlob::Blob(media.data)),
            ResultBlock::Resource(embedded) => {
                contents.push(embedded.resource);
                continue;
            }
            ResultBlock::ResourceLink(link) => ("text/uri-list".to_owned(), TextOrBlob::Text(link.uri)),
        };
        contents.push(ResultContents { uri: uri.to_owned(), mime_type: Some(mime_type), body, meta: None });
    }
    contents
}
