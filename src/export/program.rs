//! Programs, and the systems on which they run.

/// A system on which folio runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramPlatform {
    Linux,
    Darwin,
}

impl ProgramPlatform {
    /// Its name in bundles.
    pub fn as_str(self) -> &'static str {
        match self {
            ProgramPlatform::Linux => "linux",
            ProgramPlatform::Darwin => "darwin",
        }
    }
}

/// Why a file is not a program that could be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not a program for Linux or macOS")]
pub struct ProgramError;

/// The system of a program, by its first bytes.
///
/// # Errors
/// It is for another system, or a script.
pub fn platform_of(program: &[u8]) -> Result<ProgramPlatform, ProgramError> {
    match program {
        [0x7f, b'E', b'L', b'F', ..] => Ok(ProgramPlatform::Linux),
        [0xcf, 0xfa, 0xed, 0xfe, ..] | [0xca, 0xfe, 0xba, 0xbe, ..] => Ok(ProgramPlatform::Darwin),
        _ => Err(ProgramError),
    }
}
