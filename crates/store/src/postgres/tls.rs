//! TLS to PostgreSQL by rustls, with libpq's five modes.
//!
//! The crypto provider is named here and not installed for the whole process. So two stores in one process, or another
//! use of rustls in the same program, do not interfere.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tenure_core::{Code, Error, Result, Stage};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::config::SslNegotiation;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::url::{PostgresTarget, Tls};

/// The check of the server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CertificateCheck {
    /// None. The connection is encrypted, but the server is not authenticated.
    Nothing,
    /// A trusted authority signed it.
    Authority,
    /// A trusted authority signed it, and it is for this host.
    AuthorityAndName,
}

/// Creates the connector for a target. It reads the trusted certificates if the mode needs them, and does not connect.
///
/// `target.config` decides whether TLS is used at all.
pub(crate) fn connector(target: &PostgresTarget) -> Result<Connector> {
    let check = match (target.tls, &target.root_certificates) {
        (Tls::Disable | Tls::Prefer, _) | (Tls::Require, None) => CertificateCheck::Nothing,
        (Tls::Require, Some(_)) | (Tls::VerifyCa, _) => CertificateCheck::Authority,
        (Tls::VerifyFull, _) => CertificateCheck::AuthorityAndName,
    };
    let trusted = match (check, &target.root_certificates) {
        (CertificateCheck::Nothing, _) => Vec::new(),
        (_, Some(path)) => from_file(path)?,
        (_, None) => from_system()?,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new(check, trusted, &provider);
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::bug(format!("the TLS versions do not fit the cryptography: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    // A server that expects direct TLS negotiation requires ALPN; other servers never see it.
    if target.config.get_ssl_negotiation() == SslNegotiation::Direct {
        config.alpn_protocols = vec![b"postgresql".to_vec()];
    }
    Ok(Connector { inner: MakeRustlsConnect::new(config), shaken: Arc::default() })
}

/// Connects with TLS by rustls, and records whether the server ever began a handshake: the driver's error for a server
/// without TLS differs from others only by its text.
#[derive(Clone)]
pub(crate) struct Connector {
    inner: MakeRustlsConnect,
    shaken: Arc<AtomicBool>,
}

impl Connector {
    /// Set once a handshake has begun.
    pub(crate) fn shaken(&self) -> Arc<AtomicBool> {
        self.shaken.clone()
    }
}

impl<S> MakeTlsConnect<S> for Connector
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = <MakeRustlsConnect as MakeTlsConnect<S>>::Stream;
    type TlsConnect = Handshake<<MakeRustlsConnect as MakeTlsConnect<S>>::TlsConnect>;
    type Error = <MakeRustlsConnect as MakeTlsConnect<S>>::Error;

    fn make_tls_connect(&mut self, domain: &str) -> std::result::Result<Self::TlsConnect, Self::Error> {
        let inner = MakeTlsConnect::<S>::make_tls_connect(&mut self.inner, domain)?;
        Ok(Handshake { inner, shaken: self.shaken.clone() })
    }
}

/// A handshake that has not yet begun.
pub(crate) struct Handshake<T> {
    inner: T,
    shaken: Arc<AtomicBool>,
}

impl<S, T: TlsConnect<S>> TlsConnect<S> for Handshake<T> {
    type Stream = T::Stream;
    type Error = T::Error;
    type Future = T::Future;

    fn connect(self, stream: S) -> T::Future {
        self.shaken.store(true, Ordering::Relaxed);
        self.inner.connect(stream)
    }
}

fn from_file(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let wrong = |what: String| {
        Error::new(Code::BadRootCertificates, format!("sslrootcert {}: {what}", path.display()))
            .at(Stage::Open)
            .entity(path.display().to_string())
            .hint("Set sslrootcert to a PEM file with the certificates of the trusted authorities.")
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
        .map_err(|error| wrong(error.to_string()).cause(error))?;
    if certificates.is_empty() {
        return Err(wrong("it contains no certificate".into()));
    }
    // In a file that was written for this purpose, an unusable certificate is a mistake to report.
    for certificate in &certificates {
        RootCertStore::empty()
            .add(certificate.clone())
            .map_err(|error| wrong(format!("one of its certificates cannot be used: {error}")).cause(error))?;
    }
    Ok(certificates)
}

fn from_system() -> Result<Vec<CertificateDer<'static>>> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reasons: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        return Err(Error::new(
            Code::BadRootCertificates,
            "this system has no trusted certificates to verify the server with",
        )
        .at(Stage::Open)
        .detail("reasons", reasons)
        .hint(
            "Name a PEM file of authorities with sslrootcert in the store's URL, or install the system's \
               certificates.",
        ));
    }
    Ok(found.certs)
}

