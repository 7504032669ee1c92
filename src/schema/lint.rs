//! Lints valid schemas: no value matches them, or a keyword has no effect. Other documents are not checked.

use std::cell::OnceCell;
use std::collections::HashSet;

use jsonschema::{Draft, Validator, ValidatorMap};
use serde_json::{Map, Value};

use crate::diagnostic::nearest;

use super::explain::Explainer;
use super::simple_schema::{has_declared_type, is_simple, is_valid_simple};
use super::{SchemaError, check, describe, keyword, meter, pattern};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LintKind {
    /// No value, or not the given one, can match.
    Unsatisfiable,
    /// A keyword has no effect.
    NoEffect,
}

/// A warning about a valid schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// How bad it is.
    pub kind: LintKind,
    /// Where it is, and the message.
    pub error: SchemaError,
}

/// Lints a schema without errors.
pub fn lint(schema: &Value) -> Vec<Lint> {
    if is_simple(schema) {
        return Vec::new();
    }
    let draft = keyword::draft_of(schema);
    let mut lints = Vec::new();
    let validators = OnceCell::new();
    for (pointer, inner) in keyword::subschemas(schema, draft) {
        if let Some(map) = inner.as_object() {
            let mut linting =
                Linter { root: schema, draft, pointer, schema: map, validators: &validators, lints: &mut lints };
            linting.limits();
            linting.choices();
            linting.required();
            linting.default_value();
            linting.ineffective_keywords();
            linting.format();
        }
    }
    lints
}

struct Linter<'v, 'f> {
    root: &'v Value,
    draft: Draft,
    pointer: String,
    schema: &'v Map<String, Value>,
    /// The validators of all subschemas, compiled on first use.
    validators: &'f OnceCell<Option<ValidatorMap>>,
    lints: &'f mut Vec<Lint>,
}

/// Pairs of limits; whether both may be equal.
const LIMIT_PAIRS: &[(&str, &str, bool)] = &[
    ("minimum", "maximum", true),
    ("exclusiveMinimum", "maximum", false),
    ("minimum", "exclusiveMaximum", false),
    ("exclusiveMinimum", "exclusiveMaximum", false),
    ("minLength", "maxLength", true),
    ("minItems", "maxItems", true),
    ("minContains", "maxContains", true),
    ("minProperties", "maxProperties", true),
];

/// Formats that are validated.
const CHECKED_FORMATS: &[&str] = &[
    "date", "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri",
    "uri-reference", "iri", "iri-reference", "uri-template", "uuid", "json-pointer", "relative-json-pointer", "regex",
];

/// Formats that are only annotations.
const ANNOTATION_FORMATS: &[&str] = &["password", "int32", "int64", "float", "double", "byte", "binary"];

