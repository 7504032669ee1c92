//! Arguments of a command that are not looked at before that command is given: each start gives one of many.

use std::ops::Deref;

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The arguments of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Later<T>(pub T);

impl<T> Deref for Later<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Later<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Later<T>, Error> {
        T::from_arg_matches(matches).map(Later)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Later<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(augment::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// What the command itself says of its purpose stays.
fn augment<T: Args>(command: Command) -> Command {
    let about = command.get_about().cloned();
    let command = T::augment_args(command);
    match about {
        Some(about) => command.about(about),
        None => command,
    }
}
