//! `tls` of a connection, with certificates that are issued for each test.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::harness::*;

/// Issues certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
}

/// A certificate and its private key, in PEM.
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Authorities are found by their names.
        params.distinguished_name.push(DnType::CommonName, format!("authority {:?}", Instant::now()));
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    pub fn issue(&self, name: &str) -> Identity {
        self.issue_with(name, |_| {})
    }

    fn issue_with(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Identity { certificate, key: key.serialize_pem() }
    }
}

impl Identity {
    /// The configuration of a server that has this certificate, and requires one of `clients`.
    pub fn server_config(&self, clients: Option<&Authority>) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
        let builder = match clients {
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
            None => builder.with_no_client_auth(),
        };
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap();
        builder
            .with_single_cert(vec![certificate], PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap())
            .unwrap()
    }
}

/// A server that answers every request with `response`.
pub fn start_server(config: ServerConfig, response: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let config = Arc::new(config);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, response) = (config.clone(), response.clone());
            thread::spawn(move || answer(stream, config, &response));
        }
    });
    address
}

fn answer(stream: TcpStream, config: Arc<ServerConfig>, response: &str) {
    let mut tls = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match tls.read(&mut buffer) {
            Ok(count) if count > 0 => head.extend_from_slice(&buffer[..count]),
            _ => break,
        }
    }
    if !head.is_empty() {
        let certificates = tls.conn.peer_certificates().map_or(0, <[_]>::len);
        let response = response.replace("COUNT", &certificates.to_string());
        let _ = tls.write_all(response.as_bytes());
        tls.conn.send_close_notify();
    }
    let _ = tls.conn.complete_io(&mut tls.sock);
    // A socket that is closed with unread bytes resets the connection, and the alert is lost.
    let _ = std::io::copy(&mut tls.sock, &mut std::io::sink());
}

/// A response with the number of certificates that the client presented.
pub fn presented() -> String {
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nCOUNT".to_owned()
}

fn manifest(server: SocketAddr, keys: &str) -> String {
    format!(
        "folio: 1\nserver: {{ name: tls }}\nconnections:\n  c:\n    url: \"https://{server}\"\n{keys}\
         tools:\n  t:\n    description: T\n    run: {{ http: {{ use: c }} }}\n"
    )
}

fn folder_with(server: SocketAddr, keys: &str, files: &[(&str, &str)]) -> TestFolder {
    let folder = TestFolder::with_manifest(&manifest(server, keys));
    files.iter().for_each(|(name, text)| folder.write(name, text));
    folder
}

/// The text of one call.
fn call(folder: &TestFolder) -> String {
    let server = folder.stdio();
    text_of(&server.client(SESSION_VERSIONS[3]).call("t", json!({}))["content"][0])
}

const TRUSTING: &str = "    tls: { ca: ca.pem }\n";
const PRESENTING: &str = "    tls: { ca: ca.pem, clientCert: client.pem, clientKey: client.key }\n";

#[test]
fn unknown_authority_is_an_error_with_help() {
    let authority = Authority::new();
    let server = start_server(authority.issue("127.0.0.1").server_config(None), presented());
    let message = call(&folder_with(server, "", &[]));
    let expected = "TLS connection to `127.0.0.1` failed: its certificate is signed by no trusted authority; name the authority in \
         `tls.ca` of the connection";
    assert!(message.ends_with(expected), "{message}");
    let other = Authority::new();
    assert!(call(&folder_with(server, TRUSTING, &[("ca.pem", &other.pem)])).contains("signed by no trusted authority"));
}

#[test]
fn authority_of_connection_is_trusted() {
    let authority = Authority::new();
    let server = start_server(authority.issue("127.0.0.1").server_config(None), presented());
    assert_eq!(call(&folder_with(server, TRUSTING, &[("ca.pem", &authority.pem)])), "0");
    let bundle = format!("# two\n{}{}", Authority::new().pem, authority.pem);
    let folder = folder_with(server, "", &[("ca.pem", &bundle)]);
    let absolute = folder.path().join("ca.pem").display().to_string();
    folder.write("folio.yaml", manifest(server, &format!("    tls: {{ ca: \"{absolute}\" }}\n")));
    assert_eq!(call(&folder), "0");
}

