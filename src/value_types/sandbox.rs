//! `sandbox`: what a program may reach.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::{Scalar, yaml_kind_enum};
use crate::yaml::Spanned;

/// What a program may reach, held by the operating system: `{ read: [data], write: [out], network: none }`.
///
/// Everything else is refused, but for what a program needs to start: the program itself, the system's programs and
/// libraries, its locale, certificates and host names, `/dev/null`, and reading in its `cwd`. `folio check -v` lists all of
/// it. No sandbox has shared memory and message queues of System V, keys, `inotify`, debugging or namespaces, so `fakeroot`
/// and PostgreSQL do not run in one. The system is Linux with Landlock and seccomp; without them the server warns at its
/// start, or refuses to run the program where `required` is true.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Sandbox {
    /// The folders and files that it may read: paths of the pack, `{{env.NAME}}`, `{{workspace}}`, and in the served manifest absolute
    /// paths: `[data, /etc/motd]`. Its `cwd` is always one of them.
    #[schemars(with = "Option<Vec<String>>")]
    pub read: Option<Vec<Spanned<String>>>,
    /// The folders and files that it may read and write, as in `read`: `[out]`. Programs that need temporary files need `/tmp`
    /// or a folder that `TMPDIR` names. Without any it changes no mode, owner or time of a file either.
    #[schemars(with = "Option<Vec<String>>")]
    pub write: Option<Vec<Spanned<String>>>,
    /// What it may connect to: `none`, `any`, or a list of TCP ports, such as `[443]`. The default is `none`, which leaves no
    /// sockets but those of this machine; those that are files Linux holds from 7.1 on. Ports hold for every host, as the
    /// system does not know names, and leave UDP, by which names are resolved. Only `any` may listen for connections.
    #[schemars(with = "Option<Network>")]
    pub network: Option<Spanned<Network>>,
    /// Whether the program is refused where the system cannot enforce all of this. The default is false: it runs, and the
    /// server warns at its start.
    pub required: Option<bool>,
}

yaml_kind_enum! {
    /// `none`, `any`, or a list of TCP ports.
    pub enum Network {
        "text" => Mode(NetworkMode),
        "list" => Ports(Vec<Spanned<Port>>),
    }
}

/// All of the network, or nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// It may not connect or listen.
    None,
    /// It may connect and listen.
    Any,
}

/// A TCP port, parsed where a wrong one can be reported in its own words.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Port(pub Scalar);

impl JsonSchema for Port {
    fn schema_name() -> Cow<'static, str> {
        "Port".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": 65535 })
    }
}
