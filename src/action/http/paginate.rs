//! Reads the further pages of a response.

use std::collections::HashSet;
use std::time::Instant;

use serde_json::{Value, json};
use url::Url;

use crate::action::context::outcome::OutcomeBody;
use crate::action::sibling_keys::check_exactly_one;
use crate::action::{ActionError, ActionOutcome, ProgressUpdate, SelectExpression, StepContext};
use crate::budget::{json_memory_size, memory_size};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::{Code, bytes_without_byte_order_mark};
use crate::schema::normalize_integers;
use crate::template::{NumberSlot, Scope, Template, value_to_text};
use crate::value_types::Scalar;
use crate::world::{CapturedBytes, HttpRequest, HttpResponse, WorldError};
use crate::yaml::Spanned;

use super::query::set_query_parameter;
use super::response::request_effect;
use super::spec::Paginate;
use super::{HttpAction, hold_response, response_limit_error};

const DEFAULT_MAX_PAGES: u32 = 10;
const MAX_PAGES: u32 = 1000;

/// How the further pages of a response are found.
pub(super) struct Pagination {
    next: NextPage,
    items: Option<SelectExpression>,
    max_pages: u32,
    max_items: MaxItems,
    keeps_partial: bool,
}

/// The most items.
enum MaxItems {
    Fixed(usize),
    Template(Template<NumberSlot>),
}

impl MaxItems {
    fn compile(max_items: Option<&Spanned<Scalar>>, compiler: &mut Compiler<'_>) -> Option<MaxItems> {
        let Some(max_items) = max_items else { return Some(MaxItems::Fixed(usize::MAX)) };
        if max_items.0.contains("{{") {
            return compiler.template(&max_items.to_text(), Exposure::Private).map(MaxItems::Template);
        }
        let count = max_items.0.parse().ok().filter(|count: &u32| *count > 0);
        if count.is_none() {
            compiler
                .error(Code::BadValue, max_items.location, format!("invalid `maxItems` `{}`", max_items.0))
                .help("write a whole number from 1, or exactly one `{{…}}` with one: `maxItems: \"{{limit}}\"`");
        }
        count.map(|count| MaxItems::Fixed(count as usize))
    }

    fn render(&self, scope: &Scope) -> Result<usize, ActionError> {
        let template = match self {
            MaxItems::Fixed(count) => return Ok(*count),
            MaxItems::Template(template) => template,
        };
        let Some(number) = template.render(scope)? else { return Ok(usize::MAX) };
        let mut value = Value::Number(number);
        normalize_integers(&mut value);
        let count = value.as_u64().filter(|count| *count > 0).and_then(|count| usize::try_from(count).ok());
        count.ok_or_else(|| {
            ActionError::message(format!("invalid `maxItems` `{value}`, expected a whole number from 1"))
        })
    }
}

enum NextPage {
    /// The URL in the header `Link` (RFC 8288).
    Link,
    /// A URL in the body.
    Url(SelectExpression),
    /// A cursor in the body, which becomes a query parameter.
    Cursor(SelectExpression, String),
    /// A query parameter that counts pages or items.
    Number(PageNumber),
}

/// A query parameter that grows with each page.
struct PageNumber {
    parameter: String,
    /// Its value on the first page, unless the request has one.
    start: u64,
    /// How much it grows.
    step: u64,
}

impl PageNumber {
    fn compile(spec: &Paginate, compiler: &mut Compiler<'_>) -> Option<PageNumber> {
        let parameter = spec.page.as_ref()?;
        if let Some(step) = spec.step.as_ref().filter(|step| step.value == 0) {
            compiler.error(Code::BadValue, step.location, "`step` must be greater than zero");
            return None;
        }
        Some(PageNumber {
            parameter: parameter_name(parameter, compiler)?,
            start: spec.start.as_ref().map_or(1, |start| start.value),
            step: spec.step.as_ref().map_or(1, |step| step.value),
        })
    }

