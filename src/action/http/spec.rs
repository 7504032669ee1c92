//! What an author may write of a request.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::notation::{Auth, Duration, Json, NamedMap, OneOrMany, Retry, Scalar, TextOrFile, kind_enum};
use crate::yaml::Spanned;

/// One HTTP request.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "HttpRequest")]
pub struct HttpSpec {
    /// GET, or POST where there is a body, until told otherwise.
    pub method: Option<Spanned<Method>>,
    /// The URL, a template: values are percent-encoded, and can never change scheme or host.
    pub url: Option<Spanned<String>>,
    /// The name of one of `connections`, whose `url` is then the base of this one.
    #[serde(rename = "use")]
    pub connection: Option<Spanned<String>>,
    /// Query parameters, templates. One whose value is absent is left out; a list repeats its key.
    #[schemars(with = "IndexMap<String, OneOrMany>")]
    pub query: NamedMap<OneOrMany>,
    /// Headers, templates. One whose value is absent is left out.
    #[schemars(with = "IndexMap<String, Scalar>")]
    pub headers: NamedMap<Spanned<Scalar>>,
    /// How the request says who sends it.
    pub auth: Option<Spanned<Auth>>,
    /// A JSON body. A string that is exactly one `{{…}}` keeps the value's type.
    pub json: Option<Spanned<Json>>,
    /// A form's body; like `query`.
    #[schemars(with = "Option<IndexMap<String, OneOrMany>>")]
    pub form: Option<NamedMap<OneOrMany>>,
    /// A multipart body: parts by name.
    #[schemars(with = "Option<IndexMap<String, Part>>")]
    pub multipart: Option<Spanned<NamedMap<Part>>>,
    /// A body as text, a template.
    pub body: Option<Spanned<TextOrFile>>,
    /// How long the request may take.
    pub timeout: Option<Duration>,
    /// When to try again.
    pub retry: Option<Spanned<Retry>>,
    /// How to get the further pages of an answer.
    pub paginate: Option<Spanned<Paginate>>,
    /// Statuses that are no error, beside 2xx.
    pub expect: Option<Vec<Spanned<u16>>>,
    /// What to say for a status, a template.
    #[schemars(with = "IndexMap<String, String>")]
    pub on_error: NamedMap<Spanned<String>>,
    /// Hosts (`host` or `host:port`) that may be private addresses, or `{{env.NAME}}` for those that a variable names,
    /// separated by commas.
    pub allow: Option<Vec<Spanned<String>>>,
}

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

impl Method {
    /// As it stands in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
            Method::Options => "OPTIONS",
        }
    }
}

kind_enum! {
    /// A part: its text (a template), or a file.
    pub enum Part {
        "scalar" => Text(Spanned<Scalar>),
        "map" => File(FilePart),
    }
}

/// A file that is sent as a part.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct FilePart {
    /// The path of the file.
    #[schemars(with = "String", extend("x-required" = true))]
    pub file: Option<Spanned<String>>,
    /// Its type.
    pub mime_type: Option<Spanned<String>>,
    /// The name by which it is sent.
    pub filename: Option<Spanned<String>>,
}

/// How to get the further pages of an answer: exactly one of `next`, `cursor`, `page`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Paginate {
    /// `link` for the Link header, or a JMESPath to the next page's URL.
    pub next: Option<Spanned<String>>,
    /// A JMESPath to the next cursor.
    pub cursor: Option<Spanned<String>>,
    /// The query parameter that takes the cursor.
    pub parameter: Option<Spanned<String>>,
    /// The query parameter that counts pages.
    pub page: Option<Spanned<String>>,
    /// A JMESPath to the items of a page.
    pub items: Option<Spanned<String>>,
    /// How many pages at most.
    pub max_pages: Option<u32>,
}
