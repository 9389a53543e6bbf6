//! The demonstration shop of `examples/shop`, as `make run` starts it.

use std::{net::SocketAddr, time::Duration};

use gateway::{app::merchant::manage::NewMerchant, merchant::settings::Settings};
use serde_json::json;

use crate::{
    client::Client,
    server::{
        processes::{Launch, Process, free_port, program, within},
        stack::Stack,
    },
};

/// The running shop, with a merchant of its own.
pub struct Roastery {
    pub url: String,
    /// The origin of the checkout that its pages embed.
    pub checkout: String,
    pub webhook_secret: String,
    address: SocketAddr,
    _process: Process,
}

impl Roastery {
    pub async fn start(stack: &Stack) -> Self {
        let new: NewMerchant =
            stack.gateway.create_merchant("Roastery", Settings::default()).await.unwrap();
        let merchant = json!({ "api_key": new.api_key.reveal(), "webhook_secret": new.webhook_secret.reveal() });
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let checkout = format!("http://{}", stack.checkout);
        let environment = [
            ("GATEWAY_BASE_URL", format!("http://{}", stack.api)),
            ("GATEWAY_CHECKOUT_URL", checkout.clone()),
            ("SHOP_LISTEN", address.to_string()),
            ("SHOP_MERCHANT", merchant.to_string()),
        ];
        let process = Process::start(&Launch {
            name: "demo-shop".into(),
            program: program("demo-shop"),
            arguments: vec![],
            environment: environment.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            owner: None,
        });
        within(Duration::from_secs(60), "the shop listens", async || {
            let socket = tokio::net::TcpStream::connect(address).await;
            socket.map(drop).map_err(|error| error.to_string())
        })
        .await;
        let webhook_secret = new.webhook_secret.reveal().to_owned();
        Self {
            url: format!("http://{address}"),
            checkout,
            webhook_secret,
            address,
            _process: process,
        }
    }

    /// A client of the shop, without a browser.
    pub fn client(&self) -> Client {
        Client::new(self.address)
    }
}
