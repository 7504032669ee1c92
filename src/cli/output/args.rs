//! The arguments of every command.

use clap::{Args, ValueEnum};

use super::{LogFilter, LogFormat};

/// The arguments of every command.
#[derive(Debug, Args)]
pub struct GlobalArgs {
    /// How much to log on stderr: error, warn, info, debug, trace, off, or a filter such as `info,rmcp=debug`
    /// [default: info; of calls, only those that fail after they started]
    #[arg(long, global = true, env = "FOLIO_LOG", value_name = "LEVEL", default_value = "", hide_default_value = true)]
    #[arg(hide_env_values = true)]
    pub log_level: LogFilter,
    /// How to write on stderr
    #[arg(long, global = true, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// Whether to use colours; NO_COLOR is honoured
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Whether to use colours, with this default.
    pub fn applies(self, usual: bool) -> bool {
        match self {
            Color::Auto => usual,
            Color::Always => true,
            Color::Never => false,
        }
    }
}
