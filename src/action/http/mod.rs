//! `http`: sends one HTTP request.

mod compile;
mod connection;
mod credentials;
mod header_name;
mod multipart;
mod oauth2;
mod paginate;
mod query;
mod response;
mod retry;
mod send;
mod spec;
mod status;
mod tls_and_proxy;

use std::time::Instant;

use crate::budget::{Budget, BudgetExceeded};
use crate::compile::{Compiler, JsonTemplate};
use crate::diagnostic::Code;
use crate::files::Folder;
use crate::template::{ConditionSlot, HeaderSlot, Shape, Template, TextSlot, UrlBase, UrlSlot, is_caller_headers_path};
use crate::world::{HostPolicy, HttpResponse};

use super::parse::{OutputFormat, ParseFormat};
use super::{ActionError, ActionKind, ActionNode, ActionOutcome, ClientUse, StepContext};
use credentials::HttpCredentials;
use multipart::{FilePartSource, Multipart};
use paginate::Pagination;
use query::QueryParameter;
use retry::RetryPolicy;
use status::{ErrorMessages, StatusPattern};
use tls_and_proxy::TlsAndProxy;

pub use connection::check_connection;
pub use header_name::{is_header_name, is_reserved_header};
pub(super) use response::request_effect;
pub use spec::{HttpSpec, Method, Redirect};

/// What errors about its response say of a request.
const ALREADY_SENT_NOTE: &str = "The request was sent all the same.";

/// A compiled request.
pub struct HttpAction {
    method: &'static str,
    /// The URL of its connection, which its own URL is appended to.
    base: Option<Template<UrlSlot>>,
    url: Template<UrlSlot>,
    query: Vec<QueryParameter>,
    headers: Vec<(String, Template<HeaderSlot>)>,
    credentials: HttpCredentials,
    /// The secret variables in its query and headers, which belong to its credentials where it has some.
    further_credentials: Vec<Vec<String>>,
    body: HttpBody,
    timeout: Option<std::time::Duration>,
    /// How old a response may be that was kept.
    cache_lifetime: Option<std::time::Duration>,
    retry: RetryPolicy,
    /// Whether the request depends on who calls: by its own templates, or by what earlier steps have read.
    reads_caller: bool,
    pagination: Option<Pagination>,
    follows_redirects: bool,
    expected_statuses: Vec<StatusPattern>,
    /// When a response is an error whatever its status.
    fail_if: Option<Template<ConditionSlot>>,
    error_messages: ErrorMessages,
    host_policy: HostPolicy,
    transport: TlsAndProxy,
    format: OutputFormat,
    /// Whether the body contains a secret, which redirects must not send to another origin.
    has_secret_body: bool,
    /// The paths that the body reads.
    body_reads: Vec<Vec<String>>,
    /// Whether the host is part of a secret, which errors must not show.
    has_secret_host: bool,
    /// Whether the query may contain a secret, which errors must not show.
    has_secret_query: bool,
}

enum HttpBody {
    None,
    Json(JsonTemplate),
    Form(Vec<QueryParameter>),
    Multipart(Multipart),
    Text(Template<TextSlot>),
    Bytes { source: FilePartSource, folder: Folder },
}

impl HttpBody {
    fn read_paths(&self) -> Vec<Vec<String>> {
        match self {
            HttpBody::None => Vec::new(),
            HttpBody::Json(value) => value.read_paths(),
            HttpBody::Form(form) => QueryParameter::read_paths(form),
            HttpBody::Multipart(multipart) => multipart.read_paths(),
            HttpBody::Text(text) => text.read_paths().to_vec(),
            HttpBody::Bytes { source, .. } => {
                source.template().map(|text| text.read_paths().to_vec()).unwrap_or_default()
            }
        }
    }
}

/// How responses are parsed. Pages are lists in JSON.
fn output_format(node: &ActionNode<'_, HttpSpec>, compiler: &mut Compiler<'_>) -> Option<OutputFormat> {
    let parse = node.step.parse.as_ref();
    if let (Some(format), Some(_)) = (parse.filter(|format| format.value != ParseFormat::Json), &node.spec.paginate) {
        compiler
            .error(Code::Conflict, format.location, "`paginate` cannot be used with `parse`, except `parse: json`")
            .help("remove one of them: the items of pages are found in JSON");
        return None;
    }
    Some(OutputFormat::new(parse, node.wants_json))
}

