//! An authenticator in memory: it answers the questions of pages as a browser's script would.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
use p256::ecdsa::{Signature, SigningKey, signature::Signer};
use serde_json::json;
use sha2::{Digest, Sha256};

const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 4;
const ATTESTED: u8 = 0x40;

/// One passkey, with what a test may falsify.
#[derive(Clone)]
pub struct Passkey {
    pub key: SigningKey,
    pub id: Vec<u8>,
    pub user_handle: String,
    pub count: u32,
    pub verifies_user: bool,
    pub origin: String,
}

/// A question as it stands in a page.
pub struct Question {
    pub challenge: String,
    pub site: String,
    pub user: Option<String>,
}

pub fn question(page: &str) -> Question {
    let attribute = |name: &str| {
        let (_, rest) = page.split_once(&format!("{name}=\""))?;
        Some(rest.split('"').next().unwrap().to_owned())
    };
    let challenge = attribute("data-challenge").unwrap_or_else(|| panic!("no question in {page}"));
    Question { challenge, site: attribute("data-site").unwrap(), user: attribute("data-user") }
}

impl Passkey {
    pub fn new(origin: &str) -> Self {
        let scalar: [u8; 32] = rand::random();
        Self {
            key: SigningKey::from_slice(&scalar).unwrap(),
            id: rand::random::<[u8; 20]>().to_vec(),
            user_handle: String::new(),
            count: 0,
            verifies_user: true,
            origin: origin.trim_end_matches('/').to_owned(),
        }
    }

    /// The fields of a form that registers it.
    pub fn register(&mut self, question: &Question) -> Vec<(&'static str, String)> {
        self.user_handle = question.user.clone().unwrap();
        let point = self.key.verifying_key().to_sec1_point(false);
        let point = point.as_bytes();
        let mut data = self.head(&question.site, ATTESTED);
        data.extend([0; 16]);
        data.extend(u16::try_from(self.id.len()).unwrap().to_be_bytes());
        data.extend(&self.id);
        data.extend([0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 0x20]);
        data.extend(&point[1..33]);
        data.extend([0x22, 0x58, 0x20]);
        data.extend(&point[33..]);
        vec![
            ("client_data", encode(self.client_data("webauthn.create", question).as_bytes())),
            ("authenticator_data", encode(&data)),
            ("name", "Pocket".to_owned()),
        ]
    }

    /// The fields of a form that uses it.
    pub fn answer(&mut self, question: &Question) -> Vec<(&'static str, String)> {
        self.count += 1;
        let data = self.head(&question.site, 0);
        let client_data = self.client_data("webauthn.get", question);
        let signed = [data.as_slice(), Sha256::digest(client_data.as_bytes()).as_slice()].concat();
        let signature: Signature = self.key.sign(&signed);
        vec![
            ("credential_id", encode(&self.id)),
            ("client_data", encode(client_data.as_bytes())),
            ("authenticator_data", encode(&data)),
            ("signature", encode(signature.to_der().as_bytes())),
            ("user_handle", self.user_handle.clone()),
        ]
    }

    fn client_data(&self, kind: &str, question: &Question) -> String {
        json!({ "type": kind, "challenge": question.challenge, "origin": self.origin, "crossOrigin": false })
            .to_string()
    }

    fn head(&self, site: &str, flags: u8) -> Vec<u8> {
        let verified = if self.verifies_user { USER_VERIFIED } else { 0 };
        let mut data = Sha256::digest(site).to_vec();
        data.push(flags | USER_PRESENT | verified);
        data.extend(self.count.to_be_bytes());
        data
    }
}

fn encode(bytes: &[u8]) -> String {
    BASE64URL.encode(bytes)
}
