//! Files of other programs that are taken for a manifest, each of which is one mistake.

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

pub(super) const FILES: &[ForeignFile] = &[
    ForeignFile {
        shape: "{ mcpServers: $x }",
        key: "mcpServers",
        description: "configures a client",
        help: CLIENT_HELP,
    },
    ForeignFile {
        shape: "{ context_servers: $x }",
        key: "context_servers",
        description: "configures a client",
        help: CLIENT_HELP,
    },
    ForeignFile {
        shape: "{ servers: $x:map, without folio: }",
        key: "servers",
        description: "configures a client",
        help: CLIENT_HELP,
    },
    ForeignFile {
        shape: "{ openapi: $x, paths: $y }",
        key: "openapi",
        description: "describes an API",
        help: OPENAPI_HELP,
    },
    ForeignFile {
        shape: "{ swagger: $x, paths: $y }",
        key: "swagger",
        description: "describes an API",
        help: OPENAPI_HELP,
    },
    ForeignFile {
        shape: "{ info: { schema: $x }, item: $y:list }",
        key: "item",
        description: "belongs to a Postman collection",
        help: "export it as an OpenAPI description: `folio init DIR --openapi FILE` writes tools from that",
    },
    ForeignFile {
        shape: "{ sources: $x:map, tools: $y:map }",
        key: "sources",
        description: "belongs to a configuration of MCP Toolbox",
        help: DATABASE_HELP,
    },
    ForeignFile {
        shape: "{ kind: $x=source|tool|toolset|group|prompt|resource|resourceTemplate|authService|embeddingModel, name: $y }",
        key: "kind",
        description: "belongs to a configuration of MCP Toolbox",
        help: DATABASE_HELP,
    },
    ForeignFile {
        shape: "{ kind: $x=MCPToolDefinitions|MCPServerConfig }",
        key: "kind",
        description: "belongs to a file of gen-mcp",
        help: REWRITE_HELP,
    },
    ForeignFile {
        shape: "{ mcpFileVersion: $x }",
        key: "mcpFileVersion",
        description: "belongs to a file of gen-mcp",
        help: REWRITE_HELP,
    },
    ForeignFile {
        shape: "{ mcp: { tools: $x:list } }",
        key: "mcp",
        description: "belongs to a configuration of MCPShell",
        help: REWRITE_HELP,
    },
    ForeignFile {
        shape: "{ documents: $x:list, without folio: }",
        key: "documents",
        description: "belongs to a configuration of CTX",
        help: "write its prompts under `prompts`, and its tools under `tools` with `exec` or `http`; `folio init DIR` writes a start",
    },
    ForeignFile { shape: "{ mxcp: $x }", key: "mxcp", description: "belongs to an MXCP project", help: DATABASE_HELP },
    ForeignFile {
        shape: "{ forge: { name: $x } }",
        key: "forge",
        description: "belongs to a configuration of pforge",
        help: REWRITE_HELP,
    },
    ForeignFile {
        shape: "{ kind: $x=discovery#restDescription }",
        key: "kind",
        description: "describes an API in the discovery format of Google",
        help: "convert it to OpenAPI, for example with `google-discovery-to-swagger`: `folio init DIR --openapi FILE` reads that",
    },
    ForeignFile {
        shape: "{ manifest_version: $x, server: { mcp_config: $y } }",
        key: "manifest_version",
        description: "belongs to an MCP bundle",
        help: "`folio init DIR` writes a manifest, and `folio export mcpb` a bundle from it",
    },
    ForeignFile {
        shape: "{ startCommand: $x:map }",
        key: "startCommand",
        description: "tells Smithery how to start a server",
        help: INIT_HELP,
    },
    ForeignFile {
        shape: "{ packages|remotes: $x, $schema: $y }",
        key: "packages",
        description: "belongs to an entry of a registry",
        help: INIT_HELP,
    },
];

impl Corrector<'_> {
    /// Reads the file of another program as an empty manifest.
    pub(super) fn foreign_file(&mut self, root: NodeId) {
        let Some(file) = FILES.iter().find(|file| self.capture(&pattern::read(file.shape), root).is_some()) else {
            return;
        };
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