    /// The URL of the first page, which says its number.
    fn first_url(&self, url: &Url) -> Url {
        match self.number_in(url) {
            Some(_) => url.clone(),
            None => with_parameter(url, &self.parameter, self.start.to_string()),
        }
    }

    /// The URL of the page after `pages` pages.
    fn page_url(&self, pages: u32, first: &Url) -> Option<Url> {
        let start = self.number_in(first).unwrap_or(self.start);
        let next = self.step.checked_mul(pages.into())?.checked_add(start)?;
        Some(with_parameter(first, &self.parameter, next.to_string()))
    }

    fn number_in(&self, url: &Url) -> Option<u64> {
        url.query_pairs().find(|(name, _)| *name == self.parameter)?.1.parse().ok()
    }
}

fn parameter_name(name: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<String> {
    if name.is_empty() {
        compiler.error(Code::BadValue, name.location, "empty name of a query parameter");
        return None;
    }
    Some(name.value.clone())
}

impl Pagination {
    /// Compiles `paginate`.
    pub(super) fn compile(spec: &Spanned<Paginate>, compiler: &mut Compiler<'_>) -> Option<Pagination> {
        let keys = [("next", spec.next.is_some()), ("cursor", spec.cursor.is_some()), ("page", spec.page.is_some())];
        let is_one = check_exactly_one("paginate", spec.location, &keys, compiler);
        if spec.cursor.is_some() != spec.parameter.is_some() {
            compiler.error(Code::Conflict, spec.location, "`cursor` and `parameter` require each other");
            return None;
        }
        if let Some(pages) = spec.max_pages.as_ref().filter(|pages| !(1..=MAX_PAGES).contains(&pages.value)) {
            compiler
                .error(Code::BadValue, pages.location, format!("invalid `maxPages` `{}`", pages.value))
                .help(format!("use a number from 1 to {MAX_PAGES}"));
            return None;
        }
        for (key, number) in [("start", &spec.start), ("step", &spec.step)] {
            if let Some(number) = number.as_ref().filter(|_| spec.page.is_none()) {
                compiler.error(Code::Conflict, number.location, format!("`{key}` requires `page`"));
            }
        }
        let items = match &spec.items {
            Some(items) => Some(SelectExpression::compile(items, compiler)?),
            None => None,
        };
        is_one?;
        Some(Pagination {
            next: NextPage::compile(spec, compiler)?,
            items,
            max_pages: spec.max_pages.as_ref().map_or(DEFAULT_MAX_PAGES, |pages| pages.value),
            max_items: MaxItems::compile(spec.max_items.as_ref(), compiler)?,
            keeps_partial: spec.partial.unwrap_or_default(),
        })
    }
}

impl NextPage {
    fn compile(spec: &Paginate, compiler: &mut Compiler<'_>) -> Option<NextPage> {
        if let Some(next) = &spec.next {
            return match next.value.as_str() {
                "link" => Some(NextPage::Link),
                _ => SelectExpression::compile(next, compiler).map(NextPage::Url),
            };
        }
        if let Some((cursor, parameter)) = spec.cursor.as_ref().zip(spec.parameter.as_ref()) {
            let parameter = parameter_name(parameter, compiler)?;
            return SelectExpression::compile(cursor, compiler).map(|cursor| NextPage::Cursor(cursor, parameter));
        }
        PageNumber::compile(spec, compiler).map(NextPage::Number)
    }
}

/// The pages that were read so far.
struct PageReader<'a> {
    action: &'a HttpAction,
    context: &'a StepContext<'a>,
    pagination: &'a Pagination,
    max_items: usize,
    /// The request of the first page.
    first: HttpRequest,
    items: Vec<Value>,
    pages: u32,
    bytes: u64,
    /// Whether items of the last page were left out.
    is_truncated: bool,
    seen: HashSet<Url>,
    deadline: Instant,
    /// The last page, without its body.
    last: Option<HttpResponse>,
}

