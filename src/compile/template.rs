//! Compiles templates for their slots, and checks that secrets do not leak.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Compiler, Grants, ShellVariableContext};
use crate::diagnostic::{Code, Diagnostic, Severity, Span, quote_names};
use crate::template::{
    AlteredValue, ComparedValues, JsonSlot, OutputPiece, RenderError, Scope, Slot, Template, TemplateError,
    TemplateSpan, TextSlot, WholeOutcome, is_helper_without_arguments, output_pieces,
};
use crate::yaml::{Location, Spanned, pointer};

const CALLER_HEADER_HELP: &str = "use it in `headers`, `auth`, `query`, `form`, `json` or `body` of an `http` request to a host that the manifest names";

/// Who can read the output of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Clients: secrets are not allowed.
    Client,
    /// Other users of the machine, on the command line of a program: a secret is a warning.
    CommandLine,
    /// The program, body or file that it is for.
    Private,
    /// An HTTP request, whose host an action checks.
    Request,
    /// The same request, as a credential: its variables must be secret, or what uses them elsewhere would show it.
    Credential,
    /// The value of a variable of a pack, which is secret if it contains a secret.
    Variable,
}

impl Compiler<'_> {
    /// Compiles a template and reports its errors.
    pub fn template<S: Slot>(&mut self, text: &Spanned<String>, exposure: Exposure) -> Option<Template<S>> {
        match Template::compile(&self.pack.engine, text, &self.scope_shape) {
            Ok(template) => {
                self.check_secrets(template.read_paths(), text.location, exposure);
                self.check_altered(template.altered_values(), text.location, exposure);
                self.check_compared(template.comparisons(), text.location, exposure);
                self.warn_whole_outcomes(template.whole_outcomes(), text.location);
                self.record_reads(template.read_paths());
                self.add_branches(template.branches(), text.location);
                self.warn_helper_names(text);
                ShellVariableContext::for_slot::<S>(exposure)
                    .into_iter()
                    .for_each(|check| self.warn_shell_variables(text, check));
                Some(template)
            }
            Err(errors) => {
                let errors = self.with_dollar_tags(text, errors);
                for mut error in self.without_foreign_tags(text, errors) {
                    self.add_literal_help(&mut error, text);
                    self.report_template_error(error, text.location);
                }
                None
            }
        }
    }

    /// Compiles the text of a message or of a block, which is left out where it is empty.
    pub fn message_text(&mut self, text: &Spanned<String>) -> Option<Template<TextSlot>> {
        let template = self.template::<TextSlot>(text, Exposure::Client)?;
        let span = text.location.span();
        // The text of a prompt file has no span, and is reported where the file is read.
        if template.is_blank() && span.start < span.end {
            self.warning(Code::Unused, text.location, "this text is always empty, and left out").help("remove it");
        }
        Some(template)
    }

    /// Compiles a template that may be absent.
    pub fn optional_template<S: Slot>(
        &mut self,
        text: Option<&Spanned<String>>,
        exposure: Exposure,
    ) -> Option<Template<S>> {
        text.and_then(|text| self.template(text, exposure))
    }

    /// Warns of arguments that are named like a helper without arguments.
    fn warn_helper_names(&mut self, text: &Spanned<String>) {
        if !text.contains("{{") || !self.arguments.locations.keys().any(|name| is_helper_without_arguments(name)) {
            return;
        }
        for piece in output_pieces(text) {
            let OutputPiece::Value(range, path) = piece else { continue };
            let [name] = path.as_slice() else { continue };
            if is_helper_without_arguments(name) && self.arguments.locations.contains_key(name) {
                let span = self.span_within(text.location, range);
                self.warning(Code::BadName, span, format!("ambiguous name `{name}`: argument and helper"))
                    .help(format!("write `{{{{arguments.{name}}}}}`, or rename the argument"));
            }
        }
    }

    /// Warns of outcomes that a text shows as JSON, where one of their fields is probably meant.
    fn warn_whole_outcomes(&mut self, outcomes: &[WholeOutcome], at: Location) {
        for WholeOutcome { name, fields, is_list, span } in outcomes {
            let (whole, field) = match is_list {
                true => {
                    ("a list of whole outcomes", format!("`{{{{#each {name}}}}}…{{{{/each}}}}` with a field of each"))
                }
                false => ("a whole outcome", "one of its fields".to_owned()),
            };
            let owner = if *is_list { "this" } else { name };
            let fields: Vec<String> = fields.iter().map(|field| format!("{owner}.{field}")).collect();
            let fields = quote_names(&fields);
            let message = format!("`{name}` is {whole}, and shown as JSON");
            self.report_in_template(Severity::Warning, Code::WholeOutcome, span, at, message)
                .help(format!("write {field}: {fields}; if the JSON is meant, write `{{{{json {name}}}}}`"));
        }
    }

    /// Adds how braces are written that are text, unless the mend of the error is known.
    fn add_literal_help(&self, error: &mut TemplateError, text: &Spanned<String>) {
        let is_of_tag = matches!(error.code, Code::Template | Code::UnknownVariable | Code::UnknownHelper);
        let TemplateSpan::Template(range) = &error.span else { return };
        let (before, after) = text.split_at_checked(range.start).unwrap_or_default();
        let start = if after.starts_with("{{") { Some(range.start) } else { before.rfind("{{") };
        let Some(start) = start.filter(|_| is_of_tag && error.replacement.is_none()) else { return };
        let literal = self.literal_help(text, start);
        error.help = Some(match error.help.take() {
            Some(help) => format!("{help}; {literal}"),
            None => literal,
        });
    }

    /// How the tag that begins at `start` is written as text.
    pub(super) fn literal_help(&self, text: &Spanned<String>, start: usize) -> String {
        let start = if text.get(..start).is_some_and(|before| before.ends_with('{')) { start - 1 } else { start };
        let tag = text.get(start..).unwrap_or_default();
        let close = if tag.starts_with("{{{") { "}}}" } else { "}}" };
        let tag = tag.find(close).and_then(|end| tag.get(..end + close.len())).filter(|tag| !tag.contains('\n'));
        let sources = &self.load_context.report.sources;
        let backslash = if sources.text_of(text.location.span()).starts_with('"') { r"\\" } else { r"\" };
        format!("for the text itself, write `{backslash}{}`", tag.unwrap_or("{{"))
    }

    fn report_template_error(&mut self, error: TemplateError, location: Location) {
        let diagnostic = self.report_in_template(Severity::Error, error.code, &error.span, location, error.message);
        diagnostic.help = error.help;
        if let (Some(replacement), Some(span)) = (error.replacement, diagnostic.span) {
            diagnostic.suggest(span, replacement);
            diagnostic.fix.iter_mut().for_each(|fix| fix.is_certain = error.is_certain);
        }
    }

    /// Reports at a place in a template, or in a partial, with the place of its use.
    fn report_in_template(
        &mut self,
        severity: Severity,
        code: Code,
        span: &TemplateSpan,
        at: Location,
        message: String,
    ) -> &mut Diagnostic {
        let (span, used_at) = match span {
            TemplateSpan::Template(range) => (self.span_within(at, range.clone()), None),
            TemplateSpan::Partial { name, range, used_at } => {
                let used_at = self.span_within(at, used_at.clone());
                match self.pack.partials.get(name) {
                    Some(file) => (Span::new(*file, range.start, range.end), Some(used_at)),
                    None => (used_at, None),
                }
            }
        };
        let diagnostic = self.load_context.report.add(severity, code, span, message);
        if let Some(used_at) = used_at {
            diagnostic.note(used_at, "used here");
        }
        diagnostic
    }

    /// The span in the file of a range of a string.
    pub fn span_within(&self, at: Location, range: std::ops::Range<usize>) -> Span {
        self.load_context.documents.span_within(&self.load_context.report.sources, at, range)
    }

    fn check_secrets(&mut self, reads: &[Vec<String>], at: Location, exposure: Exposure) {
        if exposure == Exposure::Credential {
            reads.iter().for_each(|path| self.check_is_secret(path, at));
        }
        if !matches!(exposure, Exposure::Request | Exposure::Credential)
            && let Some(header) = self.find_caller_header(reads)
        {
            self.error(Code::Secret, at, format!("{header} may only stand in requests")).help(CALLER_HEADER_HELP);
            return;
        }
        self.check_whole_caller(reads, at);
        let Some(secret) = self.find_secret(reads) else { return };
        let (severity, message, help) = match exposure {
            Exposure::Client => (
                Severity::Error,
                format!("{secret} is exposed to clients"),
                "use it in `auth`, `headers`, a body, `stdin` or a step's `env`",
            ),
            Exposure::CommandLine => (
                Severity::Warning,
                format!("{secret} is exposed to other users of the machine, who can read command lines"),
                "pass it in `env` or `stdin`",
            ),
            Exposure::Private | Exposure::Request | Exposure::Credential | Exposure::Variable => return,
        };
        self.load_context.report.add(severity, Code::Secret, at, message).help(help);
    }

    /// Warns of a variable that is a credential and no secret.
    pub fn check_is_secret(&mut self, path: &[String], at: Location) {
        let [env, name] = path else { return };
        if env == "env" && !self.pack.env.is_secret(name) {
            self.warning(Code::Secret, at, format!("`{name}` is a credential, and not a secret variable"))
                .help(format!("declare it with `secret: true` under `env`: `{name}: {{ secret: true }}`"));
        }
    }

    /// Rejects helpers that change a secret so that it cannot be redacted.
    fn check_altered(&mut self, altered: &[AlteredValue], at: Location, exposure: Exposure) {
        let is_exposed = !matches!(exposure, Exposure::Client | Exposure::Variable);
        for altered in altered.iter().filter(|_| is_exposed) {
            let Some(secret) = self.find_secret(std::slice::from_ref(&altered.path)) else { continue };
            let helper = &altered.helper;
            let message = format!("{secret} cannot be redacted after `{helper}` changes it");
            self.report_in_template(Severity::Error, Code::Secret, &altered.span, at, message)
                .help(format!("use it without `{helper}`, or declare the changed value as its own secret variable"));
        }
    }

    /// Rejects comparisons of a secret, by which a caller could find it, one bit with each call.
    fn check_compared(&mut self, compared: &[ComparedValues], at: Location, exposure: Exposure) {
        // Where clients read the text, the secret is refused as such.
        for compared in compared.iter().filter(|_| exposure != Exposure::Client) {
            let Some(secret) = self.find_secret(&compared.paths) else { continue };
            let message = format!("`{}` compares {secret} with a value that a caller may choose", compared.helper);
            self.report_in_template(Severity::Error, Code::Secret, &compared.span, at, message)
                .help("a caller could find the secret by many calls: compare it with constants only");
        }
    }

    /// The secret that a template reads, for messages.
    pub fn find_secret(&self, reads: &[Vec<String>]) -> Option<String> {
        self.pack.env.find_secret(reads).or_else(|| self.find_caller_header(reads))
    }

    /// The header of the caller's client that a template reads, for messages.
    pub fn find_caller_header(&self, reads: &[Vec<String>]) -> Option<String> {
        let path = reads.iter().find(|path| self.scope_shape.is_of_caller_headers(path))?;
        Some(match path.get(2) {
            Some(name) => format!("the caller's header `{name}`"),
            None => "`caller.headers`".to_owned(),
        })
    }

    /// Refuses `caller` as a whole beside its headers, as it is null for nobody, and they are there all the same.
    fn check_whole_caller(&mut self, reads: &[Vec<String>], at: Location) {
        let is_whole = |path: &Vec<String>| path.len() == 1 && self.scope_shape.is_of_caller(path);
        if reads.iter().any(is_whole) && self.find_caller_header(reads).is_some() {
            self.error(Code::Conflict, at, "`caller` as a whole cannot stand beside `caller.headers`")
                .help("write the field that is meant, such as `caller.id`");
        }
    }

    /// The headers that templates see of the caller's client: an imported pack sees none.
    pub fn caller_headers(&self) -> BTreeSet<String> {
        match self.pack.grants {
            Grants::All => self.load_context.caller_headers.clone(),
            Grants::Only(_) => BTreeSet::new(),
        }
    }

    /// Compiles a JSON value whose strings are templates.
    pub fn json_template(&mut self, value: &Value, at: Location, exposure: Exposure) -> JsonTemplate {
        match value {
            Value::String(text) => {
                let template = self.template(&Spanned::new(text.clone(), at), exposure);
                template.map_or_else(|| JsonTemplate::Constant(Value::Null), JsonTemplate::Leaf)
            }
            Value::Array(items) => {
                let mut item = |(index, item): (usize, &Value)| {
                    self.json_template(item, self.load_context.documents.value_at(at, &format!("/{index}")), exposure)
                };
                JsonTemplate::List(items.iter().enumerate().map(&mut item).collect())
            }
            Value::Object(fields) => {
                let mut field = |(key, value): (&String, &Value)| {
                    let location = self.load_context.documents.value_at(at, &pointer::join("", key));
                    (key.clone(), self.json_template(value, location, exposure))
                };
                JsonTemplate::Map(fields.iter().map(&mut field).collect())
            }
            constant => JsonTemplate::Constant(constant.clone()),
        }
    }
}

