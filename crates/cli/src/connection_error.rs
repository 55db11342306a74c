//! Explains why the connection to a cluster failed: the address, the cause and what to do.

use std::error::Error;
use std::fmt;
use std::io;

use hyper_util::client::legacy;
use punctual_client::error_chain;
use rustls::CertificateError;
use tower::BoxError;

/// A failed request or connection to a cluster.
#[derive(Debug)]
pub(crate) struct ConnectionError {
    url: String,
    cause: ConnectionCause,
    source: BoxError,
}

/// The causes that have a known remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionCause {
    Refused,
    TimedOut,
    Unreachable,
    UnknownHost,
    CertificateExpired,
    CertificateNotYetValid,
    UnknownIssuer,
    WrongName,
    OtherCertificate,
    NotTls,
    /// Another failure to connect.
    Connect,
    /// The connection failed during a request.
    Broken,
}

impl ConnectionError {
    /// Finds the cause of an error. `url` must contain no credentials.
    pub(crate) fn new(url: &str, source: BoxError) -> ConnectionError {
        let cause = ConnectionCause::find(&*source);
        ConnectionError { url: url.to_owned(), cause, source }
    }
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConnectionError { url, cause, source } = self;
        let details = error_chain(&**source);
        match cause {
            ConnectionCause::Broken => {
                write!(f, "the connection to the cluster at {url} failed: {details}")
            }
            _ => write!(f, "could not connect to the cluster at {url}: ")
                .and_then(|()| cause.explain(f, &details)),
        }
    }
}

impl Error for ConnectionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

impl ConnectionCause {
    fn find(error: &(dyn Error + 'static)) -> ConnectionCause {
        let mut is_connect = false;
        let mut next = Some(error);
        while let Some(current) = next {
            is_connect |= current.downcast_ref().is_some_and(legacy::Error::is_connect);
            if is_connect && let Some(cause) = ConnectionCause::from_error(current) {
                return cause;
            }
            next = inner(current).or_else(|| current.source());
        }
        if is_connect { ConnectionCause::Connect } else { ConnectionCause::Broken }
    }

    /// Returns the cause that one error of the chain states.
    fn from_error(error: &(dyn Error + 'static)) -> Option<ConnectionCause> {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return ConnectionCause::from_tls_error(error);
        }
        if error.to_string() == "dns error" {
            return Some(ConnectionCause::UnknownHost);
        }
        match error.downcast_ref::<io::Error>()?.kind() {
            io::ErrorKind::ConnectionRefused => Some(ConnectionCause::Refused),
            io::ErrorKind::TimedOut => Some(ConnectionCause::TimedOut),
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                Some(ConnectionCause::Unreachable)
            }
            _ => None,
        }
    }

    fn from_tls_error(error: &rustls::Error) -> Option<ConnectionCause> {
        match error {
            rustls::Error::InvalidCertificate(problem) => Some(match problem {
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    ConnectionCause::CertificateExpired
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    ConnectionCause::CertificateNotYetValid
                }
                CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                    ConnectionCause::UnknownIssuer
                }
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => ConnectionCause::WrongName,
                _ => ConnectionCause::OtherCertificate,
            }),
            rustls::Error::InvalidMessage(_) => Some(ConnectionCause::NotTls),
            _ => None,
        }
    }

    /// Writes the cause and the remedy.
    fn explain(self, f: &mut fmt::Formatter<'_>, details: &str) -> fmt::Result {
        match self {
            ConnectionCause::Refused => f.write_str(
                "connection refused; check that its API server runs and that the kubeconfig has the right \
                 address and port",
            ),
            ConnectionCause::TimedOut => f.write_str(
                "no answer in time; check the address in the kubeconfig, and firewalls and network policies \
                 on the way",
            ),
            ConnectionCause::Unreachable => {
                f.write_str("the network or host is unreachable; check the address and the routes to it")
            }
            ConnectionCause::UnknownHost => {
                f.write_str("unknown host; check the name in the kubeconfig and the DNS of this machine")
            }
            ConnectionCause::CertificateExpired => f.write_str(
                "the server's certificate has expired; renew it, or correct the clock of this machine",
            ),
            ConnectionCause::CertificateNotYetValid => f.write_str(
                "the server's certificate is not valid yet; correct the clock of this machine or the server",
            ),
            ConnectionCause::UnknownIssuer => f.write_str(
                "the server's certificate is signed by an unknown authority; check \
                 certificate-authority in the kubeconfig",
            ),
            ConnectionCause::WrongName => f.write_str(
                "the server's certificate is for another name; use an address that it names, or set \
                 tls-server-name in the kubeconfig",
            ),
            ConnectionCause::OtherCertificate => {
                write!(f, "the server's certificate is not accepted: {details}")
            }
            ConnectionCause::NotTls => {
                f.write_str("the server does not speak TLS; check the port and whether http:// is meant")
            }
            ConnectionCause::Connect | ConnectionCause::Broken => f.write_str(details),
        }
    }
}