/// Why no further page is read.
enum StopReason {
    /// There is no next page.
    Complete,
    /// A limit was reached.
    Limit,
    /// It failed, and what was read before is kept.
    Failure(String),
}

impl HttpAction {
    /// Sends a request, reads its pages, and joins their items.
    pub(super) async fn fetch_pages(
        &self,
        pagination: &Pagination,
        mut request: HttpRequest,
        context: &StepContext<'_>,
    ) -> Result<ActionOutcome, ActionError> {
        if let NextPage::Number(number) = &pagination.next {
            request.url = number.first_url(&request.url);
        }
        let reader = PageReader {
            action: self,
            context,
            pagination,
            max_items: pagination.max_items.render(context.scope)?,
            first: request.clone(),
            items: Vec::new(),
            pages: 0,
            bytes: 0,
            is_truncated: false,
            seen: HashSet::new(),
            deadline: Instant::now() + context.timeout,
            last: None,
        };
        reader.read(request).await
    }
}

impl PageReader<'_> {
    async fn read(mut self, mut request: HttpRequest) -> Result<ActionOutcome, ActionError> {
        loop {
            self.seen.insert(request.url.clone());
            if self.pages > 0 {
                let message = Some(format!("page {}", self.pages + 1));
                self.context.entry.client().progress(ProgressUpdate { progress: None, total: None, message }).await;
            }
            request.max_output = self.context.max_output.saturating_sub(self.bytes);
            let request_description = self.action.describe_request(&request, &*self.context.call.world);
            let response = match self
                .action
                .send_with_retries(request.clone(), &request_description, self.deadline, self.context)
                .await
            {
                Ok(response) => response,
                Err(error) => return self.fail(error, None),
            };
            let is_page = match (200..300).contains(&response.status) {
                true => self.action.is_failed(&response, self.context).map(|is_failed| !is_failed),
                false => Ok(false),
            };
            match is_page {
                Ok(true) => {}
                Ok(false) => return self.end_without_page(&request_description, response).await,
                Err(error) => return self.fail(error, None),
            }
            let next = match self.read_page(&response).await {
                Ok(next) => next,
                Err(error) => {
                    let error = error.about_output(&request_effect(response.status), &response.body.excerpt());
                    return self.fail(error, None);
                }
            };
            self.pages += 1;
            self.last = Some(HttpResponse { body: CapturedBytes::default(), ..response });
            match next {
                _ if self.is_truncated => return Ok(self.finish(&StopReason::Limit)),
                None => return Ok(self.finish(&StopReason::Complete)),
                Some(_) if self.is_full() => return Ok(self.finish(&StopReason::Limit)),
                Some(next) => match self.next_request(&request, next) {
                    Ok(next) => request = next,
                    Err(error) => return self.fail(error, None),
                },
            }
        }
    }

    /// Ends with a response that is not a page: an error, or one whose status is expected.
    async fn end_without_page(
        self,
        request_description: &str,
        response: HttpResponse,
    ) -> Result<ActionOutcome, ActionError> {
        if let Err(error) = hold_response(&response, self.context.scope.budget()).await {
            return self.fail(error, None);
        }
        let outcome = self.action.to_outcome(request_description, response, self.context).await?;
        match outcome.failure.clone() {
            _ if self.pages == 0 => Ok(outcome),
            Some(reason) => self.fail(ActionError::message(reason), Some(outcome)),
            None => Ok(self.finish(&StopReason::Complete)),
        }
    }

    fn is_full(&self) -> bool {
        self.pages >= self.pagination.max_pages || self.items.len() >= self.max_items
    }

    /// Reads a page, which is held meanwhile: its bytes, its value, and what is selected from it. Returns the URL of the next
    /// one.
    async fn read_page(&mut self, response: &HttpResponse) -> Result<Option<Url>, ActionError> {
        let budget = self.context.scope.budget().nested();
        let bytes = &response.body.bytes;
        let size = json_memory_size(bytes).saturating_mul(2).saturating_add(bytes.len());
        budget.hold_when_free(size).await.map_err(response_limit_error)?;
        budget.run(|| self.add_page(response))?
    }

    /// Adds the items of a page; returns the URL of the next one.
    fn add_page(&mut self, response: &HttpResponse) -> Result<Option<Url>, ActionError> {
        let body = &response.body;
        self.bytes += body.bytes.len() as u64;
        if body.is_truncated() {
            return Err(ActionError::truncated("JSON", body, self.context.max_output));
        }
        let page: Value = serde_json::from_slice(bytes_without_byte_order_mark(&body.bytes))
            .map_err(|error| ActionError::invalid_json(&error.to_string()))?;
        let selected = match &self.pagination.items {
            Some(items) => items.apply(&page)?,
            None => page.clone(),
        };
        let Value::Array(items) = selected else {
            return Err(ActionError::message(match &self.pagination.items {
                Some(items) => {
                    let hint = items.hint(&page, &selected).map(|hint| format!(": {hint}")).unwrap_or_default();
                    format!("`items` of `paginate` did not select a list{hint}")
                }
                None => "the response is not a list: select it with `items` in `paginate`".to_owned(),
            }));
        };
        let is_empty = items.is_empty();
        let room = self.max_items - self.items.len();
        self.is_truncated |= items.len() > room;
        // In the list, and in the value and the texts of the outcome.
        let size: usize = items.iter().take(room).map(memory_size).sum();
        self.context.scope.budget().hold(size.saturating_mul(3)).map_err(response_limit_error)?;
        self.items.extend(items.into_iter().take(room));
        self.next_url(response, &page, is_empty)
    }

    fn next_url(&self, response: &HttpResponse, page: &Value, is_empty: bool) -> Result<Option<Url>, ActionError> {
        let join = |text: &str| {
            let next = response.url.join(text);
            next.map(Some).map_err(|_| ActionError::from(WorldError::InvalidUrl { reason: "malformed next page" }))
        };
        match &self.pagination.next {
            NextPage::Link => match response.header("link").as_deref().and_then(next_link) {
                Some(next) => join(&next),
                None => Ok(None),
            },
            NextPage::Url(next) => match next.apply(page)? {
                end if is_end(&end) => Ok(None),
                Value::String(next) => join(&next),
                _ => Err(wrong_type("next", "a URL")),
            },
            NextPage::Cursor(cursor, parameter) => match cursor.apply(page)? {
                end if is_end(&end) => Ok(None),
                cursor @ (Value::String(_) | Value::Number(_)) => {
                    Ok(Some(with_parameter(&self.first.url, parameter, value_to_text(&cursor).into_owned())))
                }
                _ => Err(wrong_type("cursor", "a text or a number")),
            },
            NextPage::Number(number) if !is_empty => Ok(number.page_url(self.pages + 1, &self.first.url)),
            NextPage::Number(_) => Ok(None),
        }
    }

    /// The request for the next page: without credentials at another origin.
    fn next_request(&self, request: &HttpRequest, next: Url) -> Result<HttpRequest, ActionError> {
        if self.seen.contains(&next) {
            return Err(ActionError::message("the next page was already read: the pages form a loop".to_owned()));
        }
        let mut request = request.clone();
        request.move_to(next)?;
        self.action.credentials_for(&request).add_to(&mut request, self.context.scope)?;
        Ok(request)
    }

    /// Ends with an error, or with the pages before it.
    fn fail(self, error: ActionError, failed: Option<ActionOutcome>) -> Result<ActionOutcome, ActionError> {
        if self.pages == 0 {
            return Err(error);
        }
        let message = format!("page {}: {error}", self.pages + 1);
        if self.pagination.keeps_partial {
            return Ok(self.finish(&StopReason::Failure(message)));
        }
        match failed {
            Some(outcome) => Ok(ActionOutcome { failure: Some(message), ..outcome }),
            None => Err(ActionError::message(message)),
        }
    }

    fn finish(self, reason: &StopReason) -> ActionOutcome {
        let (partial, note) = match reason {
            StopReason::Complete => (None, None),
            StopReason::Limit => {
                let (items, pages) = (count(self.items.len(), "item"), count(self.pages as usize, "page"));
                (None, Some(format!("Only the first {items} and {pages} were read; there are more.")))
            }
            StopReason::Failure(message) => (Some(message.as_str()), Some(format!("Incomplete: {message}"))),
        };
        let last = self.last.as_ref();
        let status = last.map(|last| last.status);
        let items = Value::Array(self.items);
        let text = items.to_string();
        let reads = self.context.reads;
        let value = json!({
            "status": status,
            "headers": last.map(super::response::header_values),
            "body": reads.has_text("body", Some(&items)).then_some(&text),
            "json": reads.has_field("json").then_some(&items),
            "url": last.map(|last| last.url.as_str()),
            "pages": self.pages,
            "more": !matches!(reason, StopReason::Complete),
            "partial": partial,
        });
        let body = OutcomeBody::Json(items, text);
        ActionOutcome { status, note, ..ActionOutcome::success(value, body) }
    }
}

