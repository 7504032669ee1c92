//! Checks the URLs of URL-mode elicitation.

use url::Url;

use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::template::{RenderError, Scope, Template, UrlBase, UrlSlot};
use crate::world::is_loopback_host;
use crate::yaml::Spanned;

/// Parses the URL of a page, of the web or of this machine.
///
/// # Errors
/// The reason why users must not be sent there.
fn parse_elicitation_url(url: &str) -> Result<Url, &'static str> {
    let url = Url::parse(url).map_err(|_| "is not an absolute URL")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not contain a user name or a password");
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback_host(&url) => Ok(url),
        _ => Err("must begin with `https://`, or with `http://` and a loopback host"),
    }
}

/// Reports a URL that is invalid whatever its template values.
pub(super) fn check(
    written: &Spanned<String>,
    template: &Template<UrlSlot>,
    compiler: &mut Compiler<'_>,
) -> Option<()> {
    let own = match template.url_base() {
        UrlBase::Literal => template.source().split("{{").next().unwrap_or_default(),
        UrlBase::Relative => "",
        // Checked when it is rendered.
        UrlBase::Env(_) | UrlBase::Value(_) => return Some(()),
    };
    let Err(reason) = parse_elicitation_url(own) else { return Some(()) };
    compiler
        .error(Code::Unsafe, written.location, format!("the `url` {reason}"))
        .help("write a URL such as `https://desk.example/connect`");
    None
}

/// Renders the URL of a page.
///
/// # Errors
/// Users must not be sent to it.
pub(super) fn render(template: &Template<UrlSlot>, scope: &Scope) -> Result<String, RenderError> {
    let rendered = template.render(scope)?.text;
    let refused = |reason| {
        let variable = template.single_path().map_or_else(|| "url".to_owned(), |path| path.join("."));
        RenderError::Refused { variable, reason }
    };
    parse_elicitation_url(&rendered).map(String::from).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::parse_elicitation_url;

    #[test]
    fn only_https_and_loopback_pages_are_allowed() {
        for fine in [
            "https://desk.example/connect?x=1",
            "HTTPS://desk.example",
            "http://localhost:8080/a",
            "http://127.0.0.1/",
            "http://[::1]:1/",
        ] {
            assert!(parse_elicitation_url(fine).is_ok(), "{fine}");
        }
        for wrong in [
            "javascript:alert(1)",
            "JavaScript://desk.example/%0aalert(1)",
            " javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "vbscript:x",
            "ftp://desk.example/",
            "http://desk.example/",
            "http://localhost.evil.example/",
            "http://localhost@evil.example/",
            "https://desk.example@evil.example/",
            "//desk.example/",
            "/connect",
            "desk.example",
            "https://",
            "",
        ] {
            assert!(parse_elicitation_url(wrong).is_err(), "{wrong}");
        }
        let odd = parse_elicitation_url(" ht\ttps://desk.example").map(String::from);
        assert_eq!(odd.as_deref(), Ok("https://desk.example/"), "what was judged is what is sent");
    }
}
