//! A browser without scripts: it keeps cookies, sends the origin, and posts the form it was shown.

use std::{collections::BTreeMap, net::SocketAddr};

use super::{Answer, Client};
use gateway::app::Gateway;
use http::{Method, header};
use url::{Url, form_urlencoded};

#[derive(Clone)]
pub struct Visitor {
    server: SocketAddr,
    origin: String,
    pub cookies: BTreeMap<String, String>,
    /// Of the form that was seen last.
    pub token: String,
}

impl Visitor {
    pub fn new(server: SocketAddr, dashboard_url: &str) -> Self {
        let origin = dashboard_url.trim_end_matches('/').to_owned();
        Self { server, origin, cookies: BTreeMap::new(), token: String::new() }
    }

    /// Somebody whose account exists, signed in by a link of the sandbox.
    pub async fn signed_in(server: SocketAddr, gateway: &Gateway, email: &str) -> Self {
        let link = Url::parse(&gateway.create_sign_in_link(email).await.unwrap()).unwrap();
        let mut visitor = Self::new(server, &gateway.config.dashboard_url);
        visitor.get(link.path()).await;
        let answer = visitor.post(link.path(), &[]).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{}", answer.body);
        visitor
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        let answer = self.client().send(Method::GET, path, "").await;
        self.take(answer)
    }

    /// Asks with further headers.
    pub async fn get_with(&mut self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let client = headers
            .iter()
            .fold(self.client(), |client, (name, value)| client.with_header(name, value));
        let answer = client.send(Method::GET, path, "").await;
        self.take(answer)
    }

    /// Posts fields with the token of the form that was seen last.
    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = self.token.clone();
        self.post_as(path, fields, &token, Some(&self.origin.clone())).await
    }

    /// The same with another token and another origin.
    pub async fn post_as(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        token: &str,
        origin: Option<&str>,
    ) -> Answer {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("token", token).extend_pairs(fields);
        let mut client =
            self.client().with_header("content-type", "application/x-www-form-urlencoded");
        if let Some(origin) = origin {
            client = client.with_header("origin", origin);
        }
        let answer = client.send(Method::POST, path, &form.finish()).await;
        self.take(answer)
    }

    fn client(&self) -> Client {
        let cookies: Vec<_> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let client = Client::new(self.server).with_header("user-agent", "a browser");
        if cookies.is_empty() { client } else { client.with_header("cookie", &cookies.join("; ")) }
    }

    fn take(&mut self, answer: Answer) -> Answer {
        for line in answer.headers.get_all(header::SET_COOKIE) {
            let line = line.to_str().unwrap();
            let (name, rest) = line.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        if let Some((_, rest)) = answer.body.split_once("name=\"token\" value=\"") {
            rest.split('"').next().unwrap().clone_into(&mut self.token);
        }
        answer
    }

    pub fn session(&self) -> Option<&str> {
        self.cookies.get("gateway-session").map(String::as_str)
    }

    /// Posts a form with a file, as browsers do without a script.
    pub async fn post_file(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        (name, content): (&str, &[u8]),
    ) -> Answer {
        const BOUNDARY: &str = "----a-browsers-boundary";
        let mut body = Vec::new();
        let token = self.token.clone();
        for (field, value) in [("token", token.as_str())].iter().chain(fields) {
            let head =
                format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{field}\"\r\n\r\n");
            body.extend([head.as_bytes(), value.as_bytes(), b"\r\n"].concat());
        }
        let head = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             content-type: text/csv\r\n\r\n"
        );
        body.extend(
            [head.as_bytes(), content, format!("\r\n--{BOUNDARY}--\r\n").as_bytes()].concat(),
        );
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        let client =
            self.client().with_header("content-type", &kind).with_header("origin", &self.origin);
        let answer = client.send_bytes(Method::POST, path, &body).await;
        self.take(answer)
    }
}