#[test]
fn self_signed_certificate_is_its_own_authority() {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap().pem();
    let own = Identity { certificate, key: key.serialize_pem() };
    let server = start_server(own.server_config(None), presented());
    assert!(call(&folder_with(server, "", &[])).contains("signed by no trusted authority"));
    assert_eq!(call(&folder_with(server, TRUSTING, &[("ca.pem", &own.certificate)])), "0");
}

#[test]
fn certificate_must_be_valid_for_host_and_date() {
    let authority = Authority::new();
    for (identity, reason) in [
        (authority.issue("elsewhere.example"), "its certificate is for other names"),
        (
            authority.issue_with("127.0.0.1", |params| params.not_after = date_time_ymd(2020, 1, 1)),
            "its certificate has expired",
        ),
        (
            authority.issue_with("127.0.0.1", |params| params.not_before = date_time_ymd(2999, 1, 1)),
            "its certificate is not valid yet",
        ),
    ] {
        let server = start_server(identity.server_config(None), presented());
        let message = call(&folder_with(server, TRUSTING, &[("ca.pem", &authority.pem)]));
        assert!(message.ends_with(&format!("TLS connection to `127.0.0.1` failed: {reason}")), "{message}");
    }
}

#[test]
fn client_certificate_is_presented_on_demand() {
    let authority = Authority::new();
    let client = authority.issue("client");
    let server = start_server(authority.issue("127.0.0.1").server_config(Some(&authority)), presented());
    let files = [("ca.pem", &*authority.pem), ("client.pem", &*client.certificate), ("client.key", &*client.key)];
    // The alert comes behind the handshake of TLS 1.3: now and then the connection has ended before it is read.
    let alert_of = |keys: &str, files: &[(&str, &str)]| {
        let mut told = (0..10).map(|_| call(&folder_with(server, keys, files)));
        told.find(|message| !message.contains("invalid or incomplete response")).unwrap()
    };
    let message = alert_of(TRUSTING, &files);
    let expected = "TLS connection to `127.0.0.1` failed: it requires a client certificate; set `tls.clientCert` and \
         `tls.clientKey` of the connection";
    assert!(message.ends_with(expected), "{message}");
    assert_eq!(call(&folder_with(server, PRESENTING, &files)), "1");
    let stranger = Authority::new().issue("client");
    let files = [files[0], ("client.pem", &*stranger.certificate), ("client.key", &*stranger.key)];
    let refused = alert_of(PRESENTING, &files);
    assert!(refused.contains("it refused the client certificate; check `tls.clientCert`"), "{refused}");
}