/// Returns the error inside an I/O error, which is not among its sources.
fn inner<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    let inner = error.downcast_ref::<io::Error>()?.get_ref()?;
    Some(inner)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;

    use rcgen::{CertificateParams, CertifiedKey, Issuer, KeyPair, date_time_ymd};
    use rustls::pki_types::PrivateKeyDer;
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use crate::transport;

    /// The error of a client that trusts `root` and connects to `host` at this address.
    async fn error_of(host: &str, address: SocketAddr, root: Option<Vec<u8>>) -> String {
        let url = format!("https://user:secret@{host}:{}", address.port());
        let mut config = kube::Config::new(url.parse().unwrap());
        config.root_cert = Some(root.into_iter().collect());
        let client = transport::build_client(config, 0).unwrap();
        let error = client.apiserver_version().await.unwrap_err();
        punctual_client::ApiError::from(error).to_string()
    }

    /// Serves TLS with a certificate for `localhost`. Returns the address and the certificate of the CA.
    async fn serve_tls(last_year: i32) -> (SocketAddr, Vec<u8>) {
        let ca_key = KeyPair::generate().unwrap();
        let mut ca = CertificateParams::default();
        ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let ca_certificate = ca.self_signed(&ca_key).unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(last_year, 1, 1);
        let signing_key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&signing_key, &Issuer::new(ca, ca_key)).unwrap();
        let served = CertifiedKey { cert, signing_key };
        let key = PrivateKeyDer::try_from(served.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![served.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let _ = acceptor.accept(socket).await;
            }
        });
        (address, ca_certificate.der().to_vec())
    }

    #[tokio::test]
    async fn a_refused_connection_names_the_address_and_the_remedy() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let error = error_of("127.0.0.1", address, None).await;
        let want = format!(
            "could not connect to the cluster at https://{address}: connection refused; check that"
        );
        assert!(error.starts_with(&want), "{error}");
    }

    #[tokio::test]
    async fn an_unknown_host_is_named() {
        let error = error_of("no-such-host.invalid", ([127, 0, 0, 1], 6443).into(), None).await;
        let want =
            "could not connect to the cluster at https://no-such-host.invalid:6443: unknown host;";
        assert!(error.starts_with(want), "{error}");
    }

    #[tokio::test]
    async fn problems_of_certificates_are_distinguished() {
        let (expired, root) = serve_tls(2002).await;
        let error = error_of("localhost", expired, Some(root)).await;
        assert!(error.contains("certificate has expired; renew it"), "{error}");
        let (valid, root) = serve_tls(2101).await;
        let error = error_of("localhost", valid, None).await;
        assert!(error.contains("signed by an unknown authority; check"), "{error}");
        let error = error_of("127.0.0.1", valid, Some(root)).await;
        assert!(error.contains("certificate is for another name"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }

    #[tokio::test]
    async fn a_server_without_tls_is_recognized() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let _ = socket.try_write(b"HTTP/1.1 400 Bad Request\r\n\r\n");
                tokio::time::sleep(std::time::Duration::from_secs(5)).await;
            }
        });
        let error = error_of("127.0.0.1", address, None).await;
        assert!(error.contains("the server does not speak TLS; check the port"), "{error}");
    }
}
