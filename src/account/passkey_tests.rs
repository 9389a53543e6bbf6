//! Vectors of the W3C (Web Authentication, level 3, section 16), and answers signed with its keys.

use p256::ecdsa::{SigningKey, signature::Signer};

use super::*;

const RP_ID: &str = "example.org";
const ORIGIN: &str = "https://example.org";

/// Registrations: the challenge, the client data, and the authenticator data of the attestation.
/// "none.ES256" was made without user verification, "packed-self.ES256" with it.
const NONE_CHALLENGE: &str = "00c30fb78531c464d2b6771dab8d7b603c01162f2fa486bea70f283ae556e130";
const NONE_CLIENT_DATA: &str = "7b2274797065223a22776562617574686e2e637265617465222c226368616c6c656e6765223a22414d4d507434557878475453746e63647134313759447742466938767049612d7077386f4f755657345441222c226f726967696e223a2268747470733a2f2f6578616d706c652e6f7267222c2263726f73734f726967696e223a66616c73652c22657874726144617461223a22636c69656e74446174614a534f4e206d617920626520657874656e6465642077697468206164646974696f6e616c206669656c647320696e20746865206675747572652c207375636820617320746869733a20426b5165446a646354427258426941774a544c453551227d";
const NONE_DATA: &str = "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b559000000008446ccb9ab1db374750b2367ff6f3a1f0020f91f391db4c9b2fde0ea70189cba3fb63f579ba6122b33ad94ff3ec330084be4a5010203262001215820afefa16f97ca9b2d23eb86ccb64098d20db90856062eb249c33a9b672f26df61225820930a56b87a2fca66334b03458abf879717c12cc68ed73290af2e2664796b9220";
const SELF_DATA: &str = "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b55d00000000df850e09db6afbdfab51697791506cfc0020455ef34e2043a87db3d4afeb39bbcb6cc32df9347c789a865ecdca129cbef58ca5010203262001215820eb151c8176b225cc651559fecf07af450fd85802046656b34c18f6cf193843c5225820927b8aa427a2be1b8834d233a2d34f61f13bfd44119c325d5896e183fee484f2";
const SELF_PRIVATE_KEY: &str = "b4bbfa5d68e1693b6ef5a19a0e60ef7ee2cbcac81f7fec7006ac3a21e0c5116a";
const SELF_CREDENTIAL: &str = "455ef34e2043a87db3d4afeb39bbcb6cc32df9347c789a865ecdca129cbef58c";

/// Uses of both credentials, without user verification.
const NONE_USE_DATA: &str =
    "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b51900000000";
const NONE_USE_CHALLENGE: &str = "39c0e7521417ba54d43e8dc95174f423dee9bf3cd804ff6d65c857c9abf4d408";
const NONE_USE_CLIENT_DATA: &str = "7b2274797065223a22776562617574686e2e676574222c226368616c6c656e6765223a224f63446e55685158756c5455506f334a5558543049393770767a7a59425039745a63685879617630314167222c226f726967696e223a2268747470733a2f2f6578616d706c652e6f7267222c2263726f73734f726967696e223a66616c73657d";
const NONE_USE_SIGNATURE: &str = "3046022100f50a4e2e4409249c4a853ba361282f09841df4dd4547a13a87780218deffcd380221008480ac0f0b93538174f575bf11a1dd5d78c6e486013f937295ea13653e331e87";
const SELF_USE_DATA: &str =
    "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b50900000000";
const SELF_USE_CLIENT_DATA: &str = "7b2274797065223a22776562617574686e2e676574222c226368616c6c656e6765223a225248696843784e534e493352594d45314f7731476d3132786e726b634a5f6666707637546e2d4a71386773222c226f726967696e223a2268747470733a2f2f6578616d706c652e6f7267222c2263726f73734f726967696e223a66616c73652c22657874726144617461223a22636c69656e74446174614a534f4e206d617920626520657874656e6465642077697468206164646974696f6e616c206669656c647320696e20746865206675747572652c207375636820617320746869733a206754623533727a36456853576f6d58477a696d433151227d";
const SELF_USE_SIGNATURE: &str = "304402203310b9431903c401f1be2bdc8d23a4007682dbbddcf846994947b7f465daf84002204e94dd00047b316061b3b99772b7efd95994a83ef584b3b6b825ea3550251b66";

