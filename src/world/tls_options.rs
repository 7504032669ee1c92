//! The certificates that a connection trusts and presents.

use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, InconsistentKeys, RootCertStore};
use rustls_platform_verifier::{BuilderVerifierExt, Verifier};

use crate::digest::sha256;

/// Why a file is not what a connection needs for TLS. No message contains a part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TlsFileError {
    /// There is no certificate in it.
    #[error("no certificate in PEM")]
    NoCertificate,
    /// A certificate in it is malformed.
    #[error("malformed certificate")]
    MalformedCertificate,
    /// There is no private key in it.
    #[error("no private key in PEM")]
    NoKey,
    /// The private key needs a passphrase.
    #[error("encrypted private key")]
    EncryptedKey,
    /// The private key is malformed, or of a kind that TLS has no use for.
    #[error("malformed or unsupported private key")]
    UnsupportedKey,
    /// The private key is that of another certificate.
    #[error("the private key does not match the certificate")]
    KeyMismatch,
}

/// Certificates from a PEM file.
pub struct Certificates {
    list: Vec<CertificateDer<'static>>,
    digest: Sha256Digest,
}

impl Certificates {
    /// Reads all certificates of a file.
    pub fn parse(pem: &[u8]) -> Result<Certificates, TlsFileError> {
        let all: Vec<_> =
            CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|_| TlsFileError::NoCertificate)?;
        let mut checked = RootCertStore::empty();
        if all.is_empty() {
            return Err(TlsFileError::NoCertificate);
        }
        match all.iter().try_for_each(|certificate| checked.add(certificate.clone())) {
            Ok(()) => Ok(Certificates { list: all, digest: sha256(pem) }),
            Err(_) => Err(TlsFileError::MalformedCertificate),
        }
    }
}

type Sha256Digest = [u8; 32];

/// A certificate and its private key, by which a client says who it is.
pub struct ClientIdentity {
    key: Arc<CertifiedKey>,
    digest: Sha256Digest,
}

impl ClientIdentity {
    /// Reads a private key, and checks that it is that of the certificate.
    pub fn parse(certificates: Certificates, key_pem: &[u8]) -> Result<ClientIdentity, TlsFileError> {
        let key = PrivateKeyDer::from_pem_slice(key_pem).map_err(|_| {
            match String::from_utf8_lossy(key_pem).contains("ENCRYPTED") {
                true => TlsFileError::EncryptedKey,
                false => TlsFileError::NoKey,
            }
        })?;
        let digest = sha256(&[certificates.digest, sha256(key.secret_der())].concat());
        let key = CertifiedKey::from_der(certificates.list, key, &provider()).map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => TlsFileError::KeyMismatch,
            _ => TlsFileError::UnsupportedKey,
        })?;
        Ok(ClientIdentity { key: Arc::new(key), digest })
    }
}

/// The certificates that a connection trusts beside those of the system, and the one that it presents.
#[derive(Clone, Default)]
pub struct TlsOptions {
    authorities: Option<Arc<Certificates>>,
    identity: Option<Arc<ClientIdentity>>,
}

impl TlsOptions {
    /// Trusts `authorities` in addition to those of the system, and presents `identity` to servers that ask.
    pub fn new(authorities: Option<Certificates>, identity: Option<ClientIdentity>) -> TlsOptions {
        TlsOptions { authorities: authorities.map(Arc::new), identity: identity.map(Arc::new) }
    }

    /// Presents nothing any more, as the server is another one.
    pub(super) fn drop_identity(&mut self) {
        self.identity = None;
    }

    /// Equal for options that are equal.
    pub(super) fn key(&self) -> TlsKey {
        TlsKey {
            authorities: self.authorities.as_ref().map(|certificates| certificates.digest),
            identity: self.identity.as_ref().map(|identity| identity.digest),
        }
    }

    /// The configuration of a client: with HTTP/2 where the server speaks it.
    pub(super) fn client_config(&self) -> Option<ClientConfig> {
        let mut config = match &self.authorities {
            Some(certificates) => trusting_config(certificates)?,
            None => system_config()?,
        };
        if let Some(identity) = &self.identity {
            config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(identity.key.clone()));
        }
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Some(config)
    }
}

/// Identifies [`TlsOptions`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TlsKey {
    authorities: Option<Sha256Digest>,
    identity: Option<Sha256Digest>,
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// With the authorities of the system, and these.
fn trusting_config(certificates: &Certificates) -> Option<ClientConfig> {
    let verifier = Verifier::new_with_extra_roots(certificates.list.iter().cloned(), provider());
    let verifier: Arc<dyn ServerCertVerifier> =
        Arc::new(verifier.inspect_err(|error| tracing::warn!("cannot use the authorities of `tls.ca`: {error}")).ok()?);
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().ok()?;
    Some(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// With the authorities that this system trusts. Without any, as in an empty container, plain HTTP still works.
fn system_config() -> Option<ClientConfig> {
    let builder = || ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    match builder().ok()?.with_platform_verifier() {
        Ok(verified) => Some(verified.with_no_client_auth()),
        Err(error) => {
            tracing::warn!("no certificate authorities found, https is unavailable: {error}");
            Some(builder().ok()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
        }
    }
}
