//! `http`: sends one HTTP request.

mod compile;
mod send;
mod spec;

use crate::compile::{Compiler, JsonTemplate};
use crate::diagnostic::Code;
use crate::redact::SECRET_PLACEHOLDER;
use crate::template::{HeaderSlot, QueryValue, Shape, Template, Text, Url, UrlBase};
use crate::world::HostPolicy;

use super::{ActionContext, ActionError, ActionKind, ActionNode, ActionOutcome};

pub use compile::check_connection;
pub use spec::{HttpSpec, Method, Part};

/// A compiled request.
pub struct HttpAction {
    method: &'static str,
    url: Template<Url>,
    query: Vec<(String, Vec<Template<QueryValue>>)>,
    headers: Vec<(String, Template<HeaderSlot>)>,
    credentials: HttpCredentials,
    body: HttpBody,
    timeout: Option<std::time::Duration>,
    expected_statuses: Vec<u16>,
    on_error: Vec<(u16, Template<Text>)>,
    host_policy: HostPolicy,
    wants_json: bool,
    /// Whether the body contains a secret, which redirects must not send to another origin.
    has_secret_body: bool,
    /// The paths that the body reads.
    body_reads: Vec<Vec<String>>,
    /// Whether the host is part of a secret, which errors must not show.
    has_secret_host: bool,
}

enum HttpCredentials {
    None,
    Bearer(Template<HeaderSlot>),
    Basic(Template<HeaderSlot>, Template<HeaderSlot>),
    Header(String, Template<HeaderSlot>),
    Query(String, Template<QueryValue>),
}

enum HttpBody {
    None,
    Json(JsonTemplate),
    Form(Vec<(String, Vec<Template<QueryValue>>)>),
    Text(Template<Text>),
}

impl HttpBody {
    fn reads(&self) -> Vec<Vec<String>> {
        match self {
            HttpBody::None => Vec::new(),
            HttpBody::Json(value) => value.read_paths(),
            HttpBody::Form(form) => parameter_reads(form),
            HttpBody::Text(text) => text.read_paths().to_vec(),
        }
    }
}

/// The paths that query or form parameters read.
fn parameter_reads(fields: &[(String, Vec<Template<QueryValue>>)]) -> Vec<Vec<String>> {
    fields.iter().flat_map(|(_, values)| values).flat_map(|value| value.read_paths().to_vec()).collect()
}

impl ActionKind for HttpAction {
    type Spec = HttpSpec;
    const GRANT: Option<&'static str> = Some("http");

    fn outcome_shape() -> Shape {
        Shape::object([
            ("status", Shape::Number),
            ("headers", Shape::Map(Box::new(Shape::Text))),
            ("body", Shape::Text),
            ("json", Shape::Any),
        ])
    }

    fn compile(node: ActionNode<'_, HttpSpec>, compiler: &mut Compiler<'_>) -> Option<HttpAction> {
        let spec = &node.spec.value;
        compile::check_unsupported(spec, compiler);
        let url = compile::compile_url(&node, compiler);
        let query = compile::compile_parameters(&spec.query, compiler);
        let headers = compile::compile_headers(&spec.headers, compiler);
        let credentials =
            spec.auth.as_ref().map_or(Some(HttpCredentials::None), |auth| compile::compile_credentials(auth, compiler));
        let body = compile::compile_body(&node, compiler);
        let on_error = compile::compile_on_error(spec, compiler);
        let allow = compile::compile_host_policy(spec, url.as_ref(), compiler);
        compile::check_expect(spec, compiler);
        let url = url?;
        let method = compile::http_method(spec, compiler);
        let body = body?;
        let request = HttpAction {
            has_secret_body: compiler.find_secret(&body.reads()).is_some(),
            body_reads: body.reads(),
            has_secret_host: matches!(url.url_base(), UrlBase::Env(name) if compiler.pack.env.is_secret(name)),
            method: method?,
            url,
            query: query?,
            headers: headers?,
            credentials: credentials?,
            body,
            timeout: spec.timeout.map(|timeout| timeout.to_std()),
            expected_statuses: spec.expect.iter().flatten().map(|status| status.value).collect(),
            on_error: on_error?,
            host_policy: allow?,
            wants_json: node.wants_json,
        };
        request.check_whole_url(spec, compiler)?;
        Some(request)
    }

    fn has_side_effects(&self) -> bool {
        !matches!(self.method, "GET" | "HEAD" | "OPTIONS")
    }

    async fn execute(&self, context: &ActionContext<'_>) -> Result<ActionOutcome, ActionError> {
        let budget = context.scope.budget();
        let request = budget.run_repeatable(|| self.build_request(context))??;
        let host = if self.has_secret_host { SECRET_PLACEHOLDER } else { request.url.host_str().unwrap_or_default() }
            .to_owned();
        let response = context.run.world.send_request(request).await?;
        budget.run_sized(response.body.bytes.len(), || self.to_outcome(&host, response, context))?
    }
}

impl HttpAction {
    /// Refuses secrets in a request whose host an argument chooses.
    fn check_whole_url(&self, spec: &HttpSpec, compiler: &mut Compiler<'_>) -> Option<()> {
        let UrlBase::Value(argument) = self.url.url_base() else { return Some(()) };
        let argument = argument.join(".");
        let help = "write the scheme and the host of the URL in the manifest";
        if let Some(auth) = &spec.auth {
            compiler
                .error(Code::Unsafe, auth.location, format!("`auth` would be sent wherever `{argument}` points"))
                .help(help);
            return None;
        }
        let Some(secret) = compiler.find_secret(&self.reads()) else { return Some(()) };
        if let Some(url) = &spec.url {
            compiler
                .error(Code::Unsafe, url.location, format!("{secret} would be sent wherever `{argument}` points"))
                .help(help);
        }
        None
    }

    /// The paths that its query, headers and body read.
    fn reads(&self) -> Vec<Vec<String>> {
        let mut reads = parameter_reads(&self.query);
        reads.extend(self.headers.iter().flat_map(|(_, value)| value.read_paths().to_vec()));
        reads.extend(self.body.reads());
        reads
    }
}
