//! Query parameters of a URL that is already rendered.

use url::Url;

/// Replaces a query parameter by these values. The others stay as they are written, unless the URL has the parameter.
pub(super) fn set_query_parameter(url: &mut Url, name: &str, values: impl IntoIterator<Item = String>) {
    if url.query_pairs().any(|(key, _)| key == name) {
        let others = url.query_pairs().filter(|(key, _)| key != name);
        let others: Vec<_> = others.map(|(key, value)| (key.into_owned(), value.into_owned())).collect();
        url.query_pairs_mut().clear().extend_pairs(others);
    }
    let values = values.into_iter().map(|value| (name, value));
    url.query_pairs_mut().extend_pairs(values);
}
