//! The notation of `http`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::value_types::{Auth, Count, Duration, Json, NamedMap, OneOrMany, Retry, Scalar, yaml_kind_enum};
use crate::yaml::Spanned;

/// One HTTP request.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "HttpRequest")]
#[schemars(extend("x-at-most-one" = ["json", "form", "multipart", "body"]))]
pub struct HttpSpec {
    /// The method. The default is GET, or POST if there is a body.
    pub method: Option<Spanned<Method>>,
    /// The URL, a template: `https://api.example/items/{{id}}`. Values are percent-encoded, and cannot change the scheme or
    /// the host.
    pub url: Option<Spanned<String>>,
    /// The name of one of `connections`, whose `url` is the base of this one.
    #[serde(rename = "use")]
    pub connection: Option<Spanned<String>>,
    /// Query parameters, templates by name: `{ q: "{{query}}" }`. Absent values are left out; a list repeats its key, or is
    /// one value, such as `tags=a,b`, by `{ tags: "{{join tags ','}}" }`; with
    /// `{{default (join tags ',') null}}` an empty list is left out. A name such as `filter[*]` writes an object or a list by
    /// its parts: `{ "filter[*]": "{{filter}}" }` sends `filter[a]=1&filter[b][0]=2`, and `{ "[*]": "{{filter}}" }` sends each field
    /// under its own name.
    #[schemars(with = "IndexMap<String, OneOrMany>")]
    pub query: NamedMap<OneOrMany>,
    /// Headers, templates by name: `{ Accept: application/json }`. Absent values are left out.
    #[schemars(with = "IndexMap<String, Scalar>")]
    pub headers: NamedMap<Spanned<Scalar>>,
    /// The credentials of the request: `{ bearer: "{{env.TOKEN}}" }`.
    pub auth: Option<Spanned<Auth>>,
    /// A JSON body: `{ id: "{{id}}" }`. A string that is exactly one `{{…}}` keeps the type of the value, and is
    /// left out with its key where the value is absent or null.
    pub json: Option<Spanned<Json>>,
    /// A form body, written like `query`: `{ name: "{{name}}" }`.
    #[schemars(with = "Option<IndexMap<String, OneOrMany>>")]
    pub form: Option<NamedMap<OneOrMany>>,
    /// A multipart body, parts by name, each a text (a template) or a file of the pack:
    /// `{ title: "{{title}}", report: { file: report.pdf } }`. Absent texts are left out; a list becomes a part for each
    /// item.
    #[schemars(with = "Option<IndexMap<String, MultipartPart>>")]
    pub multipart: Option<Spanned<NamedMap<MultipartPart>>>,
    /// A text body, a template; or bytes that are sent as they are, `{ file: photo.png }` or `{ base64: "{{photo}}" }`.
    pub body: Option<Spanned<RequestBodySpec>>,
    /// The time limit of the request, such as `10s`.
    #[schemars(with = "Option<Duration>")]
    pub timeout: Option<Spanned<Duration>>,
    /// How long a response of a GET or HEAD request is kept, such as `60s`: equal requests get it again, without a request.
    /// Only those with status 200 are, and none with `Cache-Control: no-store`. An older one is asked for again only if it
    /// has changed, where its `ETag` or `Last-Modified` allows that.
    pub cache: Option<Spanned<Duration>>,
    /// When to retry the request: `{ attempts: 3 }`.
    pub retry: Option<Spanned<Retry>>,
    /// How to request further pages of a response: `{ next: link }`.
    pub paginate: Option<Spanned<Paginate>>,
    /// `redirect: manual` to take a redirect as the response. By default it is followed.
    pub redirect: Option<Redirect>,
    /// Statuses other than 2xx that are not errors: `[404]`, a class such as `[3xx]`, or `[default]` for all.
    #[schemars(with = "Option<Vec<Scalar>>")]
    pub expect: Option<Vec<Spanned<Scalar>>>,
    /// When a response is an error whatever its status, as of APIs that answer `200 { ok: false }`: exactly one `{{…}}`, such
    /// as `"{{eq json.ok false}}"`. It sees what `onError` does, which words the error; `json` is null where the body is not JSON.
    /// One of the connection does not count beside it.
    pub fail_if: Option<Spanned<String>>,
    /// Error messages by status, templates: `{ 404: "no item {{id}}", 4xx: "{{json.message}}", default: "try later" }`.
    /// They see `status`, `headers`, `body`, `json` and `url` of the response; an argument of such a name is
    /// `arguments.NAME` there.
    #[schemars(with = "IndexMap<String, String>")]
    pub on_error: NamedMap<Spanned<String>>,
    /// What may have private addresses: hosts (`host` or `host:port`), networks (`10.0.0.0/8`, `fd00::/8`), or `*` for
    /// all. `{{env.NAME}}` is a variable with a comma-separated list of them: `["localhost:8080", "10.0.0.0/8"]`.
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
    /// Its name in a request.
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

yaml_kind_enum! {
    /// A body that is a text (a template), or bytes: `{ file: photo.png }`.
    pub enum RequestBodySpec {
        "text" => Text(String),
        "map" => Bytes(BodyBytes),
    }
}

/// A body of bytes that are sent as they are: a file of the pack, or a value. Without a header `Content-Type`, its type is
/// that of the file by its name, or `application/octet-stream`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["file", "base64"]))]
pub struct BodyBytes {
    /// The path of the file, relative to this manifest. It is read while it is sent, in whatever size, and is not a template.
    pub file: Option<Spanned<String>>,
    /// The bytes in base64, a template: `"{{photo}}"`, or `"{{steps.photo.base64}}"` after `file: { read: … }`. There is no
    /// body where all its values are absent.
    pub base64: Option<Spanned<String>>,
}

yaml_kind_enum! {
    /// A part of a multipart body: a text (a template), or a file: `{ file: logo.png }`.
    pub enum MultipartPart {
        "scalar" => Text(Spanned<Scalar>),
        "map" => File(FilePart),
    }
}

/// A part of a multipart body that is a file: of the pack, or of values with `text` or `base64`, such as
/// `{ base64: "{{image}}", filename: logo.png }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["file", "text", "base64"]))]
pub struct FilePart {
    /// The path of the file, relative to this manifest. It is read while it is sent, in whatever size.
    pub file: Option<Spanned<String>>,
    /// The contents, a template: `"{{report}}"`. The part is left out where all its values are absent.
    pub text: Option<Spanned<String>>,
    /// The contents in base64, a template: `"{{image}}"`, or `"{{steps.photo.base64}}"` after `file: { read: … }`. The part
    /// is left out where all its values are absent.
    pub base64: Option<Spanned<String>>,
    /// Its media type. The default is guessed from the file name.
    pub mime_type: Option<Spanned<String>>,
    /// The file name to send, a template: `"{{title}}.pdf"`. The default is that of the file, or the name of the part.
    pub filename: Option<Spanned<String>>,
}

/// How to request further pages of a response: exactly one of `next`, `cursor`, `page`, such as
/// `{ cursor: meta.next, parameter: after, items: data }`.
///
/// A page is a response with a status of 2xx. Null, `false` and an empty text as `next` or `cursor` say that
/// there are no more.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["next", "cursor", "page"]))]
pub struct Paginate {
    /// `link` for the `Link` header, or a JMESPath to the URL of the next page: `next: meta.next`.
    pub next: Option<Spanned<String>>,
    /// A JMESPath to the next cursor: `cursor: meta.next`.
    pub cursor: Option<Spanned<String>>,
    /// The query parameter that takes the cursor: `parameter: after`.
    pub parameter: Option<Spanned<String>>,
    /// The query parameter that counts pages, or items with `step`. It is part of the first request, too.
    pub page: Option<Spanned<String>>,
    /// The number of the first page: `start: 0`. The default is 1, or the number in `url` or `query`.
    #[schemars(with = "Option<u64>")]
    pub start: Option<Spanned<u64>>,
    /// How much the number grows with each page: `{ page: offset, start: 0, step: 100 }`. The default is 1.
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub step: Option<Spanned<u64>>,
    /// A JMESPath to the items of a page: `items: data`. The default is the page itself, if it is a list.
    pub items: Option<Spanned<String>>,
    /// The maximum number of pages: `maxPages: 20`. The default is 10.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    pub max_pages: Option<Spanned<u32>>,
    /// The maximum number of items: `maxItems: 100`, or exactly one `{{…}}`, such as `"{{limit}}"`, without a value for no
    /// maximum.
    #[schemars(with = "Option<Count>")]
    pub max_items: Option<Spanned<Scalar>>,
    /// Whether the pages before one that fails are kept; `partial` of the outcome then says why it failed, and `more` is
    /// true. By default the action fails.
    pub partial: Option<bool>,
}

/// What happens to a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Redirect {
    /// It is followed. Credentials do not go to another origin.
    Follow,
    /// It is the response.
    Manual,
}