/// The error of a response that takes too much.
fn response_limit_error(why: BudgetExceeded) -> ActionError {
    ActionError::limit_error_after(why, ALREADY_SENT_NOTE)
}

/// Holds memory for a response: as bytes, in the fields of the outcome, and as its body.
async fn hold_response(response: &HttpResponse, budget: &Budget) -> Result<(), ActionError> {
    budget.hold_when_free(response.body.bytes.len().saturating_mul(3)).await.map_err(response_limit_error)
}

impl ActionKind for HttpAction {
    type Spec = HttpSpec;
    const SIBLING_KEYS: &'static [&'static str] = &["parse"];
    const GRANT: Option<&'static str> = Some("http");

    fn outcome_shape() -> Shape {
        Shape::object([
            ("status", Shape::Number),
            ("headers", Shape::Map(Box::new(Shape::Text))),
            ("body", Shape::Text),
            ("json", Shape::Any),
            ("url", Shape::Text),
        ])
    }

    fn outcome_shape_of(spec: &HttpSpec) -> Shape {
        match (spec.paginate.is_some(), Self::outcome_shape()) {
            (true, Shape::Object(fields)) => {
                Shape::object(fields.iter().map(|(name, shape)| (name.clone(), shape.clone())).chain([
                    ("pages".to_owned(), Shape::Number),
                    ("more".to_owned(), Shape::Boolean),
                    ("partial".to_owned(), Shape::Text),
                ]))
            }
            (_, shape) => shape,
        }
    }

    fn compile(node: ActionNode<'_, HttpSpec>, compiler: &mut Compiler<'_>) -> Option<HttpAction> {
        let spec = &node.spec.value;
        let connection = connection::find_connection(spec, compiler);
        let shared = connection.flatten();
        let urls = compile::compile_urls(&node, shared, compiler);
        let query = QueryParameter::compile_all(&spec.query, compiler);
        let headers = compile::merge_headers(spec, shared, compiler);
        let credentials = compile::merge_credentials(spec, shared, compiler);
        let body = compile::compile_body(&node, compiler);
        let error_messages = ErrorMessages::compile(&spec.on_error, &Self::outcome_shape(), compiler);
        let expected_statuses = status::compile_patterns(spec.expect.as_ref(), compiler);
        let fail_if = compile::compile_fail_if(spec, shared, &Self::outcome_shape(), compiler);
        let pages = spec.paginate.as_ref();
        let pagination = pages.map_or(Some(None), |pages| Pagination::compile(pages, compiler).map(Some));
        let method = compile::http_method(spec, compiler);
        connection?;
        let (method, urls) = (method?, urls?);
        compile::check_spec(spec, method, compiler);
        let shared_retry = shared.and_then(|shared| shared.retry.as_ref());
        let retry = RetryPolicy::compile(spec.retry.as_ref(), shared_retry, method, compiler);
        let (credentials, body) = (credentials?, body?);
        let host_policy = compile::compile_host_policy(spec, shared, &urls, compiler);
        let transport = TlsAndProxy::compile(shared, compiler);
        let request = HttpAction {
            has_secret_body: compiler.find_secret(&body.read_paths()).is_some(),
            body_reads: body.read_paths(),
            has_secret_host: urls.has_secret_host(compiler),
            has_secret_query: false,
            method,
            base: urls.base,
            url: urls.url,
            query: query?,
            headers: headers?,
            credentials,
            further_credentials: Vec::new(),
            body,
            timeout: spec.timeout.as_ref().map(|timeout| timeout.to_std()),
            cache_lifetime: spec.cache.as_ref().map(|cache| cache.to_std()),
            retry: retry?,
            reads_caller: compiler.reads_caller,
            pagination: pagination?,
            follows_redirects: spec.redirect != Some(Redirect::Manual),
            expected_statuses: expected_statuses?,
            fail_if: fail_if?,
            error_messages: error_messages?,
            host_policy,
            transport: transport?,
            format: output_format(&node, compiler)?,
        };
        request.finish(spec, compiler)
    }

    fn client_use(&self) -> ClientUse {
        if self.retry.attempts > 1 || self.pagination.is_some() { ClientUse::ReportsProgress } else { ClientUse::None }
    }

    fn has_side_effects(&self) -> bool {
        !matches!(self.method, "GET" | "HEAD" | "OPTIONS")
    }

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        let budget = context.scope.budget();
        let request = budget.run(|| self.build_request(context))??;
        if let Some(pagination) = &self.pagination {
            return Box::pin(self.fetch_pages(pagination, request, context)).await;
        }
        let request_description = self.describe_request(&request, &*context.call.world);
        let response =
            self.send_with_retries(request, &request_description, Instant::now() + context.timeout, context).await?;
        hold_response(&response, budget).await?;
        self.to_outcome(&request_description, response, context).await
    }
}

