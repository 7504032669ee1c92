//! Parameters of queries and forms.
//!
//! A name that ends in `[*]` takes the fields of an object and the elements of a list, each by its place in brackets.

use serde_json::{Map, Value};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize, parse};

use crate::action::ActionError;
use crate::action::literal_credential::warn_literal_field;
use crate::compile::{Compiler, Exposure};
use crate::template::{JsonSlot, QuerySlot, Scope, Template, value_to_text};
use crate::value_types::{NamedMap, OneOrMany};
use crate::yaml::Spanned;

use super::send::is_absent;

/// A parameter of a query or form, with its templates.
pub(super) struct QueryParameter {
    name: String,
    values: Vec<ParameterValue>,
}

/// The end of a name whose value is written field by field.
const BRACKETS_SUFFIX: &str = "[*]";

struct ParameterValue {
    template: Template<QuerySlot>,
    /// The list, where it is exactly one `join` of it.
    joined: Option<JoinedValue>,
    /// The value as it is, where it is written field by field.
    nested: Option<Template<JsonSlot>>,
}

/// A list in one value, whose delimiter is not encoded: it is not part of the elements.
struct JoinedValue {
    list: Template<QuerySlot>,
    delimiter: String,
    /// Whether a list without elements is left out.
    omits_empty: bool,
}

impl QueryParameter {
    /// Compiles `query` or `form`.
    pub(super) fn compile_all(
        parameters: &NamedMap<OneOrMany>,
        compiler: &mut Compiler<'_>,
    ) -> Option<Vec<QueryParameter>> {
        let mut all = Vec::with_capacity(parameters.len());
        for (name, values) in parameters {
            let texts: Vec<Spanned<String>> = values.items().iter().map(|value| value.to_text()).collect();
            texts.iter().for_each(|text| warn_literal_field(name, text, compiler));
            let prefix = name.value.strip_suffix(BRACKETS_SUFFIX);
            let values: Vec<_> =
                texts.iter().map(|text| ParameterValue::compile(text, prefix.is_some(), compiler)).collect();
            let values: Option<Vec<_>> = values.into_iter().collect();
            let name = prefix.unwrap_or(&name.value).to_owned();
            all.push(values.map(|values| QueryParameter { name, values }));
        }
        all.into_iter().collect()
    }

    /// The paths that parameters read.
    pub(super) fn read_paths(parameters: &[QueryParameter]) -> Vec<Vec<String>> {
        let values = parameters.iter().flat_map(|parameter| &parameter.values);
        values.flat_map(|value| value.template.read_paths().to_vec()).collect()
    }

    /// The paths that stand by themselves in parameters.
    pub(super) fn plain_variables(parameters: &[QueryParameter]) -> Vec<&[String]> {
        let values = parameters.iter().flat_map(|parameter| &parameter.values);
        values.flat_map(|value| value.template.plain_variables()).collect()
    }

    /// The parameters as `application/x-www-form-urlencoded`. A template of which every value is absent is left out.
    ///
    /// # Errors
    /// A template fails, or a field of `[*]` has the name of another parameter, or of one in `url_query`: a value may add
    /// parameters and not replace those of the request, such as a key or a filter.
    pub(super) fn encode_all(
        parameters: &[QueryParameter],
        url_query: &str,
        scope: &Scope,
    ) -> Result<String, ActionError> {
        let mut pairs = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            for value in parameter.values.iter().filter(|value| !is_absent(&value.template, scope)) {
                if let Some(nested) = &value.nested {
                    let value = nested.render(scope)?.0;
                    if let (true, Some(Value::Object(fields))) = (parameter.name.is_empty(), &value) {
                        check_new_names(fields, parameters, url_query)?;
                    }
                    value.iter().for_each(|value| push_nested(&parameter.name, value, &mut pairs));
                    continue;
                }
                let name = encode(&parameter.name);
                pairs.extend(value.encode(scope)?.into_iter().map(|value| format!("{name}={value}")));
            }
        }
        Ok(pairs.join("&"))
    }
}