fn bytes(hex: &str) -> Vec<u8> {
    hex::decode(hex).unwrap()
}

/// Authenticator data with other flags.
fn flagged(data: &str, flags: u8) -> Vec<u8> {
    let mut data = bytes(data);
    data[RP_ID_HASH_BYTES] = flags;
    data
}

/// The key of registration data, whatever its flags say.
fn key_of(data: &str) -> Key {
    let data = flagged(data, ATTESTED | USER_PRESENT | USER_VERIFIED);
    new_credential(&data, RP_ID).unwrap().key
}

#[test]
fn client_data_of_the_w3c_is_read() {
    for (data, ceremony, challenge) in [
        (NONE_CLIENT_DATA, Ceremony::Create, NONE_CHALLENGE),
        (NONE_USE_CLIENT_DATA, Ceremony::Get, NONE_USE_CHALLENGE),
    ] {
        assert_eq!(challenge_of(&bytes(data), ceremony, ORIGIN), Ok(bytes(challenge)));
    }
}

#[test]
fn client_data_counts_for_its_ceremony_and_origin_alone() {
    let text = |change: &dyn Fn(&str) -> String| {
        let plain = String::from_utf8(bytes(NONE_USE_CLIENT_DATA)).unwrap();
        challenge_of(change(&plain).as_bytes(), Ceremony::Get, ORIGIN).err()
    };
    assert_eq!(text(&ToOwned::to_owned), None);
    let replaced = |from: &'static str, to: &'static str| text(&|plain| plain.replace(from, to));
    assert_eq!(replaced("webauthn.get", "webauthn.create"), Some(Refused::Ceremony));
    assert_eq!(replaced("webauthn.get", "payment.get"), Some(Refused::Ceremony));
    for origin in [
        "http://example.org",
        "https://example.org:444",
        "https://example.org.evil.example",
        "https://sub.example.org",
        "null",
    ] {
        assert_eq!(replaced("https://example.org", origin), Some(Refused::Origin), "{origin}");
    }
    assert_eq!(replaced(":false", ":true"), Some(Refused::Origin));
    let framed = "\"crossOrigin\":false,\"topOrigin\":\"https://evil.example\"";
    assert_eq!(replaced("\"crossOrigin\":false", framed), Some(Refused::Origin));
    for (from, to) in [
        ("{", ""),
        ("\"challenge\"", "\"other\""),
        ("OcDn", "+/=="),
        ("}", ",\"type\":\"webauthn.get\"}"),
    ] {
        assert_eq!(replaced(from, to), Some(Refused::ClientData), "{to}");
    }
}

#[test]
fn a_credential_of_the_w3c_is_read_and_needs_user_verification() {
    let made = new_credential(&bytes(SELF_DATA), RP_ID).unwrap();
    assert_eq!((hex::encode(&made.id).as_str(), made.key.sign_count), (SELF_CREDENTIAL, 0));
    let signing = SigningKey::from_slice(&bytes(SELF_PRIVATE_KEY)).unwrap();
    assert_eq!(verifying_key(&made.key.public_key).unwrap(), *signing.verifying_key());
    assert_eq!(new_credential(&bytes(NONE_DATA), RP_ID), Err(Refused::NotVerified));
}

#[test]
fn a_new_credential_of_any_other_form_is_refused() {
    let change = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut data = bytes(SELF_DATA);
        change(&mut data);
        new_credential(&data, RP_ID).map(|made| made.id.len())
    };
    let form = Err(Refused::AuthenticatorData);
    assert_eq!(new_credential(&bytes(SELF_DATA), "evil.example"), Err(Refused::Site));
    assert_eq!(change(&|data| data[32] &= !ATTESTED), form);
    assert_eq!(change(&|data| data[32] &= !BACKUP_ELIGIBLE), form);
    assert_eq!(change(&|data| data[32] &= !USER_PRESENT), Err(Refused::NotVerified));
    // An extension that a browser added stands behind the key; nothing may stand there unannounced.
    let extension = b"\xa1\x6bcredProtect\x02";
    assert_eq!(
        change(&|data| {
            data[32] |= EXTENDED;
            data.extend(extension);
        }),
        Ok(32)
    );
    assert_eq!(change(&|data| data.extend(extension)), form);
    assert_eq!(change(&|data| data[32] |= EXTENDED), form);
    for length in 0..bytes(SELF_DATA).len() {
        assert!(change(&|data| data.truncate(length)).is_err(), "{length}");
    }
    // Another algorithm, another curve, a shorter id, a point beside the curve.
    let key_at = bytes(SELF_DATA).len() - KEY_BYTES;
    for at in [4, 6, 9] {
        assert_eq!(change(&|data| data[key_at + at] ^= 1), form, "{at}");
    }
    assert_eq!(change(&|data| data[54] = 1), form);
    let last = bytes(SELF_DATA).len() - 1;
    assert_eq!(change(&|data| data[last] ^= 1), Err(Refused::Key));
}

