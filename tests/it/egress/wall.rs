//! Names that resolve to internal addresses, and names that change their address (DNS rebinding).

use std::{
    net::Ipv4Addr,
    sync::atomic::{AtomicUsize, Ordering},
};

use gateway::egress::Refusal;

use super::*;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const METADATA: IpAddr = IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254));

fn developer() -> PublicPolicy {
    PublicPolicy { allow_private: true, denied_ports: vec![] }
}

#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_is_not_dialled() {
    let receiver = Hostile::always(Act::answer("200 OK", "inside")).await;
    let port = receiver.address.port();
    let egress = with_names(PublicPolicy::default(), |_| Ok(vec![HERE]));
    for text in [format!("http://shop.example:{port}/"), format!("https://shop.example:{port}/")] {
        let error = post(&egress, &text).await.expect_err("a refusal");
        assert_eq!(error, EgressError::Refused(Refusal::Loopback));
    }
    for text in
        [receiver.url("/"), format!("http://localhost:{port}/"), format!("http://0x7f.1:{port}/")]
    {
        let error = post(&Egress::new(Policy::public()), &text).await.expect_err("a refusal");
        assert_eq!(error, EgressError::Refused(Refusal::Loopback), "{text}");
    }
    assert_eq!(receiver.connection_count(), 0);
}

#[tokio::test]
async fn a_name_is_asked_again_for_every_connection() {
    let closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let receiver = Hostile::always(Act::SayAndClose(closing.to_vec())).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let egress = with_names(developer(), move |_| {
        let first = counter.fetch_add(1, Ordering::SeqCst) == 0;
        Ok(vec![if first { HERE } else { METADATA }])
    });
    let target = format!("http://shop.example:{}/", receiver.address.port());
    assert_eq!(post(&egress, &target).await.expect("an answer").peer, Some(receiver.address));
    receiver.open_at_most(0, LONG).await;
    let error = post(&egress, &target).await.expect_err("the name moved inside");
    assert_eq!(error, EgressError::Refused(Refusal::LinkLocal));
    assert_eq!((asked.load(Ordering::SeqCst), receiver.connection_count()), (2, 1));
}

#[tokio::test]
async fn of_mixed_answers_only_the_allowed_ones_are_dialled() {
    let receiver = Hostile::always(Act::answer("200 OK", "")).await;
    let egress = with_names(developer(), |_| {
        let mapped = "::ffff:0.0.0.0".parse().expect("an address");
        Ok(vec![METADATA, Ipv4Addr::UNSPECIFIED.into(), mapped, HERE])
    });
    let answer = post(&egress, &format!("http://shop.example:{}/", receiver.address.port())).await;
    assert_eq!(answer.expect("an answer").peer, Some(receiver.address));
}

#[tokio::test]
async fn our_own_ports_stay_closed_on_a_developers_machine() {
    let database = Hostile::always(Act::answer("200 OK", "rows")).await;
    let port = database.address.port();
    let policy = PublicPolicy { allow_private: true, denied_ports: vec![port] };
    let egress = with_names(policy, |_| Ok(vec![HERE]));
    for host in ["127.0.0.1", "127.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "shop.example"] {
        let error = post(&egress, &format!("http://{host}:{port}/")).await.expect_err("a refusal");
        assert_eq!(error, EgressError::Refused(Refusal::DeniedPort), "{host}");
    }
    assert_eq!(database.connection_count(), 0);
}

#[tokio::test]
async fn the_operators_own_endpoints_may_be_anywhere() {
    let node = Hostile::always(Act::answer("200 OK", "{}")).await;
    let egress = Egress::new(Policy::Operator);
    assert_eq!(post(&egress, &node.url("/")).await.expect("an answer").status, 200);
    for (text, kind) in [("ftp://127.0.0.1/", "refused"), ("http://a:b@127.0.0.1/", "refused")] {
        assert_eq!(post(&egress, text).await.expect_err("a refusal").kind(), kind, "{text}");
    }
}
