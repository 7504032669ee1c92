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

pub use contents::{ContentsError, ExportedFile, FolderContents, FolderFilter, cached_packs, collect_folder};
pub use description::{ExportedVariable, ServerDescription, exported_variables};
pub use docker::{DOCKER_CONTEXT, DOCKERFILE_HEADER, DockerFiles, docker_context};
pub use mcpb::{BundleParts, mcpb_bundle, mcpb_manifest};
pub use program::{ProgramError, ProgramPlatform, platform_of};
pub use server_json::{ServerJsonError, ServerJsonParts, server_json};