#[test]
fn client_certificate_stays_at_its_origin() {
    let authority = Authority::new();
    let client = authority.issue("client");
    let optional = |response: String| {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let verifier = verifier.allow_unauthenticated().build().unwrap();
        let identity = authority.issue("127.0.0.1");
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
        let config = config.with_client_cert_verifier(verifier).with_single_cert(vec![certificate], key).unwrap();
        start_server(config, response)
    };
    let files = [("ca.pem", &*authority.pem), ("client.pem", &*client.certificate), ("client.key", &*client.key)];
    let own = optional(presented());
    assert_eq!(call(&folder_with(own, PRESENTING, &files)), "1");
    let redirect =
        format!("HTTP/1.1 302 -\r\nLocation: https://{own}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let allow = format!("    allow: [\"{own}\"]\n{PRESENTING}");
    assert_eq!(call(&folder_with(optional(redirect), &allow, &files)), "0");
    let page = format!(r#"{{"items":[7],"next":"https://{own}/"}}"#);
    let page = format!("HTTP/1.1 200 -\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}", page.len());
    let first = optional(page);
    let folder = folder_with(first, "", &files);
    let paged = manifest(first, &allow).replace("use: c", "use: c, paginate: { next: next, items: 'items || [@]' }");
    folder.write("folio.yaml", &paged);
    assert_eq!(call(&folder), "[7,0]");
}

#[test]
fn changed_authority_is_reloaded() {
    let authority = Authority::new();
    let server = start_server(authority.issue("127.0.0.1").server_config(None), presented());
    let folder = folder_with(server, TRUSTING, &[("ca.pem", &Authority::new().pem)]);
    let served = folder.stdio();
    let client = served.client(SESSION_VERSIONS[3]);
    let text = |result: Value| text_of(&result["content"][0]);
    assert!(text(client.call("t", json!({}))).contains("signed by no trusted authority"));
    let mark = served.log.line_count();
    folder.write("ca.pem", &authority.pem);
    served.log.wait_for_reload(mark);
    assert_eq!(text(client.call("t", json!({}))), "0");
}

/// The report of `check`.
fn check(folder: &TestFolder) -> String {
    let checked = run_folio(folder.path(), &["check"]);
    checked.out + &checked.err
}

#[test]
fn invalid_certificate_files_are_reported() {
    let authority = Authority::new();
    let (one, other) = (authority.issue("client"), authority.issue("client"));
    let address = "127.0.0.1:1".parse().unwrap();
    let malformed = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\naGVsbG8=\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let files = [
        ("ca.pem", &*authority.pem),
        ("one.pem", &*one.certificate),
        ("one.key", &*one.key),
        ("other.key", &*other.key),
        ("text.pem", "hello"),
        ("malformed.pem", malformed),
        ("encrypted.key", encrypted),
    ];
    for (tls, message) in [
        ("ca: missing.pem", "no such file or folder: `missing.pem`"),
        ("ca: text.pem", "`text.pem`: no certificate in PEM"),
        ("ca: malformed.pem", "`malformed.pem`: malformed certificate"),
        ("ca: one.key", "`one.key`: no certificate in PEM"),
        ("clientCert: one.pem", "`clientCert` and `clientKey` require each other"),
        ("clientKey: one.key", "`clientCert` and `clientKey` require each other"),
        ("clientCert: one.pem, clientKey: one.pem", "`one.pem`: no private key in PEM"),
        ("clientCert: one.pem, clientKey: encrypted.key", "`encrypted.key`: encrypted private key"),
        ("clientCert: one.pem, clientKey: other.key", "`other.key`: the private key does not match the certificate"),
        ("ca: ../ca.pem", "path `../ca.pem` escapes the pack folder"),
    ] {
        let report = check(&folder_with(address, &format!("    tls: {{ {tls} }}\n"), &files));
        assert!(report.contains(message) && report.contains("folio.yaml:6:"), "{tls}: {report}");
        assert_eq!(report.matches(message).count(), 1, "{report}");
        let secret = one.key.lines().nth(1).unwrap();
        assert!(!report.contains(secret), "{report}");
    }
    let fine =
        check(&folder_with(address, "    tls: { ca: ca.pem, clientCert: one.pem, clientKey: one.key }\n", &files));
    assert!(fine.contains("no errors"), "{fine}");
}

#[test]
fn imported_pack_reads_no_absolute_path() {
    let authority = Authority::new();
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: outer }\npacks: { inner: { path: inner, allow: [http] } }\n",
    );
    folder.write("ca.pem", &authority.pem);
    let absolute = folder.path().join("ca.pem").display().to_string();
    let inner = manifest("127.0.0.1:1".parse().unwrap(), &format!("    tls: {{ ca: \"{absolute}\" }}\n"));
    folder.write("inner/folio.yaml", &inner);
    assert!(check(&folder).contains("absolute path `"), "{}", check(&folder));
}
