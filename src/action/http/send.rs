//! From a request that is ready to its outcome.

use base64::Engine as _;
use serde_json::{Map, json};

use crate::action::outcome::{Body, body_of};
use crate::action::{Doing, Failure, Outcome};
use crate::template::{Header as HeaderSlot, Parameter, Scope, Template};
use crate::world::{Header, Request, Response, WorldError};

use super::{Credentials, Http, Payload};

impl Http {
    pub(super) fn request(&self, doing: &Doing<'_>) -> Result<Request, Failure> {
        let scope = doing.scope;
        let rendered = self.url.render(scope)?.text;
        let mut url = url::Url::parse(&rendered).map_err(|_| WorldError::InvalidUrl { reason: "it is malformed" })?;
        add_query(&mut url, &self.query, scope)?;
        if let Credentials::Query(name, value) = &self.credentials {
            for value in value.render(scope)?.0 {
                url.query_pairs_mut().append_pair(name, &value);
            }
        }
        let mut request = Request::new(self.method, url);
        for (name, value) in &self.headers {
            request.headers.extend(header(name, value, doing)?);
        }
        self.add_credentials(&mut request, scope)?;
        self.add_body(&mut request, doing)?;
        request.timeout = self.timeout.map_or(doing.timeout, |own| own.min(doing.timeout));
        request.max_output = doing.max_output;
        request.allow = self.allow.clone();
        request.cancel = doing.cancel.clone();
        Ok(request)
    }

    fn add_credentials(&self, request: &mut Request, scope: &Scope) -> Result<(), Failure> {
        let text = |template: &Template<HeaderSlot>| Ok::<_, Failure>(template.render(scope)?.map(|text| text.0));
        let (name, value) = match &self.credentials {
            Credentials::None | Credentials::Query(..) => return Ok(()),
            Credentials::Bearer(token) => ("Authorization", text(token)?.map(|token| format!("Bearer {token}"))),
            Credentials::Basic(user, password) => {
                let pair = format!("{}:{}", text(user)?.unwrap_or_default(), text(password)?.unwrap_or_default());
                let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
                ("Authorization", Some(format!("Basic {encoded}")))
            }
            Credentials::Header(name, value) => (name.as_str(), text(value)?),
        };
        // What is exactly one value that is absent shows nobody anything, and is left out.
        request.headers.extend(value.map(|value| Header::secret(name, value)));
        Ok(())
    }

    fn add_body(&self, request: &mut Request, doing: &Doing<'_>) -> Result<(), Failure> {
        let scope = doing.scope;
        let (mime_type, body) = match &self.body {
            Payload::None => return Ok(()),
            Payload::Json(value) => ("application/json", value.render(scope)?.to_string()),
            Payload::Form(fields) => ("application/x-www-form-urlencoded", form(fields, scope)?),
            Payload::Text(text) => ("text/plain; charset=utf-8", text.render(scope)?.0),
        };
        let given = request.headers.iter().any(|header| header.name.eq_ignore_ascii_case("content-type"));
        if !given {
            request.headers.push(Header::new("Content-Type", mime_type));
        }
        request.body = Some(body.into_bytes());
        request.secret_body = self.secret_body || was_found(&self.body_reads, doing);
        Ok(())
    }

    pub(super) fn outcome(&self, host: &str, response: Response, doing: &Doing<'_>) -> Result<Outcome, Failure> {
        let mime_type = response.header("content-type");
        let mime_type =
            mime_type.as_deref().map(|value| value.split(';').next().unwrap_or_default().trim().to_lowercase());
        let fine = (200..300).contains(&response.status) || self.expect.contains(&response.status);
        let read = body_of(&response.body, mime_type.as_deref(), fine && self.wants_json, doing.max_output);
        let (json, body) = if fine { read? } else { (read.ok().and_then(|(json, _)| json), Body::None) };
        let failed = (!fine).then(|| self.error_words(host, &response, doing.scope)).transpose()?;
        let mut headers = Map::new();
        for (name, _) in &response.headers {
            headers.insert(name.clone(), response.header(name).into());
        }
        let value =
            json!({ "status": response.status, "headers": headers, "body": response.body.to_text(), "json": json });
        Ok(Outcome { value, body, failed, status: Some(response.status) })
    }

    fn error_words(&self, host: &str, response: &Response, scope: &Scope) -> Result<String, Failure> {
        if let Some((_, words)) = self.on_error.iter().find(|(status, _)| *status == response.status) {
            return Ok(words.render(scope)?.0);
        }
        let said = response.body.to_text();
        let said: String = said.trim().chars().take(TAIL).collect();
        let head = format!("`{host}` answered with HTTP status {}", response.status);
        Ok(if said.is_empty() { head } else { format!("{head}:\n{said}") })
    }
}

/// How much of an error's body is shown.
const TAIL: usize = 2000;

/// A header; none where it is exactly one value that is absent.
fn header(name: &str, value: &Template<HeaderSlot>, doing: &Doing<'_>) -> Result<Option<Header>, Failure> {
    let of_env = value.reads().iter().any(|path| path.first().is_some_and(|head| head == "env"));
    let secret = of_env || was_found(value.reads(), doing);
    let Some(text) = value.render(doing.scope)? else { return Ok(None) };
    Ok(Some(if secret { Header::secret(name, text.0) } else { Header::new(name, text.0) }))
}

/// Whether what is read may be what a step found, such as the token of a login: then no redirect carries it elsewhere.
fn was_found(reads: &[Vec<String>], doing: &Doing<'_>) -> bool {
    reads.iter().filter_map(|path| path.first()).any(|head| match head.as_str() {
        "steps" => true,
        "env" | "server" => false,
        _ => doing.of_step,
    })
}

fn add_query(url: &mut url::Url, query: &[(String, Vec<Template<Parameter>>)], scope: &Scope) -> Result<(), Failure> {
    for (name, values) in query {
        for value in values {
            for value in value.render(scope)?.0 {
                url.query_pairs_mut().append_pair(name, &value);
            }
        }
    }
    Ok(())
}

fn form(fields: &[(String, Vec<Template<Parameter>>)], scope: &Scope) -> Result<String, Failure> {
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