/// Whether a value instead of the next URL or cursor says that there is none.
fn is_end(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(false)) || value.as_str() == Some("")
}

fn wrong_type(key: &str, expected: &str) -> ActionError {
    ActionError::message(format!("`{key}` of `paginate` did not select {expected}, or null at the end"))
}

/// `1 item`, `2 items`.
fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// A URL with a query parameter replaced.
fn with_parameter(url: &Url, name: &str, value: String) -> Url {
    let mut url = url.clone();
    set_query_parameter(&mut url, name, [value]);
    url
}

/// The target of the link with `rel="next"` in a `Link` header (RFC 8288, 3).
fn next_link(header: &str) -> Option<String> {
    let mut rest = header;
    while let Some(start) = rest.find('<') {
        let (target, after) = rest.get(start + 1..)?.split_once('>')?;
        // A comma ends the parameters of a link.
        let parameters = split_unquoted(after, ',').next().unwrap_or_default();
        let is_next = split_unquoted(parameters, ';').any(|parameter| {
            let Some((name, value)) = parameter.split_once('=') else { return false };
            let relations = value.trim().trim_matches('"');
            name.trim().eq_ignore_ascii_case("rel")
                && relations.split_ascii_whitespace().any(|relation| relation.eq_ignore_ascii_case("next"))
        });
        if is_next {
            return Some(target.trim().to_owned());
        }
        rest = after.get(parameters.len()..)?;
    }
    None
}

/// The parts of a text between separators outside of quotes.
fn split_unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |character| {
        quoted ^= character == '"';
        character == separator && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::{next_link, with_parameter};

    #[test]
    fn link_header_is_parsed() {
        for (header, next) in [
            (r#"<https://a.example/?page=2>; rel="next""#, Some("https://a.example/?page=2")),
            (r#"</p?page=1>; rel=prev, </p?page=3>; title="a, b"; rel="last next""#, Some("/p?page=3")),
            (r#"</x,y>; REL=Next"#, Some("/x,y")),
            (r#"</a>; title="a; rel=next; b"; rel="last""#, None),
            (r#"</last>; rel="last""#, None),
            ("", None),
            ("<", None),
            ("<a", None),
            ("next", None),
        ] {
            assert_eq!(next_link(header).as_deref(), next, "{header}");
        }
    }

    #[test]
    fn parameter_is_replaced() {
        let url = "https://a.example/p?page=1&q=%C3%A4&page=2".parse().unwrap();
        assert_eq!(with_parameter(&url, "page", "3 &".to_owned()).as_str(), "https://a.example/p?q=%C3%A4&page=3+%26");
    }
}
