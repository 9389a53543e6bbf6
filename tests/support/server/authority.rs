//! A certificate authority of one test's own, and a server's certificate from it, made with the
//! openssl program.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    process::Command,
};

use crate::server::scratch::Scratch;

const AUTHORITY: &str = "[req]\ndistinguished_name = dn\nx509_extensions = v3\nprompt = no\n\
                         [dn]\nCN = gateway test authority\n\
                         [v3]\nbasicConstraints = critical,CA:true\nkeyUsage = critical,keyCertSign\n\
                         subjectKeyIdentifier = hash\n";
const SERVER: &str = "[req]\ndistinguished_name = dn\nprompt = no\n[dn]\nCN = localhost\n\
                      [v3]\nbasicConstraints = CA:false\nsubjectAltName = DNS:localhost";
const LOOPBACK: [IpAddr; 1] = [IpAddr::V4(Ipv4Addr::LOCALHOST)];
const NEW_KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/// Its files are gone with it.
pub struct Authority {
    _folder: Scratch,
    made: PathBuf,
}

impl Authority {
    #[expect(clippy::new_without_default, reason = "it makes files")]
    pub fn new() -> Self {
        Self::of_servers_at(LOOPBACK)
    }

    /// Its server's certificate is for all these addresses.
    pub fn of_servers_at(addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        let folder = Scratch::new();
        let made = folder.fresh("authority");
        fs::create_dir(&made).unwrap();
        let authority = Self { _folder: folder, made };
        fs::write(authority.file("ca.cnf"), AUTHORITY).unwrap();
        let named = |address| format!(",IP:{address}");
        let addresses: String = addresses.into_iter().map(named).collect();
        fs::write(authority.file("server.cnf"), format!("{SERVER}{addresses}\n")).unwrap();
        let make = |arguments: &[&str]| authority.openssl(arguments);
        let ca = ["req", "-x509", "-config", "ca.cnf", "-days", "2", "-keyout", "ca.key", "-out"];
        make(&[&ca[..], &["ca.pem"], &NEW_KEY].concat());
        let request = ["req", "-config", "server.cnf", "-keyout", "server.key", "-out"];
        make(&[&request[..], &["server.csr"], &NEW_KEY].concat());
        let by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"];
        let sign = ["x509", "-req", "-in", "server.csr", "-extfile", "server.cnf", "-extensions"];
        make(&[&sign[..], &["v3", "-out", "server.pem"], &by].concat());
        authority
    }

    fn openssl(&self, arguments: &[&str]) {
        let output = Command::new("openssl").args(arguments).current_dir(&self.made).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.made.join(name)
    }

    /// The certificate that clients trust.
    pub fn certificate(&self) -> PathBuf {
        self.file("ca.pem")
    }

    /// The server's certificate and key.
    pub fn server(&self) -> [PathBuf; 2] {
        ["server.pem", "server.key"].map(|name| self.file(name))
    }

    /// Copies the server's certificate and key into `folder` and returns where they are.
    pub fn equip(&self, folder: &Path) -> [PathBuf; 2] {
        self.server().map(|file| {
            let copy = folder.join(file.file_name().unwrap());
            fs::copy(file, &copy).unwrap();
            copy
        })
    }

    /// An address that trusts this authority alone, in the parameter that the server's kind of
    /// client knows.
    pub fn trusted(&self, url: &str, parameter: &str) -> String {
        let mark = if url.contains('?') { '&' } else { '?' };
        format!("{url}{mark}{parameter}={}", self.certificate().display())
    }
}
