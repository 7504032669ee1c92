//! `file` of a variable: its value in a file, such as a mounted secret.

use std::path::Path;

use crate::compile::{LoadContext, TILDE_HELP};
use crate::diagnostic::{Code, without_byte_order_mark};
use crate::files::{FileError, Folder};
use crate::yaml::Spanned;

/// The most bytes of a value.
const MAX_VALUE_BYTES: u64 = 64 << 10;

/// How often a file is opened: a mounted secret that is replaced meanwhile is gone for a moment.
const OPEN_ATTEMPTS: usize = 3;

/// Reads the value of a variable, or reports why it cannot be read. The file is watched either way.
pub(super) fn read_variable(path: &Spanned<String>, load_context: &mut LoadContext) -> Option<String> {
    let (file, place) = (Path::new(path.as_str()), path.location.span());
    if file.starts_with("~") {
        load_context.error(Code::NotFound, place, format!("no such file or folder: `{}`", path.value)).help(TILDE_HELP);
        return None;
    }
    if !file.is_absolute() {
        load_context
            .error(Code::BadValue, place, format!("relative path `{}` of a secret", path.value))
            .help("write an absolute path, such as `/run/secrets/token`");
        return None;
    }
    load_context.dependencies.files.insert(file.to_owned());
    let bytes = match read(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            let code = match error {
                FileError::NotFound(_) | FileError::IsFolder(_) | FileError::NotAFile(_) => Code::NotFound,
                FileError::TooLarge { .. } => Code::TooLarge,
                _ => Code::Unreadable,
            };
            load_context.error(code, place, error.to_string());
            return None;
        }
    };
    let Ok(text) = String::from_utf8(bytes) else {
        load_context.error(Code::Encoding, place, format!("file `{}` is not UTF-8", path.value));
        return None;
    };
    let value = without_byte_order_mark(&text).trim_end_matches(['\r', '\n']);
    if value.is_empty() {
        load_context.error(Code::BadValue, place, format!("file `{}` is empty", path.value));
        return None;
    }
    Some(value.to_owned())
}

fn read(file: &Path) -> Result<Vec<u8>, FileError> {
    let attempt = || Folder::read_anywhere(file, MAX_VALUE_BYTES);
    let is_over = |outcome: &Result<Vec<u8>, FileError>| !matches!(outcome, Err(FileError::NotFound(_)));
    std::iter::repeat_with(attempt).take(OPEN_ATTEMPTS).find(is_over).unwrap_or_else(attempt)
}
