//! Finds what a reader of a pack does not see: characters that are not shown, and files that are elsewhere.

use super::tree::PackTree;

/// How the pointer to a file of Git LFS begins.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// No pointer is larger.
const MAX_POINTER_BYTES: usize = 1024;

/// What is suspicious about files, one line each.
pub fn suspicious_files(tree: &PackTree) -> Vec<String> {
    tree.files().filter_map(|(path, bytes)| describe(path, bytes)).collect()
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

/// Whether a character is a tag, or changes the direction of a text.
fn is_hidden(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}
