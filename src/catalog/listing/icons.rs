//! Checks icons, and turns them into the form that clients see.

use crate::catalog::listing::Icon;
use crate::compile::{Compiler, check_mime_type};
use crate::diagnostic::Code;
use crate::value_types;
use crate::yaml::{Location, Spanned};

/// Icons as clients see them.
pub(in crate::catalog) fn listed_icons(icons: Option<&[value_types::Icon]>) -> Vec<Icon> {
    icons
        .unwrap_or_default()
        .iter()
        .map(|icon| Icon {
            src: icon.src.as_ref().map(|src| src.value.clone()).unwrap_or_default(),
            mime_type: icon.mime_type.clone(),
            sizes: icon.sizes.clone().unwrap_or_default(),
            theme: icon.theme,
        })
        .collect()
}

/// Checks the sources, types and sizes of icons.
pub(in crate::catalog) fn check_icons(icons: Option<&[value_types::Icon]>, at: Location, compiler: &mut Compiler<'_>) {
    for (nth, icon) in icons.unwrap_or_default().iter().enumerate() {
        let place = |key: &str, compiler: &Compiler<'_>| {
            compiler.load_context.documents.value_at(at, &format!("/icons/{nth}/{key}"))
        };
        let mime_type = icon.mime_type.clone().map(|text| Spanned::new(text, place("mimeType", compiler)));
        check_mime_type(mime_type.as_ref(), compiler);
        let is_number = |text: &str| !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit());
        let is_size = |text: &str| {
            text == "any" || text.split_once('x').is_some_and(|(width, height)| is_number(width) && is_number(height))
        };
        for size in icon.sizes.iter().flatten().filter(|size| !is_size(size)) {
            let message = format!("invalid icon size `{size}`");
            compiler
                .warning(Code::BadValue, place("sizes", compiler), message)
                .help("use a size such as `48x48`, or `any`");
        }
        match &icon.src {
            None => {
                let place = compiler.load_context.documents.value_at(at, &format!("/icons/{nth}"));
                compiler.error(Code::MissingKey, place, "missing key `src` in icon");
            }
            Some(src) if !src.starts_with("https:") && !src.starts_with("data:") => {
                compiler.error(Code::BadValue, src.location, "invalid icon `src`, expected an `https:` or `data:` URI");
            }
            Some(_) => {}
        }
    }
}