impl HttpAction {
    /// Checks what depends on several keys, and notes what it takes all of them to know.
    fn finish(self, spec: &HttpSpec, compiler: &mut Compiler<'_>) -> Option<HttpAction> {
        let never_fails = |status| self.fail_if.is_none() && self.is_success(status);
        ErrorMessages::check_used(&spec.on_error, never_fails, compiler);
        self.check_whole_url(spec, compiler)?;
        self.check_caller_headers(spec, compiler)?;
        // Variables and the results of steps may be secret.
        let reads = self.url.read_paths().iter().cloned().chain(QueryParameter::read_paths(&self.query));
        let is_secret = |path: Vec<String>| {
            path.first().is_some_and(|head| head == "env" || head == "steps") || is_caller_headers_path(&path)
        };
        let has_secret_query = reads.into_iter().any(is_secret);
        let further_credentials = self.secret_variables(compiler);
        Some(HttpAction { has_secret_query, further_credentials, ..self })
    }

    /// The secret variables that stand by themselves in its query and headers.
    fn secret_variables(&self, compiler: &Compiler<'_>) -> Vec<Vec<String>> {
        let mut variables = QueryParameter::plain_variables(&self.query);
        variables.extend(self.headers.iter().flat_map(|(_, value)| value.plain_variables()));
        let is_secret = |path: &&[String]| match path {
            [head, name] => head == "env" && compiler.pack.env.is_secret(name),
            path => compiler.find_caller_header(&[path.to_vec()]).is_some(),
        };
        variables.into_iter().filter(is_secret).map(<[String]>::to_vec).collect()
    }

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
        let Some(secret) = compiler.find_secret(&self.read_paths()) else { return Some(()) };
        if let Some(url) = &spec.url {
            compiler
                .error(Code::Unsafe, url.location, format!("{secret} would be sent wherever `{argument}` points"))
                .help(help);
        }
        None
    }

    /// Refuses headers of the caller in a request whose host is not written in the manifest.
    fn check_caller_headers(&self, spec: &HttpSpec, compiler: &mut Compiler<'_>) -> Option<()> {
        let reads = [self.read_paths(), self.credentials.read_paths()].concat();
        let Some(header) = compiler.find_caller_header(&reads) else { return Some(()) };
        let host = self.base.as_ref().unwrap_or(&self.url);
        let at = spec.url.as_ref().map(|url| url.location).or(spec.connection.as_ref().map(|name| name.location))?;
        if *host.url_base() == UrlBase::Literal {
            return Some(());
        }
        compiler
            .error(Code::Unsafe, at, format!("{header} would be sent to a host that the manifest does not name"))
            .help("write the scheme and the host of the URL in the manifest");
        None
    }

    /// The paths that its query, headers and body read.
    fn read_paths(&self) -> Vec<Vec<String>> {
        let mut reads = QueryParameter::read_paths(&self.query);
        reads.extend(self.headers.iter().flat_map(|(_, value)| value.read_paths().to_vec()));
        reads.extend(self.body.read_paths());
        reads
    }
}
