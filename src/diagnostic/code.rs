//! The closed list of codes: what can be wrong with a manifest.

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// What is wrong, in a word that does not change from release to release.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// Every code, in the order of the list.
            pub const ALL: &[Code] = &[$(Code::$name,)+];

            /// The code as people and programs see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)+ }
            }

            /// What the code means, for people.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$name => concat!($($doc, "\n",)+),)+ }
            }
        }
    };
}

codes! {
    /// A file could not be read.
    Unreadable = "unreadable",
    /// A file is not UTF-8.
    Encoding = "encoding",
    /// The text is not YAML (or not JSON, in a `.json` file).
    Syntax = "syntax",
    /// A file, a tree or a text is larger, deeper or longer than folio takes.
    TooLarge = "too-large",
    /// The same key, or the same name, stands twice.
    Duplicate = "duplicate",
    /// A key that this language does not have.
    UnknownKey = "unknown-key",
    /// A key that must be there is missing.
    MissingKey = "missing-key",
    /// A value of another kind than the key takes.
    WrongType = "wrong-type",
    /// A value of the right kind that is not one of those allowed.
    BadValue = "bad-value",
    /// Keys that exclude each other, or that need each other.
    Conflict = "conflict",
    /// The `folio:` version is not one that this program reads.
    Version = "version",
    /// A name that is not formed as names are, that is taken, or that could be read as something else.
    BadName = "bad-name",
    /// A path that is not there, or that is no file.
    NotFound = "not-found",
    /// A path that leaves its pack.
    Outside = "outside",
    /// A glob that matches nothing, or that is malformed.
    Glob = "glob",
    /// The template's syntax.
    Template = "template",
    /// A template names a variable that is not in scope.
    UnknownVariable = "unknown-variable",
    /// A template names a helper that does not exist.
    UnknownHelper = "unknown-helper",
    /// A template names a partial that does not exist.
    UnknownPartial = "unknown-partial",
    /// A helper is given what it cannot take.
    HelperArgument = "helper-argument",
    /// Partials that use each other in a circle, or packs, or tools.
    Cycle = "cycle",
    /// Nesting that is deeper than folio takes.
    Nesting = "nesting",
    /// A URI, or a URI template, that is malformed.
    Uri = "uri",
    /// A JSON Schema that is malformed or that nothing can satisfy.
    Schema = "schema",
    /// A JMESPath expression that is malformed.
    Select = "select",
    /// A reference to a prompt, tool or resource that does not exist.
    UnknownReference = "unknown-reference",
    /// A skill that breaks a rule of its format, and is left out.
    Skill = "skill",
    /// An environment variable that is not set, though it is required.
    Unset = "unset",
    /// A secret stands where a client could read it, or in clear.
    Secret = "secret",
    /// An action that its pack has not been granted.
    NotGranted = "not-granted",
    /// A program that is not on PATH.
    MissingProgram = "missing-program",
    /// Something unsafe, which folio refuses or warns of.
    Unsafe = "unsafe",
    /// A key that is checked but that this version does not act on yet.
    Unimplemented = "not-yet",
    /// Something that works, and that some client will not take well.
    Client = "client",
    /// Something that has no effect.
    Unused = "unused",
    /// MCP has no `system` role.
    Role = "role",
}
