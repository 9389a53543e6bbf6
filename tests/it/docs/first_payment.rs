//! The guide for a first payment, as a reader pastes it into a shell.

use gateway::asset::Network;
use support::server::stack::{only, with_configured_stack};

use super::shell;

const PAGE: &str = include_str!("../../../docs/first-payment.md");

/// The commands in the order of the page, but for those that set the environment.
fn commands() -> String {
    let blocks: Vec<_> = PAGE.split("```sh\n").skip(1).collect();
    let blocks = blocks.iter().map(|rest| rest.split_once("```").unwrap().0);
    let (settings, commands): (Vec<_>, Vec<_>) = blocks.partition(|one| one.contains("export "));
    assert!(settings.len() == 1 && commands.len() >= 4, "{commands:?}");
    commands.join("echo\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_payment_goes_as_it_is_written() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let merchant = stack.merchant().await;
        let mut command = shell(&commands());
        command.env("GATEWAY_BASE_URL", format!("http://{}", stack.api));
        command.env("API_KEY", merchant.new.api_key.reveal());
        let ran = command.output().await.unwrap();
        let said = String::from_utf8(ran.stdout).unwrap();
        assert!(ran.status.success() && !said.contains("statusCode"), "{said}");
        assert!(said.contains(r#""txid":"#) && said.contains("invoice.created"), "{said}");
    })
    .await;
}
