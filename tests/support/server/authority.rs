//! A certificate authority of one test's own, and a server's certificate from it, made with the
//! openssl program.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::server::scratch::Scratch;

const AUTHORITY: &str = "[req]\ndistinguished_name = dn\nx509_extensions = v3\nprompt = no\n\
                         [dn]\nCN = gateway test authority\n\
                         [v3]\nbasicConstraints = critical,CA:true\nkeyUsage = critical,keyCertSign\n\
                         subjectKeyIdentifier = hash\n";
const SERVER: &str = "[req]\ndistinguished_name = dn\nprompt = no\n[dn]\nCN = localhost\n\
                      [v3]\nbasicConstraints = CA:false\nsubjectAltName = IP:127.0.0.1,DNS:localhost\n";
const NEW_KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/// Its files are gone with it.
pub struct Authority {
    _folder: Scratch,
    made: PathBuf,
}

impl Authority {
    #[expect(clippy::new_without_default, reason = "it makes files")]
    pub fn new() -> Self {
        let folder = Scratch::new();
        let made = folder.fresh("authority");
        fs::create_dir(&made).unwrap();
        let authority = Self { _folder: folder, made };
        fs::write(authority.file("ca.cnf"), AUTHORITY).unwrap();
        fs::write(authority.file("server.cnf"), SERVER).unwrap();
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

    /// Copies the server's certificate and key into `folder` and returns where they are.
    pub fn equip(&self, folder: &Path) -> [PathBuf; 2] {
        ["server.pem", "server.key"].map(|name| {
            let copy = folder.join(name);
            fs::copy(self.file(name), &copy).unwrap();
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
