//! The codes of diagnostics.

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// The kind of a diagnostic; its name is stable across releases.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// Every code, in the order of the list.
            pub const ALL: &[Code] = &[$(Code::$name,)+];

            /// The code as people and programs see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)+ }
            }

            /// The page about the code: what, why, and how to write it instead. Markdown.
            pub fn page(self) -> &'static str {
                match self { $(Code::$name => include_str!(concat!("explanations/", $text, ".md")),)+ }
            }

            /// Whether it is of one client, and so found by `check --clients` alone.
            pub fn is_client_code(self) -> bool {
                self.as_str().starts_with("client-") && self != Code::ClientCompatibility
            }

            /// What the code means, for people.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$name => concat!($($doc, "\n",)+),)+ }
            }
        }
    };
}

codes! {
    /// A file cannot be read.
    Unreadable = "unreadable",
    /// A file is not UTF-8.
    Encoding = "encoding",
    /// Invalid YAML, or invalid JSON in a `.json` file.
    Syntax = "syntax",
    /// A file, a tree or a string exceeds a limit.
    TooLarge = "too-large",
    /// A key that is indented too far or too little, and so belongs to another one.
    Indentation = "indentation",
    /// A duplicate key or name.
    Duplicate = "duplicate",
    /// An unknown key.
    UnknownKey = "unknown-key",
    /// A required key is missing.
    MissingKey = "missing-key",
    /// A value of the wrong type.
    WrongType = "wrong-type",
    /// A value of the right type that is not allowed.
    BadValue = "bad-value",
    /// Keys that exclude or require each other.
    Conflict = "conflict",
    /// An unsupported `folio:` version.
    Version = "version",
    /// An invalid, reserved or ambiguous name.
    BadName = "bad-name",
    /// A path that does not exist or is not a file.
    NotFound = "not-found",
    /// A path that escapes its pack.
    PathEscape = "path-escape",
    /// A malformed glob, or one that matches nothing.
    Glob = "glob",
    /// A syntax error in a template.
    Template = "template",
    /// A template uses a variable that is not in scope.
    UnknownVariable = "unknown-variable",
    /// A template uses a helper that does not exist.
    UnknownHelper = "unknown-helper",
    /// A template uses a partial that does not exist.
    UnknownPartial = "unknown-partial",
    /// A text shows the whole outcome of an action as JSON.
    WholeOutcome = "whole-outcome",
    /// Wrong arguments of a helper or partial.
    HelperArgument = "helper-argument",
    /// Cyclic partials, packs or tools.
    Cycle = "cycle",
    /// Nesting exceeds a limit.
    Nesting = "nesting",
    /// A malformed URI or URI template.
    Uri = "uri",
    /// A JSON Schema that is malformed or that no value can match.
    Schema = "schema",
    /// A malformed JMESPath expression.
    Select = "select",
    /// A reference to a prompt, tool or resource that does not exist.
    UnknownReference = "unknown-reference",
    /// A skill that breaks a rule of its format and is left out.
    Skill = "skill",
    /// A required environment variable is not set.
    UnsetVariable = "unset-variable",
    /// A secret is exposed to clients or other users, or written in plain text.
    Secret = "secret",
    /// An action that is not granted to its pack.
    NotGranted = "not-granted",
    /// A program that is not on PATH.
    MissingProgram = "missing-program",
    /// Something unsafe, which is refused or warned of.
    Unsafe = "unsafe",
    /// A key that is checked but not implemented in this version.
    Unimplemented = "unimplemented",
    /// Valid, but some clients do not support it well.
    ClientCompatibility = "client-compatibility",
    /// Claude Code refuses, cuts or does not show it.
    ClientClaudeCode = "client-claude-code",
    /// Claude Desktop refuses, cuts or does not show it.
    ClientClaudeDesktop = "client-claude-desktop",
    /// Cursor refuses, cuts or does not show it.
    ClientCursor = "client-cursor",
    /// Visual Studio Code refuses, cuts or does not show it.
    ClientVsCode = "client-vscode",
    /// Copilot CLI refuses, cuts or does not show it.
    ClientCopilotCli = "client-copilot-cli",
    /// Gemini CLI refuses, cuts or does not show it.
    ClientGemini = "client-gemini",
    /// Codex refuses, cuts or does not show it.
    ClientCodex = "client-codex",
    /// LibreChat refuses, cuts or does not show it.
    ClientLibreChat = "client-librechat",
    /// Something that has no effect.
    Unused = "unused",
    /// A test of the manifest fails.
    FailedTest = "failed-test",
    /// MCP has no `system` role.
    Role = "role",
}