impl ParameterValue {
    fn compile(text: &Spanned<String>, is_nested: bool, compiler: &mut Compiler<'_>) -> Option<ParameterValue> {
        let template: Template<QuerySlot> = compiler.template(text, Exposure::Request)?;
        let joined = match template.joined_list() {
            Some(joined) => Some(JoinedValue {
                list: compiler.template(&Spanned::new(joined.list.clone(), text.location), Exposure::Request)?,
                delimiter: joined.delimiter.chars().map(encode_delimiter).collect(),
                omits_empty: joined.omits_empty,
            }),
            None => None,
        };
        let nested = match is_nested {
            true => Some(compiler.template(text, Exposure::Request)?),
            false => None,
        };
        Some(ParameterValue { template, joined, nested })
    }

    fn encode(&self, scope: &Scope) -> Result<Vec<String>, ActionError> {
        let Some(joined) = &self.joined else {
            return Ok(self.template.render(scope)?.0.iter().map(|value| encode(value)).collect());
        };
        let elements: Vec<String> = joined.list.render(scope)?.0.iter().map(|element| encode(element)).collect();
        let text = elements.join(&joined.delimiter);
        Ok(if joined.omits_empty && text.is_empty() { Vec::new() } else { vec![text] })
    }
}

/// Servers read `key`, `key[]` and `key[a]` as one parameter, some also `KEY`.
fn check_new_names(
    fields: &Map<String, Value>,
    parameters: &[QueryParameter],
    url_query: &str,
) -> Result<(), ActionError> {
    let first_part = |name: &str| name.split('[').next().unwrap_or_default().trim().to_lowercase();
    let in_url: Vec<_> = parse(url_query.as_bytes()).map(|(name, _)| first_part(&name)).collect();
    let is_taken = |name: &str| {
        in_url.iter().any(|other| other == name)
            || parameters.iter().any(|parameter| !parameter.name.is_empty() && first_part(&parameter.name) == name)
    };
    match fields.keys().find(|key| is_taken(&first_part(key))) {
        Some(key) => {
            Err(ActionError::BadArgument(format!("the request itself has the parameter `{key}`: leave this field out")))
        }
        None => Ok(()),
    }
}

/// Adds a value under a name: the parts of an object or a list by their places, `name[field][0]`. Without a name the
/// fields have their own.
fn push_nested(name: &str, value: &Value, pairs: &mut Vec<String>) {
    let place = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}[{key}]") };
    match value {
        Value::Null => {}
        Value::Object(fields) => fields.iter().for_each(|(key, field)| push_nested(&place(key), field, pairs)),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| push_nested(&place(&index.to_string()), item, pairs));
        }
        scalar => pairs.push(format!("{}={}", encode(name), encode(&value_to_text(scalar)))),
    }
}

fn encode(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

/// What may stand in a query as it is (RFC 3986, 3.4), and means nothing in a form.
fn encode_delimiter(character: char) -> String {
    match character {
        ',' | ':' | '/' | '@' | '!' | '$' | '(' | ')' => character.to_string(),
        character => encode(character.encode_utf8(&mut [0; 4])),
    }
}

/// Adds parameters that are encoded to a URL. Those that it has stay as they are written.
pub(super) fn add_query(url: &mut Url, encoded: &str) {
    if encoded.is_empty() {
        return;
    }
    let query = match url.query().filter(|query| !query.is_empty()) {
        Some(query) => format!("{query}&{encoded}"),
        None => encoded.to_owned(),
    };
    url.set_query(Some(&query));
}

/// Replaces a query parameter by these values. The others stay as they are written.
pub(super) fn set_query_parameter(url: &mut Url, name: &str, values: impl IntoIterator<Item = String>) {
    let mut new = Serializer::new(String::new());
    new.extend_pairs(values.into_iter().map(|value| (name, value)));
    let is_other = |pair: &&str| parse(pair.as_bytes()).next().is_none_or(|(key, _)| key != name);
    let others = url.query().into_iter().flat_map(|query| query.split('&')).filter(is_other);
    let query = others.map(str::to_owned).chain([new.finish()]).filter(|pair| !pair.is_empty());
    let query = query.collect::<Vec<_>>().join("&");
    url.set_query(Some(query.as_str()).filter(|query| !query.is_empty()));
}
