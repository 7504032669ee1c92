//! What follows from a fault that does not stop the load.

/// What becomes of that which a warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Consequence {
    /// A row of a table is not read.
    RowSkipped,
    /// A file is not read.
    FileSkipped,
    /// A prompt is not served.
    PromptSkipped,
    /// A partial cannot be used.
    PartialSkipped,
    /// A skill is not served.
    SkillSkipped,
    /// A skill is served as a prompt, and not listed among the skills.
    SkillUnlisted,
    /// The rest of the file is read.
    RestRead,
}

impl Consequence {
    /// The consequence in words, for the end of a message.
    pub fn as_str(self) -> &'static str {
        match self {
            Consequence::RowSkipped => "row skipped",
            Consequence::FileSkipped => "file skipped",
            Consequence::PromptSkipped => "prompt skipped",
            Consequence::PartialSkipped => "partial skipped",
            Consequence::SkillSkipped => "skill skipped",
            Consequence::SkillUnlisted => "not in `skills/list`",
            Consequence::RestRead => "the rest is read all the same",
        }
    }
}