/// A JSON value whose strings are templates: `"{{limit}}"` alone keeps the value's type.
#[derive(Debug)]
pub enum JsonTemplate {
    /// A value without templates.
    Constant(Value),
    /// A string.
    Leaf(Template<JsonSlot>),
    List(Vec<JsonTemplate>),
    /// An object.
    Map(Vec<(String, JsonTemplate)>),
}

impl JsonTemplate {
    /// The paths that its templates read.
    pub fn read_paths(&self) -> Vec<Vec<String>> {
        match self {
            JsonTemplate::Constant(_) => Vec::new(),
            JsonTemplate::Leaf(template) => template.read_paths().to_vec(),
            JsonTemplate::List(items) => items.iter().flat_map(JsonTemplate::read_paths).collect(),
            JsonTemplate::Map(fields) => fields.iter().flat_map(|(_, field)| field.read_paths()).collect(),
        }
    }

    /// The value. Entries whose value is absent are left out.
    ///
    /// # Errors
    /// A template fails to render.
    pub fn render(&self, scope: &Scope) -> Result<Value, RenderError> {
        Ok(self.render_present(scope)?.unwrap_or(Value::Null))
    }

    /// The value, unless it is absent.
    ///
    /// # Errors
    /// A template fails to render.
    pub fn render_present(&self, scope: &Scope) -> Result<Option<Value>, RenderError> {
        Ok(match self {
            JsonTemplate::Constant(value) => Some(value.clone()),
            JsonTemplate::Leaf(template) => template.render(scope)?.0,
            JsonTemplate::List(items) => {
                let items: Result<Vec<_>, _> = items.iter().map(|item| item.render_present(scope)).collect();
                Some(items?.into_iter().flatten().collect())
            }
            JsonTemplate::Map(fields) => {
                let mut map = Map::new();
                for (key, field) in fields {
                    if let Some(value) = field.render_present(scope)? {
                        map.insert(key.clone(), value);
                    }
                }
                Some(Value::Object(map))
            }
        })
    }
}
