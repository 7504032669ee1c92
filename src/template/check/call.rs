//! Checks calls of helpers.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

use super::Checker;
use super::frame::TypedValue;
use crate::diagnostic::{Code, quote_names};
use crate::template::error::{AlteredValue, ComparedValues, TemplateError};
use crate::template::helper::{
    HelperForm, ParamKind, SIGNATURES, SecretUse, Signature, compile_pattern, find_signature, is_time_zone,
    is_uuid_version, is_valid_format,
};
use crate::template::shape::{Shape, element_shape, field_shape};
use crate::template::syntax::{CallNode, Expression, Ident};

impl<'a> Checker<'a> {
    /// The value of an expression, which is not read yet.
    pub(super) fn expression(&mut self, expression: &'a Expression) -> TypedValue<'a> {
        match expression {
            Expression::Path(path) => self.path(path),
            Expression::Literal(value, _) => TypedValue::computed(Shape::from_value(value)),
            Expression::Call(call) => {
                let known =
                    if self.enter_nesting(&call.helper) { Some(self.call(call, HelperForm::Inline)) } else { None };
                self.depth -= 1;
                known.unwrap_or_else(|| TypedValue::computed(Shape::Any))
            }
        }
    }

    /// The value of an expression, which is read as a whole.
    pub(super) fn read_expression(&mut self, expression: &'a Expression) -> TypedValue<'a> {
        let value = self.expression(expression);
        self.mark_read(&value);
        value
    }

    /// Checks a call of a helper, and returns its value.
    pub(super) fn call(&mut self, call: &'a CallNode, form: HelperForm) -> TypedValue<'a> {
        let Some(signature) = find_signature(&call.helper.text) else {
            self.report_unknown_helper(call, form);
            call.arguments.values().for_each(|value| _ = self.read_expression(value));
            return TypedValue::computed(Shape::Any);
        };
        self.check_form(call, signature, form);
        if self.report_missing_parentheses(call, signature) {
            return TypedValue::computed(Shape::Any);
        }
        if call.helper.text == "lookup" && call.arguments.params.len() == 2 {
            return self.lookup(call);
        }
        let values: Vec<TypedValue<'a>> =
            call.arguments.params.iter().map(|param| self.read_expression(param)).collect();
        self.check_param_count(call, signature);
        for (index, (param, value)) in call.arguments.params.iter().zip(&values).enumerate() {
            if let Some(kind) = signature.param_kind(index) {
                self.check_param_kind(&call.helper, kind, param, value);
            }
        }
        self.check_options(call, signature);
        self.record_secret_use(call, signature, &values);
        self.check_time_format(call);
        self.check_literals(call);
        self.returned_value(signature, &values)
    }

    fn report_unknown_helper(&mut self, call: &CallNode, form: HelperForm) {
        let name = &call.helper.text;
        let error = self.error(&call.helper.span, Code::UnknownHelper, format!("unknown helper `{name}`"));
        let error = if form == HelperForm::Block && self.is_variable(name) {
            error.help(format!("use `{{{{#each {name}}}}}` to loop over it, `{{{{#if {name}}}}}` to test it"))
        } else {
            suggest_helper(error, name)
        };
        self.report(error);
    }

    fn check_form(&mut self, call: &CallNode, signature: &Signature, form: HelperForm) {
        let name = signature.doc.name;
        let message = match (signature.form, form) {
            (HelperForm::Block, HelperForm::Inline) => format!("`{name}` is a block helper"),
            (HelperForm::Inline, HelperForm::Block) => format!("`{name}` is not a block helper"),
            _ => return,
        };
        self.report(
            self.error(&call.helper.span, Code::HelperArgument, message)
                .help(format!("write `{}`", signature.doc.usage)),
        );
    }

    /// `{{#if not x}}` for `{{#if (not x)}}`: the name of a helper where a value is due, and its arguments after it.
    fn report_missing_parentheses(&mut self, call: &'a CallNode, signature: &Signature) -> bool {
        let params = &call.arguments.params;
        let (Some(Expression::Path(path)), Some(last)) = (params.first(), params.last()) else { return false };
        let Some(inner) = path.single_name().filter(|name| find_signature(&name.text).is_some()) else { return false };
        let is_full =
            signature.variadic.is_none() && params.len() > signature.required.len() + signature.optional.len();
        if !is_full || self.is_variable(&inner.text) || !params.iter().all(|param| matches!(param, Expression::Path(_)))
        {
            return false;
        }
        let names = params.iter().filter_map(|param| self.current_text.text.get(param.span()));
        let meant = format!("({})", names.collect::<Vec<_>>().join(" "));
        let span = path.span.start..last.span().end;
        let message = format!("missing parentheses around helper `{}`", inner.text);
        self.report(self.error(&span, Code::HelperArgument, message).help(format!("write `{meant}`")).certain(meant));
        params.iter().skip(1).for_each(|param| _ = self.read_expression(param));
        true
    }

    fn check_param_count(&mut self, call: &'a CallNode, signature: &'static Signature) {
        let most = signature.required.len() + signature.optional.len();
        let span = match call.arguments.params.get(most) {
            _ if call.arguments.params.len() < signature.required.len() => call.helper.span.clone(),
            Some(extra) if signature.variadic.is_none() => extra.span(),
            _ => return,
        };
        let wanted = match (signature.required.len(), most, signature.variadic) {
            (least, _, Some(_)) => format!("at least {least}"),
            (least, most, None) if least == most => most.to_string(),
            (least, most, None) => format!("{least} or {most}"),
        };
        let arguments = if wanted == "1" { "argument" } else { "arguments" };
        let supplied = if call.arguments.params.len() == 1 {
            "1 was".to_owned()
        } else {
            format!("{} were", call.arguments.params.len())
        };
        let message = format!("`{}` takes {wanted} {arguments} but {supplied} supplied", signature.doc.name);
        self.report(self.error(&span, Code::HelperArgument, message).help(format!("write `{}`", signature.doc.usage)));
    }

    fn check_param_kind(&mut self, helper: &Ident, kind: ParamKind, param: &Expression, value: &TypedValue<'a>) {
        if kind.accepts(&value.shape) {
            return;
        }
        let span = param.span();
        let shown = self.current_text.text.get(span.clone()).unwrap_or_default();
        let message = format!(
            "mismatched type: `{}` expects {}, `{shown}` is {}",
            helper.text,
            kind.describe(),
            value.shape.describe()
        );
        let error = self.error(&span, Code::HelperArgument, message);
        let error = match (kind, value.shape.as_ref()) {
            (ParamKind::Text, Shape::List(_)) => {
                error.help("use `join` to turn a list into text, or `json` for any value")
            }
            (ParamKind::Text, shape) if shape.is_object() => error.help("use `json` to turn an object into text"),
            (ParamKind::List | ParamKind::Collection, Shape::Text) => {
                error.help("use `lines` or `split` to turn text into a list")
            }
            (ParamKind::Number, Shape::Text) if value.origin.as_deref().is_some_and(is_output) => {
                let owner = value.origin.as_deref().and_then(<[String]>::split_last).map(|(_, owner)| owner.join("."));
                let json = owner.filter(|owner| !owner.is_empty()).map_or_else(|| "json".into(), |own| own + ".json");
                error.help(format!("use `{json}`, the value of the output"))
            }
            (ParamKind::Number, Shape::Text) => {
                error.help("declare it with `type: integer`, or write the number without quotes")
            }
            _ => error,
        };
        self.report(error);
    }

    fn check_options(&mut self, call: &'a CallNode, signature: &'static Signature) {
        for (index, (name, value)) in call.arguments.options.iter().enumerate() {
            let values = self.read_expression(value);
            if signature.secrets != SecretUse::Keeps {
                self.record_altered(&call.helper, value, &values);
            }
            if call.arguments.options.iter().take(index).any(|(other, _)| other.text == name.text) {
                self.report_duplicate_option(name);
            }
            match signature.options.iter().find(|(known, _)| *known == name.text) {
                Some((_, kind)) => self.check_param_kind(name, *kind, value, &values),
                None => {
                    let message = format!("unknown option `{}` of `{}`", name.text, signature.doc.name);
                    self.report(
                        self.error(&name.span, Code::HelperArgument, message)
                            .did_you_mean(&name.text, signature.options.iter().map(|(known, _)| *known)),
                    );
                }
            }
        }
    }

    pub(super) fn report_duplicate_option(&mut self, name: &Ident) {
        self.report(self.error(&name.span, Code::Duplicate, format!("duplicate option `{}`", name.text)));
    }

    /// Checks a literal strftime format.
    fn check_time_format(&mut self, call: &'a CallNode) {
        let index = match call.helper.text.as_str() {
            "now" => 0,
            "date" => 1,
            _ => return,
        };
        let Some(Expression::Literal(Value::String(format), span)) = call.arguments.params.get(index) else { return };
        if !is_valid_format(format) {
            self.report(
                self.error(span, Code::HelperArgument, "invalid strftime format")
                    .help("write a format such as `%Y-%m-%d` or `%H:%M`"),
            );
        }
    }

    /// Checks a literal regular expression, time zone or version.
    fn check_literals(&mut self, call: &'a CallNode) {
        let literal = |value: &'a Expression| match value {
            Expression::Literal(value, span) => Some((value, span)),
            _ => None,
        };
        let param = |index: usize| call.arguments.params.get(index).and_then(literal);
        let zone =
            call.arguments.options.iter().find(|(name, _)| name.text == "tz").and_then(|(_, zone)| literal(zone));
        let (wrong, message, help) = match (call.helper.text.as_str(), zone) {
            ("matches", _) => {
                let is_wrong = |value: &Value| value.as_str().is_some_and(|text| compile_pattern(text).is_none());
                let wrong = param(1).filter(|(value, _)| is_wrong(value));
                (wrong, "invalid or too large regular expression", "write an expression such as `^v[0-9]+$`")
            }
            ("uuid", _) => {
                let wrong = param(0).filter(|(value, _)| !is_uuid_version(value));
                (wrong, "unknown version of UUID", "write `{{uuid 4}}` or `{{uuid 7}}`")
            }
            ("now" | "date", zone) => {
                let wrong = zone.filter(|(value, _)| !value.as_str().is_some_and(is_time_zone));
                (wrong, "unknown time zone", "write a name of the IANA database, such as `Europe/Berlin`")
            }
            _ => return,
        };
        if let Some((_, span)) = wrong {
            self.report(self.error(span, Code::HelperArgument, message).help(help));
        }
    }

    /// A literal name reads one field; any other reads the whole object.
    fn lookup(&mut self, call: &'a CallNode) -> TypedValue<'a> {
        let [object, key] = call.arguments.params.as_slice() else { return TypedValue::computed(Shape::Any) };
        let object = self.expression(object);
        let Expression::Literal(Value::String(name), _) = key else {
            self.mark_read(&object);
            let key = self.read_expression(key);
            let element = TypedValue::derived_from(element_shape(&object.shape), &object);
            self.record_comparison(call, &[object, key]);
            return element;
        };
        self.mark_required(&object);
        if !object.shape.is_object() {
            self.mark_read(&object);
            return TypedValue::derived_from(Cow::Owned(Shape::Any), &object);
        }
        let shape = field_shape(&object.shape, name).unwrap_or(Cow::Owned(Shape::Any));
        let mut element = TypedValue::field_of(shape, &object, name);
        element.source_paths.extend(object.argument_paths);
        element
    }

    /// Records what a helper makes of secrets.
    fn record_secret_use(&mut self, call: &'a CallNode, signature: &Signature, values: &[TypedValue<'a>]) {
        match signature.secrets {
            SecretUse::Keeps => {}
            SecretUse::Compares => self.record_comparison(call, values),
            SecretUse::Alters => {
                for (param, value) in call.arguments.params.iter().zip(values) {
                    self.record_altered(&call.helper, param, value);
                }
            }
        }
    }

    /// Records the values that a helper changes.
    fn record_altered(&mut self, helper: &Ident, param: &Expression, value: &TypedValue<'a>) {
        let span = self.span(param.span());
        let new = value.paths().map(|path| AlteredValue {
            path: path.clone(),
            helper: helper.text.clone(),
            span: span.clone(),
        });
        self.outcome.altered.extend(new);
    }

    /// Records a comparison of `env` with what a caller or a step may choose.
    fn record_comparison(&mut self, call: &CallNode, values: &[TypedValue<'a>]) {
        let paths: Vec<Vec<String>> = values.iter().flat_map(TypedValue::paths).cloned().collect();
        let is_fixed = |path: &[String]| path.first().is_some_and(|head| head == "env" || head == "server");
        if paths.iter().any(|path| is_env_path(path)) && paths.iter().any(|path| !is_fixed(path)) {
            let span = self.span(call.helper.span.clone());
            self.outcome.compared.push(ComparedValues { paths, helper: call.helper.text.clone(), span });
        }
    }

    fn returned_value(&self, signature: &Signature, values: &[TypedValue<'a>]) -> TypedValue<'a> {
        let shape = match (signature.doc.name, values) {
            ("first" | "last", [list]) => element_shape(&list.shape),
            ("first" | "last", [list, _]) | ("slice", [list, ..]) | ("sort" | "unique" | "reverse", [list, ..]) => {
                list.shape.clone()
            }
            ("default", [first, rest @ ..]) if rest.iter().all(|other| other.shape == first.shape) => {
                first.shape.clone()
            }
            _ => Cow::Owned(signature.returns.shape()),
        };
        // The manifest has the names of what is secret. A number or a boolean may tell of a secret that it is made of.
        let holds = signature.doc.name != "keys";
        let paths = values.iter().flat_map(TypedValue::paths).filter(|path| holds || !is_env_path(path));
        let source_paths = paths.collect::<BTreeSet<_>>().into_iter().cloned().collect();
        TypedValue { source_paths, ..TypedValue::with_origin(shape, None) }
    }
}

/// Whether a value is of `env`, or contains it.
pub(super) fn is_env_path(path: &[String]) -> bool {
    path.first().is_none_or(|head| head == "env")
}

/// What other languages call helpers.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("length", "len"),
    ("size", "len"),
    ("count", "len"),
    ("uppercase", "upper"),
    ("toUpperCase", "upper"),
    ("upcase", "upper"),
    ("lowercase", "lower"),
    ("toLowerCase", "lower"),
    ("downcase", "lower"),
    ("strip", "trim"),
    ("includes", "contains"),
    ("has", "contains"),
    ("test", "matches"),
    ("match", "matches"),
    ("substring", "slice"),
    ("substr", "slice"),
    ("plus", "add"),
    ("minus", "sub"),
    ("subtract", "sub"),
    ("multiply", "mul"),
    ("times", "mul"),
    ("divide", "div"),
    ("modulo", "mod"),
    ("uniq", "unique"),
    ("distinct", "unique"),
    ("append", "concat"),
    ("encodeURIComponent", "urlencode"),
    ("uriEncode", "urlencode"),
    ("sha256", "hash"),
    ("b64enc", "base64"),
    ("toJSON", "json"),
    ("stringify", "json"),
    ("formatDate", "date"),
    ("strftime", "date"),
    ("today", "now"),
    ("toFixed", "number"),
    ("format", "number"),
    ("get", "lookup"),
];

/// How many helpers an error lists.
const MAX_LISTED_HELPERS: usize = 4;

fn suggest_helper(error: TemplateError, name: &str) -> TemplateError {
    let known = OTHER_NAMES.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
    if let Some((_, helper)) = known {
        return error.help(format!("did you mean `{helper}`?")).replacement(*helper);
    }
    let error = error.did_you_mean(name, SIGNATURES.iter().map(|signature| signature.doc.name));
    if error.help.is_some() {
        return error;
    }
    let lower = name.to_lowercase();
    let is_near = |helper: &&str| {
        let helper = helper.to_lowercase();
        helper.len() > 2 && lower.contains(&helper) || lower.len() > 2 && helper.contains(&lower)
    };
    let near: Vec<&str> =
        SIGNATURES.iter().map(|signature| signature.doc.name).filter(is_near).take(MAX_LISTED_HELPERS).collect();
    match near.is_empty() {
        true => error,
        false => error.help(format!("there are {}", quote_names(&near))),
    }
}

/// Whether a path is the output of a step as text.
fn is_output(path: &[String]) -> bool {
    path.last().is_some_and(|last| matches!(last.as_str(), "stdout" | "body"))
        && path.first().is_some_and(|first| matches!(first.as_str(), "steps" | "result"))
}
