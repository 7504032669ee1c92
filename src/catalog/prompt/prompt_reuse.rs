//! Which prompts of an earlier catalog stand for those of a new one: those whose compilation reads the same.
//!
//! A key has all that the compilation of a plain prompt reads: its own source, and what it sees of its pack. A prompt that
//! reads files, runs something or is reported has none, and is compiled each time.

use crate::catalog::entry::add_source;
use crate::compile::{Compiler, Pack};
use crate::diagnostic::SourceMap;
use crate::digest::Digest;
use crate::load::LoadedPack;
use crate::manifest::{Argument, Prompt};
use crate::value_types::TextOrFile;
use crate::yaml::Spanned;

/// All that the compilation of a prompt reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::catalog) struct PromptKey([u8; 32]);

/// The beginning of the keys of the prompts of a pack.
pub(in crate::catalog) struct PackKey(Digest);

impl PackKey {
    /// What prompts see of their pack. Runs alone see what is left out, and the engine is made of the partials.
    pub(in crate::catalog) fn new(loaded: &LoadedPack, sources: &SourceMap) -> PackKey {
        let Pack {
            folder: _,
            display_prefix,
            engine: _,
            partials,
            grants,
            // Confirms grants, which are those above.
            locked: _,
            sandboxes: _,
            env,
            server,
            connections: _,
            folders: _,
            workspace,
            fixed_time,
            search_path,
        } = &loaded.pack;
        let seen = format!("{:?}", (display_prefix, grants, env, server, workspace, fixed_time, search_path));
        let mut digest = Digest::new("prompts of a pack").chain_update(seen.as_bytes());
        for (name, file) in partials {
            digest.update(name.as_bytes());
            digest.update(sources.get(*file).map_or(b"", |source| source.text().as_bytes()));
        }
        PackKey(digest)
    }

    /// The key of a prompt, with its name for clients; `None` if it must be compiled.
    pub(in crate::catalog) fn prompt(
        &self,
        name: &str,
        prompt: &Spanned<Prompt>,
        compiler: &Compiler<'_>,
    ) -> Option<PromptKey> {
        if !is_plain(prompt) || compiler.load_context.coverage.is_some() {
            return None;
        }
        let mut digest = self.0.clone().chain_update(name.as_bytes());
        digest.update(compiler.base.as_os_str().as_encoded_bytes());
        add_source(prompt.location, compiler.load_context, &mut digest);
        Some(PromptKey(digest.finish()))
    }
}

/// Whether a prompt is a text with arguments.
fn is_plain(prompt: &Prompt) -> bool {
    let Prompt { title: _, description: _, arguments, text, messages, run, timeout: _, max_output: _, icons, meta: _ } =
        prompt;
    let is_text = text.as_ref().is_some_and(|text| matches!(text.value, TextOrFile::Text(_)));
    let is_simple = |argument: &Argument| argument.complete.is_none() && argument.within.is_none();
    is_text
        && messages.is_none()
        && run.is_none()
        && icons.is_none()
        && arguments.values().all(|argument| is_simple(argument))
}