#[test]
fn signatures_of_the_w3c_are_right_and_any_other_byte_is_wrong() {
    for (key, data, client_data, signature) in [
        (NONE_DATA, NONE_USE_DATA, NONE_USE_CLIENT_DATA, NONE_USE_SIGNATURE),
        (SELF_DATA, SELF_USE_DATA, SELF_USE_CLIENT_DATA, SELF_USE_SIGNATURE),
    ] {
        let key = key_of(key);
        let (data, client_data, signature) = (bytes(data), bytes(client_data), bytes(signature));
        assert_eq!(key.check_signature(&data, &client_data, &signature), Ok(()));
        // Those uses were made without user verification, which we demand.
        assert_eq!(key.check(&data, &client_data, &signature, RP_ID), Err(Refused::NotVerified));
        let wrong = Err(Refused::Signature);
        for at in 0..data.len() {
            let mut other = data.clone();
            other[at] ^= 1;
            assert_eq!(key.check_signature(&other, &client_data, &signature), wrong, "{at}");
        }
        assert_eq!(key.check_signature(&data, &client_data[1..], &signature), wrong);
        assert_eq!(key.check_signature(&data, &client_data, &signature[1..]), wrong);
        let other = key_of(if key == key_of(NONE_DATA) { SELF_DATA } else { NONE_DATA });
        assert_eq!(other.check_signature(&data, &client_data, &signature), wrong);
    }
}

#[test]
fn a_counter_only_grows_and_may_stay_at_zero() {
    let signing = SigningKey::from_slice(&bytes(SELF_PRIVATE_KEY)).unwrap();
    let client_data = bytes(SELF_USE_CLIENT_DATA);
    for (known, now, counts) in
        [(0, 0, true), (0, 1, true), (7, 8, true), (7, 7, false), (7, 6, false), (7, 0, false)]
    {
        let mut data = flagged(SELF_USE_DATA, USER_PRESENT | USER_VERIFIED);
        data[HEAD_BYTES - 4..].copy_from_slice(&u32::to_be_bytes(now));
        let signed = [data.as_slice(), Sha256::digest(&client_data).as_slice()].concat();
        let signature: Signature = signing.sign(&signed);
        let key = Key { sign_count: known, ..key_of(SELF_DATA) };
        let checked = key.check(&data, &client_data, signature.to_der().as_bytes(), RP_ID);
        assert_eq!(checked, if counts { Ok(now) } else { Err(Refused::Counter) }, "{known} {now}");
    }
}

#[test]
fn a_challenge_is_for_one_purpose_one_holder_and_five_minutes() {
    let challenge = Challenge::generate(1_000);
    assert_ne!(challenge, Challenge::generate(1_000));
    let mac = [7; 32];
    assert_eq!(Challenge::parse(&challenge.with_mac(&mac)), Some((challenge.clone(), mac)));
    for length in 0..56 {
        assert_eq!(Challenge::parse(&challenge.with_mac(&mac)[..length]), None);
    }
    let text = challenge.authenticated(Purpose::SignIn, "one");
    for (purpose, holder) in
        [(Purpose::Confirm, "one"), (Purpose::SignIn, "two"), (Purpose::SignIn, "")]
    {
        assert_ne!(challenge.authenticated(purpose, holder), text);
    }
    for (now, fresh) in
        [(999, false), (1_000, true), (1_299, true), (1_300, false), (i64::MIN, false)]
    {
        assert_eq!(challenge.is_fresh(now), fresh, "{now}");
    }
}
