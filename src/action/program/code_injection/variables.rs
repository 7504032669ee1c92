//! The environment variables by which programs load or run code.

use super::{expands_variables, has_fixed_values};
use crate::action::Step;
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::template::{OutputPiece, output_pieces};

/// Their names. What begins with one of [`CODE_VARIABLE_PREFIXES`] belongs to them.
const CODE_VARIABLES: &[&str] = &[
    "PATH", "ENV", "BASH_ENV", "ZDOTDIR", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "IFS", "SHELL",
    "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PYTHONINSPECT", "PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB",
    "RUBYOPT", "RUBYLIB", "NODE_OPTIONS", "NODE_PATH", "PHPRC", "PHP_INI_SCAN_DIR", "LUA_INIT", "LUA_PATH",
    "LUA_CPATH", "R_PROFILE", "R_PROFILE_USER", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH",
    "GCONV_PATH", "LOCPATH", "PAGER", "MANPAGER", "EDITOR", "VISUAL", "BROWSER", "LESSOPEN", "LESSCLOSE",
    "SSH_ASKPASS", "SUDO_ASKPASS", "RUSTC_WRAPPER", "RUSTC", "CC", "CXX", "MAKEFLAGS", "TAR_OPTIONS", "RSYNC_RSH",
    "RSYNC_CONNECT_PROG", "CVS_RSH", "SVN_SSH", "HOME", "XDG_CONFIG_HOME", "PYTHONBREAKPOINT", "PYTHONUSERBASE",
    "GNUMAKEFLAGS", "MAKEFILES", "GCC_EXEC_PREFIX", "RUSTC_WORKSPACE_WRAPPER", "BUNDLE_GEMFILE",
    "DOTNET_STARTUP_HOOKS", "OPENSSL_CONF", "KUBECONFIG", "PSQLRC", "VIMINIT", "npm_config_script_shell",
    "NPM_CONFIG_SCRIPT_SHELL", "ZIPOPT", "RUSTFLAGS", "GOFLAGS", "RIPGREP_CONFIG_PATH", "CURL_HOME", "PSQL_PAGER",
    "FZF_DEFAULT_COMMAND", "ERL_AFLAGS", "EXINIT",
];

/// Those of git without `GIT_`: programs that it runs, folders whose settings and hooks it obeys, and what lets a URL run a
/// program, or a clone its hooks.
const GIT_CODE_VARIABLES: &[&str] = &[
    "ASKPASS", "COMMON_DIR", "DIR", "EDITOR", "EXEC_PATH", "EXTERNAL_DIFF", "MAN_VIEWER", "PAGER", "PROXY_COMMAND",
    "SEQUENCE_EDITOR", "SSH", "SSH_COMMAND", "TEMPLATE_DIR", "TEXTDOMAINDIR", "ALLOW_PROTOCOL", "PROTOCOL_FROM_USER",
    "CLONE_PROTECTION_ACTIVE",
];

const CODE_VARIABLE_PREFIXES: &[&str] = &[
    "LD_", "DYLD_", "BASH_FUNC_", "LUA_INIT_", "CARGO_BUILD_RUSTC", "GIT_CONFIG", "GIT_DIFFTOOL", "GIT_DIFF_TOOL",
    "GIT_MERGETOOL", "GIT_MERGE_TOOL", "GIT_TEST_",
];

/// Whether programs load or run what a variable holds.
pub(in crate::action) fn runs_code(name: &str) -> bool {
    CODE_VARIABLES.contains(&name)
        || CODE_VARIABLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || name.strip_prefix("GIT_").is_some_and(|name| GIT_CODE_VARIABLES.contains(&name))
}

const OTHER_NAME_HELP: &str =
    "write its value here, or take it from `env`; pass the argument in a variable of another name";
const EXPANSION_HELP: &str =
    "the program expands `$` in it: list the allowed values by `enum`, or write each `$` twice in a `script`";

/// Reports every such variable of a program whose value a caller chooses.
pub(in crate::action) fn check_env(step: &Step, compiler: &mut Compiler<'_>) {
    let expands = step.exec.as_ref().is_some_and(|exec| expands_variables(&exec.value, compiler));
    for (name, value) in step.env.iter().filter(|(name, _)| expands || runs_code(name)) {
        let text = value.to_text();
        let of_caller = output_pieces(&text).into_iter().find_map(|piece| match piece {
            OutputPiece::Value(_, path) if expands && has_fixed_values(&path, compiler) => None,
            OutputPiece::Value(range, path) if path.first().is_none_or(|head| head != "steps") => Some(range),
            OutputPiece::Computed(range) => Some(range),
            _ => None,
        });
        let Some(range) = of_caller else { continue };
        let span = compiler.span_within(value.location, range);
        compiler
            .error(Code::Unsafe, span, format!("a value in `{}` could make a program run code", name.value))
            .help(if runs_code(name) { OTHER_NAME_HELP } else { EXPANSION_HELP });
    }
}
