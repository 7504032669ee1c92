//! Servers for other people: an MCPB bundle, a description for registries, and the context of a container image.
//!
//! All of it is made in memory and is the same for the same files. What is not here: the commands, and where files are
//! written (cli/).

mod contents;
mod description;
mod docker;
mod earlier_exports;
mod mcpb;
mod program;
mod server_json;

pub use contents::{ExportedFile, FolderFilter, cached_packs, collect_folder};
pub use description::{ServerDescription, exported_variables};
pub use docker::{DOCKER_CONTEXT, DOCKERFILE_HEADER, DockerFiles, docker_context};
pub use mcpb::{BundleParts, mcpb_bundle};
pub use program::{ProgramPlatform, platform_of};
pub use server_json::{ServerJsonParts, server_json};
