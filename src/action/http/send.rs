//! Builds a request from its templates, and the outcome from its response.

use base64::Engine as _;
use serde_json::{Map, json};

use crate::action::outcome::{OutcomeBody, parse_body};
use crate::action::{ActionContext, ActionError, ActionOutcome};
use crate::template::{HeaderSlot, QueryValue, Scope, Template};
use crate::world::{HttpHeader, HttpRequest, HttpResponse, WorldError};

use super::{HttpAction, HttpBody, HttpCredentials};

impl HttpAction {
    pub(super) fn build_request(&self, context: &ActionContext<'_>) -> Result<HttpRequest, ActionError> {
        let scope = context.scope;
        let rendered = self.url.render(scope)?.text;
        let mut url = url::Url::parse(&rendered).map_err(|_| WorldError::InvalidUrl { reason: "malformed" })?;
        add_query(&mut url, &self.query, scope)?;
        if let HttpCredentials::Query(name, value) = &self.credentials {
            for value in value.render(scope)?.0 {
                url.query_pairs_mut().append_pair(name, &value);
            }
        }
        let mut request = HttpRequest::new(self.method, url);
        for (name, value) in &self.headers {
            request.headers.extend(render_header(name, value, context)?);
        }
        self.add_credentials(&mut request, scope)?;
        self.add_body(&mut request, context)?;
        request.timeout = self.timeout.map_or(context.timeout, |own| own.min(context.timeout));
        request.max_output = context.run.max_output;
        request.host_policy = self.host_policy.clone();
        request.cancel = context.run.cancel.clone();
        Ok(request)
    }

    fn add_credentials(&self, request: &mut HttpRequest, scope: &Scope) -> Result<(), ActionError> {
        let text = |template: &Template<HeaderSlot>| Ok::<_, ActionError>(template.render(scope)?.map(|text| text.0));
        let (name, value) = match &self.credentials {
            HttpCredentials::None | HttpCredentials::Query(..) => return Ok(()),
            HttpCredentials::Bearer(token) => ("Authorization", text(token)?.map(|token| format!("Bearer {token}"))),
            HttpCredentials::Basic(user, password) => {
                let pair = format!("{}:{}", text(user)?.unwrap_or_default(), text(password)?.unwrap_or_default());
                let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
                ("Authorization", Some(format!("Basic {encoded}")))
            }
            HttpCredentials::Header(name, value) => (name.as_str(), text(value)?),
        };
        // An absent value is left out.
        request.headers.extend(value.map(|value| HttpHeader::new_secret(name, value)));
        Ok(())
    }

    fn add_body(&self, request: &mut HttpRequest, context: &ActionContext<'_>) -> Result<(), ActionError> {
        let scope = context.scope;
        let (mime_type, body) = match &self.body {
            HttpBody::None => return Ok(()),
            HttpBody::Json(value) => ("application/json", value.render(scope)?.to_string()),
            HttpBody::Form(fields) => ("application/x-www-form-urlencoded", encode_form(fields, scope)?),
            HttpBody::Text(text) => ("text/plain; charset=utf-8", text.render(scope)?.0),
        };
        let given = request.headers.iter().any(|header| header.name.eq_ignore_ascii_case("content-type"));
        if !given {
            request.headers.push(HttpHeader::new("Content-Type", mime_type));
        }
        request.body = Some(body.into_bytes());
        request.secret_body = self.has_secret_body || reads_step_outcome(&self.body_reads, context);
        Ok(())
    }

    pub(super) fn to_outcome(
        &self,
        host: &str,
        response: HttpResponse,
        context: &ActionContext<'_>,
    ) -> Result<ActionOutcome, ActionError> {
        let mime_type = response.header("content-type");
        let mime_type =
            mime_type.as_deref().map(|value| value.split(';').next().unwrap_or_default().trim().to_lowercase());
        let fine = (200..300).contains(&response.status) || self.expected_statuses.contains(&response.status);
        let read = parse_body(&response.body, mime_type.as_deref(), fine && self.wants_json, context.run.max_output);
        let (json, body) = if fine { read? } else { (read.ok().and_then(|(json, _)| json), OutcomeBody::None) };
        let failed = (!fine).then(|| self.error_message(host, &response, context.scope)).transpose()?;
        let mut headers = Map::new();
        for (name, _) in &response.headers {
            headers.insert(name.clone(), response.header(name).into());
        }
        let value = json!({ "status": response.status, "headers": headers, "body": response.body.to_display_text(), "json": json });
        Ok(ActionOutcome { value, body, failure: failed, status: Some(response.status) })
    }

    fn error_message(&self, host: &str, response: &HttpResponse, scope: &Scope) -> Result<String, ActionError> {
        if let Some((_, words)) = self.on_error.iter().find(|(status, _)| *status == response.status) {
            return Ok(words.render(scope)?.0);
        }
        let said = response.body.to_display_text();
        let said: String = said.trim().chars().take(MAX_ERROR_BODY_CHARS).collect();
        let head = format!("`{host}` answered with HTTP status {}", response.status);
        Ok(if said.is_empty() { head } else { format!("{head}:\n{said}") })
    }
}

/// How much of the body of an error response is shown.
const MAX_ERROR_BODY_CHARS: usize = 2000;

/// A header, unless it is exactly one absent value.
fn render_header(
    name: &str,
    value: &Template<HeaderSlot>,
    context: &ActionContext<'_>,
) -> Result<Option<HttpHeader>, ActionError> {
    let of_env = value.read_paths().iter().any(|path| path.first().is_some_and(|head| head == "env"));
    let secret = of_env || reads_step_outcome(value.read_paths(), context);
    let Some(text) = value.render(context.scope)? else { return Ok(None) };
    Ok(Some(if secret { HttpHeader::new_secret(name, text.0) } else { HttpHeader::new(name, text.0) }))
}

/// Whether a value may be the outcome of a step, such as a token, which redirects must not send to another origin.
fn reads_step_outcome(reads: &[Vec<String>], context: &ActionContext<'_>) -> bool {
    reads.iter().filter_map(|path| path.first()).any(|head| match head.as_str() {
        "steps" => true,
        "env" | "server" => false,
        _ => context.run.called_by_step,
    })
}

fn add_query(
    url: &mut url::Url,
    query: &[(String, Vec<Template<QueryValue>>)],
    scope: &Scope,
) -> Result<(), ActionError> {
    for (name, values) in query {
        for value in values {
            for value in value.render(scope)?.0 {
                url.query_pairs_mut().append_pair(name, &value);
            }
        }
    }
    Ok(())
}

fn encode_form(fields: &[(String, Vec<Template<QueryValue>>)], scope: &Scope) -> Result<String, ActionError> {
    let mut encoded = url::form_urlencoded::Serializer::new(String::new());
    for (name, values) in fields {
        for value in values {
            for value in value.render(scope)?.0 {
                encoded.append_pair(name, &value);
            }
        }
    }
    Ok(encoded.finish())
}