/// Types, and the keywords that apply only to them.
const TYPE_KEYWORDS: &[(&[&str], &[&str])] = &[
    (&["number", "integer"], &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    (&["string"], &["minLength", "maxLength", "pattern", "format"]),
    (
        &["array"],
        &["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"],
    ),
    (
        &["object"],
        &[
            "properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties",
            "propertyNames", "dependentRequired", "dependentSchemas",
        ],
    ),
];

impl Linter<'_, '_> {
    fn push(&mut self, kind: LintKind, pointer_suffix: &str, message: String, help: Option<String>) {
        let error = SchemaError::new(format!("{}{pointer_suffix}", self.pointer), message).optional_help(help);
        self.lints.push(Lint { kind, error });
    }

    fn unsatisfiable(&mut self, pointer_suffix: &str, message: String) {
        self.push(LintKind::Unsatisfiable, pointer_suffix, message, None);
    }

    fn limits(&mut self) {
        for (low, high, may_be_equal) in LIMIT_PAIRS {
            let number = |name: &str| self.schema.get(name).and_then(Value::as_f64);
            let (Some(least), Some(most)) = (number(low), number(high)) else { continue };
            if least > most || (least == most && !may_be_equal) {
                let (least, most) = (self.display_name(low), self.display_name(high));
                self.unsatisfiable(&format!("/{low}"), format!("empty range: `{low}` {least}, `{high}` {most}"));
            }
        }
    }

    fn display_name(&self, name: &str) -> String {
        self.schema.get(name).map(describe::describe_value).unwrap_or_default()
    }

    fn choices(&mut self) {
        let choices = self.schema.get("enum").and_then(Value::as_array);
        let mut seen = HashSet::new();
        let most = self.lints.len() + describe::MAX_ITEM_ERRORS;
        for (index, choice) in choices.into_iter().flatten().enumerate() {
            if self.lints.len() >= most {
                break;
            }
            let pointer_suffix = format!("/enum/{index}");
            let is_duplicate = !seen.insert(choice);
            if self.check_declared_type(&pointer_suffix, choice) && is_duplicate {
                let message = format!("duplicate value {}", describe::describe_choice(choice));
                self.push(LintKind::NoEffect, &pointer_suffix, message, None);
            }
        }
        let Some(constant) = self.schema.get("const") else { return };
        if self.check_declared_type("/const", constant) && choices.is_some_and(|list| !list.contains(constant)) {
            self.unsatisfiable("/const", format!("{} is not one of `enum`", describe::describe_choice(constant)));
        }
    }

    fn check_declared_type(&mut self, pointer_suffix: &str, value: &Value) -> bool {
        let matches = has_declared_type(self.schema, value);
        if !matches {
            let message = format!("{} does not match type {}", describe::describe_choice(value), self.types());
            self.unsatisfiable(pointer_suffix, message);
        }
        matches
    }

    fn types(&self) -> String {
        let types: Vec<String> = check::declared_types(self.schema).iter().map(|name| format!("`{name}`")).collect();
        describe::join_or(&types)
    }

    fn required(&mut self) {
        let closed = self.schema.get("additionalProperties") == Some(&Value::Bool(false))
            && !self.schema.contains_key("patternProperties");
        let properties = self.schema.get("properties").and_then(Value::as_object);
        let names = self.schema.get("required").and_then(Value::as_array);
        let most = self.lints.len() + describe::MAX_ITEM_ERRORS;
        for (index, name) in names.into_iter().flatten().enumerate() {
            if self.lints.len() >= most {
                break;
            }
            let Some(name) = name.as_str() else { continue };
            if closed && properties.is_none_or(|properties| !properties.contains_key(name)) {
                let near = properties.and_then(|all| nearest(name, all.keys().map(String::as_str)));
                let help = near.map(|near| format!("did you mean `{near}`?"));
                let message =
                    format!("required property {} is neither declared nor allowed", describe::quote_name(name));
                self.push(LintKind::Unsatisfiable, &format!("/required/{index}"), message, help);
            }
        }
    }

    fn default_value(&mut self) {
        let Some(default) = self.schema.get("default") else { return };
        if !self.accepts(default) {
            self.unsatisfiable("/default", format!("invalid `default`: {}", self.broken_rules(default)));
        }
    }

    /// The rules of this schema that a value breaks.
    fn broken_rules(&self, value: &Value) -> String {
        let schema = self.root.pointer(&self.pointer).unwrap_or(self.root);
        // What is wrong elsewhere must not hide the rule.
        let alone =
            self.validator().is_none().then(|| pattern::build_subschema_validators(schema, self.draft)).flatten();
        let validator = self.validator().or_else(|| alone.as_ref()?.get("#"));
        let secrets = HashSet::new();
        let violations = validator.map(|validator| {
            let explain = || {
                let mut explainer = Explainer::new(schema, value, &secrets);
                validator.iter_errors(value).for_each(|error| explainer.explain(&error));
                explainer.finish()
            };
            meter::run_metered(meter::MAX_EXPLAIN_CHECKS, explain).unwrap_or_default()
        });
        let rules: Vec<String> = violations.into_iter().flatten().map(|violation| violation.message).collect();
        match rules.as_slice() {
            [] => format!("{} does not match its schema", describe::describe_value(value)),
            rules => rules.join(", and "),
        }
    }

    /// Whether a value matches this schema; true where that is unknown.
    fn accepts(&self, value: &Value) -> bool {
        if let Some(fits) = is_valid_simple(self.schema, value) {
            return fits;
        }
        let fits =
            |validator: &Validator| meter::run_metered(meter::MAX_CHECKS, || validator.is_valid(value)).unwrap_or(true);
        self.validator().is_none_or(fits)
    }

    /// The validator of this schema alone.
    fn validator(&self) -> Option<&Validator> {
        let all = self.validators.get_or_init(|| pattern::build_subschema_validators(self.root, self.draft));
        all.as_ref()?.get(&format!("#{}", self.pointer))
    }

    /// Keywords of other types than the declared one.
    fn ineffective_keywords(&mut self) {
        let types = check::declared_types(self.schema);
        if types.is_empty() {
            return;
        }
        for (concerned, keywords) in TYPE_KEYWORDS {
            if types.iter().any(|name| concerned.contains(name)) {
                continue;
            }
            for keyword in keywords.iter().filter(|keyword| self.schema.contains_key(**keyword)) {
                let message = format!("`{keyword}` has no effect on the type {}", self.types());
                self.push(LintKind::NoEffect, &format!("/{keyword}"), message, None);
            }
        }
    }

    fn format(&mut self) {
        let Some(name) = self.schema.get("format").and_then(Value::as_str) else { return };
        if ANNOTATION_FORMATS.contains(&name) || jsonschema::options().is_known_format(self.draft, name) {
            return;
        }
        let help = nearest(name, CHECKED_FORMATS.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        let message = format!("unknown format {} is not checked", describe::quote_name(name));
        self.push(LintKind::NoEffect, "/format", message, help);
    }
}
