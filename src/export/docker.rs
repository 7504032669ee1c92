//! The context of a container image that serves over HTTP.

use super::contents::ExportedFile;
use super::description::ServerDescription;
use crate::diagnostic::one_line;

/// The first line of its Dockerfile, by which an older export is known.
pub const DOCKERFILE_HEADER: &str = "# Written by `folio export docker`.";

/// What the folder of a context contains.
pub const DOCKER_CONTEXT: [&str; 4] = ["Dockerfile", "folio", "manifest", "cache"];

/// The port on which it listens.
const PORT: u16 = 8080;

/// What is copied into an image.
pub struct DockerFiles<'a> {
    /// The bytes of the program.
    pub program: Vec<u8>,
    /// The name of the manifest's file, if it is not `folio.yaml`.
    pub manifest: Option<&'a str>,
    /// The folder of the manifest.
    pub folder: Vec<ExportedFile>,
    /// The cache of its packs.
    pub packs: Vec<ExportedFile>,
    /// The programs that its tools run, by name.
    pub programs: Vec<String>,
}

/// The files of a context: a Dockerfile, the program, the folder of the manifest and its packs.
pub fn docker_context(
    server: &ServerDescription,
    files: DockerFiles<'_>,
    allows_unauthenticated: bool,
) -> Vec<ExportedFile> {
    let DockerFiles { program, manifest, folder, packs, programs } = files;
    let dockerfile = dockerfile(server, manifest, allows_unauthenticated, !packs.is_empty(), &programs);
    let below = |name: &'static str, files: Vec<ExportedFile>| {
        files.into_iter().map(move |file| ExportedFile { path: format!("{name}/{}", file.path), ..file })
    };
    let generated = [
        ExportedFile { path: "Dockerfile".to_owned(), bytes: dockerfile.into_bytes(), is_program: false },
        ExportedFile { path: "folio".to_owned(), bytes: program, is_program: true },
    ];
    generated.into_iter().chain(below("manifest", folder)).chain(below("cache", packs)).collect()
}

fn dockerfile(
    server: &ServerDescription,
    manifest: Option<&str>,
    allows_unauthenticated: bool,
    has_packs: bool,
    programs: &[String],
) -> String {
    let path = manifest.map_or_else(|| "/srv/manifest".to_owned(), |name| format!("/srv/manifest/{name}"));
    let mut arguments = vec!["serve".to_owned(), path, "--http".to_owned(), format!("0.0.0.0:{PORT}")];
    arguments.push("--no-watch".to_owned());
    if allows_unauthenticated {
        arguments.push("--insecure".to_owned());
    }
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let arguments: Vec<String> = arguments.iter().map(|argument| quoted(argument)).collect();
    let run_flags =
        server.variables.iter().filter(|variable| variable.is_required).map(|it| format!(" -e {}", it.name));
    let packs = if has_packs { "COPY cache /srv/cache\nENV FOLIO_CACHE=/srv/cache\n" } else { "" };
    let programs = match programs {
        [] => "The manifest names none".to_owned(),
        programs => format!("The manifest names: {}", one_line(&programs.join(", "))),
    };
    // By this label a registry knows that the image is that of the server. A name without a namespace is in none.
    let label = match server.info.name.contains('/') {
        true => format!("LABEL io.modelcontextprotocol.server.name={}\n", quoted(&server.info.name)),
        false => String::new(),
    };
    format!(
        "{DOCKERFILE_HEADER}\n\
         #\n\
         #   docker build -t {name} .\n\
         #   docker run --rm -p {PORT}:{PORT}{flags} {name}\n\
         #\n\
         # {title}: MCP at http://localhost:{PORT}/mcp. Variables are given when it is started, and are not in the image.\n\
         # Under another name than localhost it answers once `http.publicUrl` or `http.allowedHosts` names it.\n\
         ARG BASE=debian:stable-slim\n\
         FROM ${{BASE}}\n\
         {label}\
         # The authorities of HTTPS. Add the programs that tools run. {programs}.\n\
         RUN apt-get update \\\n\
         \x20&& apt-get install --yes --no-install-recommends ca-certificates \\\n\
         \x20&& rm -rf /var/lib/apt/lists/*\n\
         COPY --chmod=0755 folio /usr/local/bin/folio\n\
         COPY manifest /srv/manifest\n\
         {packs}\
         WORKDIR /srv\n\
         USER 65532:65532\n\
         EXPOSE {PORT}\n\
         HEALTHCHECK --interval=30s --timeout=6s CMD [\"/usr/local/bin/folio\", \"health\", \"{PORT}\"]\n\
         ENTRYPOINT [\"/usr/local/bin/folio\", {arguments}]\n",
        name = server.short_name(),
        title = one_line(&server.summary()),
        flags = run_flags.collect::<String>(),
        arguments = arguments.join(", "),
    )
}
