//! The checkout as buyers use it: in a browser, against a whole stack and the simulated chain.

mod budget;
mod choosing;
mod connection;
mod dashboard_journey;
mod docs;
mod ending;
mod every_language;
mod happened;
mod language;
mod links;
mod locale;
mod payee;
mod paying;
mod receipt;
mod sooner;
mod till;
mod trust;
mod widget;

use gateway::merchant::settings::Settings;
use support::{
    client::browser::{Browser, Tab},
    shop::{Shop, with_configured_shop},
};

/// A shop whose workers run, and a browser. All tabs poll from one address, so the limit is lifted.
async fn with_browser<F: Future<Output = ()>>(test: impl FnOnce(Shop, Browser) -> F) {
    with_browser_on("", test).await;
}

/// Polygon as a chain with an id of its own. Pages of the simulated chain show no code with an
/// amount, because it would name the real one.
const TEST_CHAIN: &str = "chains.polygon.chain_id = 80002\n";

/// The same, with `toml` on top of the configuration.
async fn with_browser_on<F: Future<Output = ()>>(
    toml: &str,
    test: impl FnOnce(Shop, Browser) -> F,
) {
    with_configured_shop(toml, Settings::default(), |shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        test(shop, Browser::start().await).await;
    })
    .await;
}

fn page(shop: &Shop, id: &str) -> String {
    format!("http://{}/pay/{id}", shop.stack.checkout)
}

/// Takes the page's picture on a phone and in a window, light and dark, and finds no problem for a
/// screen reader, a narrow screen or the page's own policy.
async fn inspect(tab: &Tab, name: &str) {
    for (width, scheme, suffix) in [(1280, "light", ""), (360, "dark", "-dark"), (360, "light", "")]
    {
        tab.resize(width).await;
        tab.scheme(scheme).await;
        tab.picture(&format!("{name}{suffix}"), width).await;
        let found = if scheme == "dark" { tab.illegible().await } else { tab.inaccessible().await };
        assert_eq!(found, Vec::<String>::new(), "{name} {width} {scheme}");
    }
    tab.resize(320).await;
    let overflow = tab.eval("document.documentElement.scrollWidth - innerWidth").await;
    assert!(overflow.as_i64().unwrap() <= 0, "{name} is wider than 320 px by {overflow}");
    tab.resize(360).await;
    assert_eq!(tab.complaints().await, Vec::<String>::new(), "{name}");
}

/// Keeps measurements in `.run`.
fn keep(name: &str, text: &str) {
    let run = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../.run");
    std::fs::create_dir_all(&run).unwrap();
    std::fs::write(run.join(name), text).unwrap();
}
