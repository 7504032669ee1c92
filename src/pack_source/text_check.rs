//! Finds what a reader of a pack does not see: characters that are not shown, and files that are elsewhere.

use super::tree::PackTree;

/// How the pointer to a file of Git LFS begins.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// No pointer is larger.
const MAX_POINTER_BYTES: usize = 1024;

/// What is suspicious about files, one line each.
pub fn suspicious_files(tree: &PackTree) -> Vec<String> {
    tree.files().flat_map(|(path, bytes)| [hidden_in_name(path), describe(path, bytes)]).flatten().collect()
}

fn hidden_in_name(path: &str) -> Option<String> {
    let hidden = path.chars().find(|character| is_hidden(*character))?;
    let shown: String = path.chars().filter(|character| !is_hidden(*character)).collect();
    Some(format!("the name of `{shown}` contains hidden Unicode (U+{:04X})", u32::from(hidden)))
}

fn describe(path: &str, bytes: &[u8]) -> Option<String> {
    if bytes.starts_with(LFS_POINTER) && bytes.len() <= MAX_POINTER_BYTES {
        return Some(format!("`{path}` is a pointer of Git LFS: the file itself is not in the repository"));
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let (at, hidden) = text.char_indices().find(|(_, character)| is_hidden(*character))?;
    let line = text.get(..at)?.matches('\n').count() + 1;
    Some(format!("`{path}:{line}` contains hidden Unicode (U+{:04X})", u32::from(hidden)))
}

/// Whether a character is a tag, changes the direction of a text, or stands for nothing that is shown. Joiners, marks of
/// direction and the selectors of emoji belong to scripts; the supplementary selectors can hold any text.
fn is_hidden(character: char) -> bool {
    let changes_direction = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_tag = matches!(character, '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}');
    let is_blank = matches!(character, '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{3164}');
    changes_direction || is_tag || is_blank
}

#[cfg(test)]
mod tests {
    use super::is_hidden;

    #[test]
    fn invisible_characters_are_detected() {
        for hidden in ['\u{e0041}', '\u{e0100}', '\u{200b}', '\u{202e}', '\u{2066}', '\u{2063}', '\u{3164}'] {
            assert!(is_hidden(hidden), "{}", hidden.escape_unicode());
        }
        for shown in ['a', ' ', '\n', '\u{200d}', '\u{fe0f}', '\u{200f}', '\u{feff}', '\u{a0}', '👩'] {
            assert!(!is_hidden(shown), "{}", shown.escape_unicode());
        }
    }
}