/// Verifies what the mode requires. The signature of the handshake is always checked: otherwise a server could present
/// a certificate whose key it does not have, and channel binding would be meaningless.
#[derive(Debug)]
struct Verifier {
    check: CertificateCheck,
    trusted: Vec<CertificateDer<'static>>,
    roots: RootCertStore,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn new(check: CertificateCheck, trusted: Vec<CertificateDer<'static>>, provider: &CryptoProvider) -> Verifier {
        let mut roots = RootCertStore::empty();
        // Systems contain a few unusable certificates. Skipping them only reduces trust, never extends it.
        roots.add_parsable_certificates(trusted.iter().cloned());
        Verifier { check, trusted, roots, algorithms: provider.signature_verification_algorithms }
    }

    fn verify_authority(
        &self,
        shown: &ParsedCertificate<'_>,
        der: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> std::result::Result<(), rustls::Error> {
        match verify_server_cert_signed_by_trust_anchor(shown, &self.roots, intermediates, now, self.algorithms.all) {
            // A self-signed server certificate, as in PostgreSQL's manual, is marked as an authority, and the verifier
            // does not accept it as a server's. It is trusted if it is, byte for byte, among the trusted certificates.
            // Its dates are checked before its marks, and have errors of their own.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(_))) if self.trusted.contains(der) => Ok(()),
            verified => verified,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        if self.check != CertificateCheck::Nothing {
            let shown = ParsedCertificate::try_from(end_entity)?;
            self.verify_authority(&shown, end_entity, intermediates, now)?;
            if self.check == CertificateCheck::AuthorityAndName {
                verify_server_name(&shown, server_name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;
    use tenure_core::Kind;

    use super::super::url::UrlDefaults;
    use super::*;

    // An authority; a certificate for `localhost` that it signed; a self-signed one for `localhost`; another authority.
    // All are valid for a hundred years, and their keys were discarded.
    const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----
MIIBezCCASGgAwIBAgIULUGADIX8ZN1tk3a3ed/rUvvQyaUwCgYIKoZIzj0EAwIw
EjEQMA4GA1UEAwwHVGVzdCBDQTAgFw0yNjExMTUxMDA4MThaGA8yMTI2MTAyMjEw
MDgxOFowEjEQMA4GA1UEAwwHVGVzdCBDQTBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABGdcwe5KWh1JYD2UIKCA8U9e/OZ++WLv+DzexdN4utUb8ltxJA2v4bQ/p1SK
57DU2urO7IxRVsZZccOfBJ0I/1OjUzBRMB0GA1UdDgQWBBSwRbOWWhbpzXmpqCd4
krvQ2NdeAjAfBgNVHSMEGDAWgBSwRbOWWhbpzXmpqCd4krvQ2NdeAjAPBgNVHRMB
Af8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQCSWUjpx0A1LbKzrmxxvvm0s6aN
4Ekw9DvS397JGSJ5PAIgRbUUQThn5sXw8lGrgJ+ngniY1tL5BeC7iUzf/MMXpQ8=
-----END CERTIFICATE-----";
    const SERVER: &str = "-----BEGIN CERTIFICATE-----
MIIBjDCCATOgAwIBAgIUMIKhadGoEAj5AcQpxS33Tt7xueQwCgYIKoZIzj0EAwIw
EjEQMA4GA1UEAwwHVGVzdCBDQTAgFw0yNjExMTUxMDA4MThaGA8yMTI2MTAyMjEw
MDgxOFowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEFLiQwIJtdtmfzBq/YF5SWxjsGymZp/qE2KWTDnbiE8A0IdNk0gR8pKJf
3C3avZW8Oj8FvTTbfVXsE8bAjpOt+KNjMGEwFAYDVR0RBA0wC4IJbG9jYWxob3N0
MAkGA1UdEwQCMAAwHQYDVR0OBBYEFNUbTeUSzWU7EfPAQVWuNXdyydJZMB8GA1Ud
IwQYMBaAFLBFs5ZaFunNeamoJ3iSu9DY114CMAoGCCqGSM49BAMCA0cAMEQCIDpD
j0MiwKSnlNo0XUSC7wKhpFic7raT8kM6bll00M0RAiAY5A9bsG/3f4tbFOKuHTvd
qzEYRA6MmpM4vysJXH5ukw==
-----END CERTIFICATE-----";
    const SELF_SIGNED: &str = "-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIUCwLmjIMJVUe3pkvexSG1sqa4R2EwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTExNTEwMDgxOFoYDzIxMjYxMDIy
MTAwODE4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASo7kzPqCa4IgcVJZ6dSF0evleb5YO8v6ahI1H1U8HfOmMKFe6eCdOd
f3Mei4iVjqOeRADMU1ZiycEdQAWuNe0mo2kwZzAdBgNVHQ4EFgQUkfPUMkckxi6J
QftauLwInUf5a2AwHwYDVR0jBBgwFoAUkfPUMkckxi6JQftauLwInUf5a2AwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
SAAwRQIgEGDnGz4sWZJnHKIAxDAqp6LhadkIymVpOikLMCRKfeUCIQCrFHqe/357
E7GqTCxThQD+wA4DBnaqQpSIK7PInaYN1Q==
-----END CERTIFICATE-----";
    const OTHER: &str = "-----BEGIN CERTIFICATE-----
MIIBfTCCASOgAwIBAgIUAhi1Abpo/+04eSGVeGblj8sUuqowCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIT3RoZXIgQ0EwIBcNMjYxMTE1MTAwODE4WhgPMjEyNjEwMjIx
MDA4MThaMBMxETAPBgNVBAMMCE90aGVyIENBMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAE9xc7LxU+FqhbWrgrIvANM7ezOuDQzl0UW7JQIfM6LUmpJgTD8FJrZV8j
S+85whwSdbYXhWmWHSsLnxrUWkV3HKNTMFEwHQYDVR0OBBYEFBYWM15B544it9T/
T51OZcABkE/0MB8GA1UdIwQYMBaAFBYWM15B544it9T/T51OZcABkE/0MA8GA1Ud
EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAJYz4DWXpqbmGTy644dR6ch0
oHRpdLLXr0DK40MudU6eAiBWrvDWIqngmntGpZxNOeWgHa1hvxOR4iwj5hBw9WF9
1A==
-----END CERTIFICATE-----";

    fn certificate(pem: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
    }

    /// Whether a server with this certificate is accepted as `host`, in the middle of the certificates' hundred years.
    fn accepted(check: CertificateCheck, trusted: &str, shown: &str, host: &'static str) -> bool {
        at(check, trusted, shown, host, 3_000_000_000).is_ok()
    }

    fn at(
        check: CertificateCheck,
        trusted: &str,
        shown: &str,
        host: &'static str,
        unix: u64,
    ) -> std::result::Result<(), rustls::Error> {
        let provider = rustls::crypto::ring::default_provider();
        Verifier::new(check, vec![certificate(trusted)], &provider)
            .verify_server_cert(
                &certificate(shown),
                &[],
                &ServerName::try_from(host).unwrap(),
                &[],
                UnixTime::since_unix_epoch(Duration::from_secs(unix)),
            )
            .map(drop)
    }

    #[test]
    fn each_mode_checks_what_it_says() {
        assert!(accepted(CertificateCheck::Nothing, OTHER, SERVER, "elsewhere"));
        assert!(accepted(CertificateCheck::Authority, AUTHORITY, SERVER, "localhost"));
        assert!(accepted(CertificateCheck::Authority, AUTHORITY, SERVER, "elsewhere"));
        assert!(!accepted(CertificateCheck::Authority, OTHER, SERVER, "localhost"));
        assert!(accepted(CertificateCheck::AuthorityAndName, AUTHORITY, SERVER, "localhost"));
        assert!(!accepted(CertificateCheck::AuthorityAndName, AUTHORITY, SERVER, "elsewhere"));
        assert!(!accepted(CertificateCheck::AuthorityAndName, AUTHORITY, SERVER, "127.0.0.1"));
        assert!(!accepted(CertificateCheck::AuthorityAndName, OTHER, SERVER, "localhost"));
    }

    #[test]
    fn a_server_that_signed_itself_is_trusted_only_if_named() {
        assert!(accepted(CertificateCheck::Authority, SELF_SIGNED, SELF_SIGNED, "elsewhere"));
        assert!(accepted(CertificateCheck::AuthorityAndName, SELF_SIGNED, SELF_SIGNED, "localhost"));
        assert!(!accepted(CertificateCheck::AuthorityAndName, SELF_SIGNED, SELF_SIGNED, "elsewhere"));
        assert!(!accepted(CertificateCheck::Authority, AUTHORITY, SELF_SIGNED, "localhost"));
    }

    #[test]
    fn dates_count_for_both() {
        for (trusted, shown) in [(AUTHORITY, SERVER), (SELF_SIGNED, SELF_SIGNED)] {
            for unix in [1_000_000_000, 9_000_000_000] {
                at(CertificateCheck::Authority, trusted, shown, "localhost", unix).unwrap_err();
            }
        }
    }

    fn connect(url: &str) -> Result<()> {
        connector(&PostgresTarget::parse(url, &UrlDefaults::default())?).map(drop)
    }

    #[test]
    fn a_certificate_file_is_read_when_needed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ca.pem");
        let url = format!("postgres://u@h/d?sslmode=verify-full&sslrootcert={}", file.display());
        let refused = |url: &str| {
            let error = connect(url).unwrap_err();
            assert_eq!((error.kind(), error.code().as_str()), (Kind::Usage, "bad_root_certificates"));
            assert!(error.message().contains("ca.pem"), "{error}");
        };
        refused(&url);
        std::fs::write(&file, "no certificate").unwrap();
        refused(&url);
        std::fs::write(&file, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
        refused(&url);
        std::fs::write(&file, format!("{AUTHORITY}\n{OTHER}\n")).unwrap();
        connect(&url).unwrap();
        for mode in ["disable", "prefer", "require"] {
            connect(&format!("postgres://u@h/d?sslmode={mode}")).unwrap();
        }
    }
}
