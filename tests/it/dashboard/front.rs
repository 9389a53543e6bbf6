//! A merchant as buyers see it, changed by its owner.

use gateway::{account::Role, app::merchant::change::Changes};

use super::{Visitor, between, with_desk};

/// The value of a form's field in a page.
fn field(body: &str, name: &str) -> String {
    between(body, &format!("name=\"{name}\" value=\""), "\"").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_buyers_see_is_checked_and_a_logo_is_served_anew_from_the_checkout() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        let logo = support::client::picture::noise(600, 300);
        let read = async |owner: &mut Visitor| {
            let body = owner.get("/settings").await.body;
            // The first form has a version of its own.
            field(body.split_once("id=\"front\"").unwrap().1, "version")
        };
        let version = read(&mut owner).await;
        for (colour, contact, refusal) in [
            ("red", "help@shop.example", "six hexadecimal digits"),
            ("#ffe000;}", "help@shop.example", "six hexadecimal digits"),
            ("#ffe000", "javascript:alert(1)", "an e-mail address"),
            ("#ffe000", "http://shop.example", "an e-mail address"),
        ] {
            let fields = [("version", version.as_str()), ("colour", colour), ("contact", contact)];
            let refused = owner.post("/settings/front", &fields).await;
            assert_eq!(refused.status, 422, "{colour} {contact}");
            assert!(refused.body.contains(refusal), "{}", refused.body);
        }
        let fields = [
            ("version", version.as_str()),
            ("colour", "#FFE000"),
            ("contact", "help@shop.example"),
        ];
        let svg = ("logo.svg", &b"<svg onload='alert(1)'/>"[..]);
        let refused = owner.post_file("/settings/front", &fields, svg).await;
        assert_eq!(refused.status, 422);
        assert!(refused.body.contains("a PNG file"), "{}", refused.body);
        let saved =
            owner.post_file("/settings/front", &fields, ("logo.png", logo.as_slice())).await;
        assert_eq!(saved.status, 303, "{}", saved.body);
        // The form that was open before changes nothing any more.
        assert_eq!(owner.post("/settings/front", &fields).await.status, 422);

        let front = desk.gateway.front_of(merchant.new.id).await.unwrap().unwrap();
        let place = front.logo.unwrap();
        assert_eq!((place.width, place.height), (192, 96));
        let (served, _) = desk.stack.buyer().get_bytes(&format!("/logo/{}.png", place.name)).await;
        for (name, value) in [
            ("content-type", "image/png"),
            ("cache-control", "public, max-age=31536000, immutable"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(served[name], value, "{name}");
        }
        for odd in ["x.png", "%00.png", "..%2F..%2Fetc%2Fpasswd", &"0".repeat(32)] {
            assert_eq!(desk.stack.buyer().get(&format!("/logo/{odd}")).await.status, 404, "{odd}");
        }
        let noted = desk.gateway.audit(None, None).await.unwrap();
        let of_front = noted.iter().filter(|entry| entry.subject_kind == "merchant_front");
        let changes: String = of_front.map(|entry| entry.change.to_string()).collect();
        assert!(changes.contains("help@shop.example"), "{changes}");
        assert!(!changes.contains("89504e47"), "the audit log keeps no pictures: {changes}");

        let version = read(&mut owner).await;
        let fields = [("version", version.as_str()), ("remove_logo", "yes")];
        assert_eq!(owner.post("/settings/front", &fields).await.status, 303);
        let front = desk.gateway.front_of(merchant.new.id).await.unwrap().unwrap();
        assert!(front.logo.is_none() && front.colour.is_none() && front.contact.is_none());
        let gone = desk.stack.buyer().get(&format!("/logo/{}.png", place.name)).await;
        assert_eq!(gone.status, 404);
    })
    .await;
}

/// A name that resembles another one by trickery is not taken: buyers read it (A61).
#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_takes_no_name_that_only_looks_like_another() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        for (name, taken) in
            [("\u{430}pple", false), ("Sh\u{202e}op", false), ("Кофейня", true), ("Café 9", true)]
        {
            let changes = Changes { name: Some(name.to_owned()), ..Changes::default() };
            let done = desk.gateway.change_merchant(merchant.new.id, changes).await;
            assert_eq!(done.is_ok(), taken, "{name}");
        }
    })
    .await;
}
