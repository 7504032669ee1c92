//! Query parameters of a URL that is already rendered.

use url::Url;
use url::form_urlencoded::{Serializer, parse};

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
