//! `http`: one request.

mod checks;
mod send;
mod spec;

use crate::compile::{Compiler, JsonTemplate};
use crate::diagnostic::Code;
use crate::redact::HIDDEN;
use crate::template::{Header as HeaderSlot, Parameter, Shape, Template, Text, Url, UrlBase};
use crate::world::HostPolicy;

use super::{Act, Doing, Failure, Outcome, Written};

pub use checks::check_connection;
pub use spec::{Method, Part, Spec};

/// One request that is ready.
pub struct Http {
    method: &'static str,
    url: Template<Url>,
    query: Vec<(String, Vec<Template<Parameter>>)>,
    headers: Vec<(String, Template<HeaderSlot>)>,
    credentials: Credentials,
    body: Payload,
    timeout: Option<std::time::Duration>,
    expect: Vec<u16>,
    on_error: Vec<(u16, Template<Text>)>,
    allow: HostPolicy,
    wants_json: bool,
    /// Whether the body holds a secret, which no redirect may carry elsewhere.
    secret_body: bool,
    /// What the body reads.
    body_reads: Vec<Vec<String>>,
    /// Whether the host is part of a secret, which no error may name.
    secret_host: bool,
}

enum Credentials {
    None,
    Bearer(Template<HeaderSlot>),
    Basic(Template<HeaderSlot>, Template<HeaderSlot>),
    Header(String, Template<HeaderSlot>),
    Query(String, Template<Parameter>),
}

enum Payload {
    None,
    Json(JsonTemplate),
    Form(Vec<(String, Vec<Template<Parameter>>)>),
    Text(Template<Text>),
}

impl Payload {
    fn reads(&self) -> Vec<Vec<String>> {
        match self {
            Payload::None => Vec::new(),
            Payload::Json(value) => value.reads(),
            Payload::Form(form) => read_by(form),
            Payload::Text(text) => text.reads().to_vec(),
        }
    }
}

/// What query or form parameters read.
fn read_by(fields: &[(String, Vec<Template<Parameter>>)]) -> Vec<Vec<String>> {
    fields.iter().flat_map(|(_, values)| values).flat_map(|value| value.reads().to_vec()).collect()
}

impl Act for Http {
    type Spec = Spec;
    const GRANT: Option<&'static str> = Some("http");

    fn outcome() -> Shape {
        Shape::object([
            ("status", Shape::Number),
            ("headers", Shape::Map(Box::new(Shape::Text))),
            ("body", Shape::Text),
            ("json", Shape::Any),
        ])
    }

    fn compile(written: Written<'_, Spec>, compiler: &mut Compiler<'_>) -> Option<Http> {
        let spec = &written.spec.value;
        checks::check_not_yet(spec, compiler);
        let url = checks::url(&written, compiler);
        let query = checks::parameters(&spec.query, compiler);
        let headers = checks::headers(&spec.headers, compiler);
        let credentials =
            spec.auth.as_ref().map_or(Some(Credentials::None), |auth| checks::credentials(auth, compiler));
        let body = checks::payload(&written, compiler);
        let on_error = checks::on_error(spec, compiler);
        let allow = checks::allowed(spec, url.as_ref(), compiler);
        checks::check_expect(spec, compiler);
        let url = url?;
        let method = checks::method(spec, compiler);
        let body = body?;
        let request = Http {
            secret_body: compiler.secret_in(&body.reads()).is_some(),
            body_reads: body.reads(),
            secret_host: matches!(url.base(), UrlBase::Env(name) if compiler.pack.env.is_secret(name)),
            method: method?,
            url,
            query: query?,
            headers: headers?,
            credentials: credentials?,
            body,
            timeout: spec.timeout.map(|timeout| timeout.get()),
            expect: spec.expect.iter().flatten().map(|status| status.value).collect(),
            on_error: on_error?,
            allow: allow?,
            wants_json: written.wants_json,
        };
        request.check_whole_url(spec, compiler)?;
        Some(request)
    }

    fn changes(&self) -> bool {
        !matches!(self.method, "GET" | "HEAD" | "OPTIONS")
    }

    async fn act(&self, doing: &Doing<'_>) -> Result<Outcome, Failure> {
        let budget = doing.scope.budget();
        let request = budget.run(|| self.request(doing))??;
        let host = if self.secret_host { HIDDEN } else { request.url.host_str().unwrap_or_default() }.to_owned();
        let response = doing.world.send(request).await?;
        budget.run_sized(response.body.bytes.len(), || self.outcome(&host, response, doing))?
    }
}

impl Http {
    /// A URL that an argument chooses must never see a secret.
    fn check_whole_url(&self, spec: &Spec, compiler: &mut Compiler<'_>) -> Option<()> {
        let UrlBase::Whole(argument) = self.url.base() else { return Some(()) };
        let argument = argument.join(".");
        let help = "write scheme and host of the URL into the manifest";
        if let Some(auth) = &spec.auth {
            compiler
                .error(Code::Unsafe, auth.at, format!("`auth` would be sent wherever `{argument}` points"))
                .help(help);
            return None;
        }
        let Some(secret) = compiler.secret_in(&self.reads()) else { return Some(()) };
        if let Some(url) = &spec.url {
            compiler
                .error(Code::Unsafe, url.at, format!("{secret}, and would be sent wherever `{argument}` points"))
                .help(help);
        }
        None
    }

    /// What its query, headers and body read.
    fn reads(&self) -> Vec<Vec<String>> {
        let mut reads = read_by(&self.query);
        reads.extend(self.headers.iter().flat_map(|(_, value)| value.reads().to_vec()));
        reads.extend(self.body.reads());
        reads
    }
}
