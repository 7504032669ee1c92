//! Parameters of queries and forms.

use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize, parse};

use crate::action::ActionError;
use crate::action::literal_credential::warn_literal_field;
use crate::compile::{Compiler, Exposure};
use crate::template::{QuerySlot, Scope, Template};
use crate::value_types::{NamedMap, OneOrMany};
use crate::yaml::Spanned;

use super::send::is_absent;

/// A parameter of a query or form, with its templates.
pub(super) struct QueryParameter {
    name: String,
    values: Vec<ParameterValue>,
}

struct ParameterValue {
    template: Template<QuerySlot>,
    /// The list, where it is exactly one `join` of it.
    joined: Option<JoinedValue>,
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
            let values: Vec<_> = texts.iter().map(|text| ParameterValue::compile(text, compiler)).collect();
            let values: Option<Vec<_>> = values.into_iter().collect();
            all.push(values.map(|values| QueryParameter { name: name.value.clone(), values }));
        }
        all.into_iter().collect()
    }

    /// The paths that parameters read.
    pub(super) fn read_paths(parameters: &[QueryParameter]) -> Vec<Vec<String>> {
        let values = parameters.iter().flat_map(|parameter| &parameter.values);
        values.flat_map(|value| value.template.read_paths().to_vec()).collect()
    }

    /// The parameters as `application/x-www-form-urlencoded`. A template of which every value is absent is left out.
    pub(super) fn encode_all(parameters: &[QueryParameter], scope: &Scope) -> Result<String, ActionError> {
        let mut pairs = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            for value in parameter.values.iter().filter(|value| !is_absent(&value.template, scope)) {
                let name = encode(&parameter.name);
                pairs.extend(value.encode(scope)?.into_iter().map(|value| format!("{name}={value}")));
            }
        }
        Ok(pairs.join("&"))
    }
}

impl ParameterValue {
    fn compile(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<ParameterValue> {
        let template: Template<QuerySlot> = compiler.template(text, Exposure::Private)?;
        let joined = match template.joined_list() {
            Some(joined) => Some(JoinedValue {
                list: compiler.template(&Spanned::new(joined.list.clone(), text.location), Exposure::Private)?,
                delimiter: joined.delimiter.chars().map(encode_delimiter).collect(),
                omits_empty: joined.omits_empty,
            }),
            None => None,
        };
        Some(ParameterValue { template, joined })
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
