//! Files of other programs that are taken for a manifest, each of which is one mistake.

use std::sync::LazyLock;

use serde_json::Value;

use super::{Corrector, pattern};
use crate::diagnostic::Code;
use crate::yaml::NodeId;

/// A file of another program: the shape of its map, the key that is reported, what the key does, and what to do.
pub(super) struct ForeignFile {
    pub(super) shape: &'static str,
    key: &'static str,
    description: &'static str,
    help: &'static str,
}

const CLIENT_HELP: &str =
    "write it in the file of the client; `folio init` writes a manifest, and shows what the client needs";
const INIT_HELP: &str = "a manifest is a file of its own: `folio init DIR` writes one";
const OPENAPI_HELP: &str = "`folio init DIR --openapi FILE` writes tools from it";
const REWRITE_HELP: &str =
    "write each tool under `tools`, with `exec`, `script` or `http` as its action; `folio init DIR` writes a start";
const DATABASE_HELP: &str = "folio has no databases: a tool may run the program of one, such as `psql`, with `exec`";

const fn file(shape: &'static str, key: &'static str, description: &'static str, help: &'static str) -> ForeignFile {
    ForeignFile { shape, key, description, help }
}

pub(super) const FILES: &[ForeignFile] = &[
    file("{ mcpServers: $x }", "mcpServers", "configures a client", CLIENT_HELP),
    file("{ context_servers: $x }", "context_servers", "configures a client", CLIENT_HELP),
    file("{ servers: $x:map, without folio: }", "servers", "configures a client", CLIENT_HELP),
    file("{ openapi: $x, paths: $y }", "openapi", "describes an API", OPENAPI_HELP),
    file("{ swagger: $x, paths: $y }", "swagger", "describes an API", OPENAPI_HELP),
    file(
        "{ info: { schema: $x }, item: $y:list }",
        "item",
        "belongs to a Postman collection",
        "export it as an OpenAPI description: `folio init DIR --openapi FILE` writes tools from that",
    ),
    file("{ sources: $x:map, tools: $y:map }", "sources", "belongs to a configuration of MCP Toolbox", DATABASE_HELP),
    file(
        "{ kind: $x=source|tool|toolset|group|prompt|resource|resourceTemplate|authService|embeddingModel, name: $y }",
        "kind",
        "belongs to a configuration of MCP Toolbox",
        DATABASE_HELP,
    ),
    file("{ kind: $x=MCPToolDefinitions|MCPServerConfig }", "kind", "belongs to a file of gen-mcp", REWRITE_HELP),
    file("{ mcpFileVersion: $x }", "mcpFileVersion", "belongs to a file of gen-mcp", REWRITE_HELP),
    file("{ mcp: { tools: $x:list } }", "mcp", "belongs to a configuration of MCPShell", REWRITE_HELP),
    file(
        "{ documents: $x:list, without folio: }",
        "documents",
        "belongs to a configuration of CTX",
        "write its prompts under `prompts`, and its tools under `tools` with `exec` or `http`; `folio init DIR` writes a start",
    ),
    file("{ mxcp: $x }", "mxcp", "belongs to an MXCP project", DATABASE_HELP),
    file("{ forge: { name: $x } }", "forge", "belongs to a configuration of pforge", REWRITE_HELP),
    file(
        "{ kind: $x=discovery#restDescription }",
        "kind",
        "describes an API in the discovery format of Google",
        "convert it to OpenAPI, for example with `google-discovery-to-swagger`: `folio init DIR --openapi FILE` reads that",
    ),
    file(
        "{ manifest_version: $x, server: { mcp_config: $y } }",
        "manifest_version",
        "belongs to an MCP bundle",
        "`folio init DIR` writes a manifest, and `folio export mcpb` a bundle from it",
    ),
    file("{ startCommand: $x:map }", "startCommand", "tells Smithery how to start a server", INIT_HELP),
    file("{ packages|remotes: $x, $schema: $y }", "packages", "belongs to an entry of a registry", INIT_HELP),
];

/// Their shapes, read once.
static SHAPES: LazyLock<Vec<Value>> = LazyLock::new(|| FILES.iter().map(|file| pattern::read(file.shape)).collect());

impl Corrector<'_> {
    /// Reads the file of another program as an empty manifest.
    pub(super) fn foreign_file(&mut self, root: NodeId) {
        let mut files = SHAPES.iter().zip(FILES);
        let Some((_, file)) = files.find(|(shape, _)| self.capture(shape, root).is_some()) else { return };
        let Some(entry) = self.document.entry_of(root, file.key) else { return };
        let message = format!("unknown key `{}`: it {}", file.key, file.description);
        self.report.error(Code::UnknownKey, self.span(entry.key), message).help(file.help);
        match self.document.entry_of(root, "folio").is_some() {
            true => self.put_entries(root, &[entry], Vec::new()),
            false => {
                let at = self.span(root);
                let empty = pattern::read("{ folio: 1, server: { name: my-server } }");
                let entries = self.build_entries(&empty, &pattern::Captures::default(), at);
                self.set_entries(root, entries);
            }
        }
    }
}
