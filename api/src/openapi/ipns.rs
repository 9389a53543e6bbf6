//! The webhooks about invoices: two changes of status, and the notices that change nothing.

use gateway::webhook::{
    donation::DonationBody,
    ipn::{IpnPart, NoticeBody, NoticePart, PaymentIpn, PaymentNotice},
    subscription::RenewalBody,
};
use utoipa::{
    OpenApi,
    openapi::{
        self, Content, HttpMethod, PathItem, Ref, RefOr, Required, ResponseBuilder,
        path::OperationBuilder,
        request_body::RequestBodyBuilder,
        schema::{AllOfBuilder, ObjectBuilder, Schema, Type},
    },
};

use super::payouts::sent_header;

#[derive(OpenApi)]
#[openapi(components(schemas(
    PaymentIpn,
    IpnPart,
    DonationBody,
    RenewalBody,
    PaymentNotice,
    NoticePart,
    NoticeBody
)))]
struct Bodies;

const TAG: &str = "Payment webhooks";

/// One webhook: its name, the event behind it, and its place in the payload.
struct Told {
    name: &'static str,
    fires: &'static str,
    kind: Kind,
}

enum Kind {
    /// The invoice reached this `payment_status`. At most one event of a payment says so.
    Status(&'static str),
    /// `_gateway.renewal` says which renewal.
    Reminder,
    /// `_gateway.notice.type` is the name. `payment_status` only repeats the invoice's state.
    Notice,
}

/// The events of the spec's tables "Equivalence" and "When IPNs fire".
const EVENTS: [Told; 6] = [
    Told {
        name: "invoice.paid",
        fires: "The invoice is paid in full. Act on it once per `payment_id` and `payment_status`, after comparing order, \
                price and currency with your own. An overpayment shows as `actually_paid` above `pay_amount`.",
        kind: Kind::Status("finished"),
    },
    Told {
        name: "invoice.expired",
        fires: "The payment window ended without sufficient payment, or no currency was chosen. Act on it once per \
                `payment_id` \
                and `payment_status`.",
        kind: Kind::Status("expired"),
    },
    Told {
        name: "late_deposit_received",
        fires: "Money arrived after the invoice had ended. This is not a status change: if the invoice was paid, \
                `payment_status` is `finished` again, under a new `event_id`, for every small amount that anybody sends. \
                Report it to a person; never ship goods because of it.",
        kind: Kind::Notice,
    },
    Told {
        name: "wrong_token_received",
        fires: "A listed currency other than the invoice's arrived at its address. This is not a status change and pays \
                nothing: report it to a person; never ship goods because of it.",
        kind: Kind::Notice,
    },
    Told {
        name: "suspicious_token_received",
        fires: "An unlisted token, or an impossible amount, arrived at the invoice's address. This is not a status \
                change and pays nothing: never ship goods because of it.",
        kind: Kind::Notice,
    },
    Told {
        name: "subscription.renewal_reminder",
        fires: "A subscription is due for renewal: once on each of the days -3 to +3 relative to `next_renewal_at`, until it \
                is paid. The body is that of its latest invoice, with `_gateway.renewal`; `payment_status` only repeats that \
                invoice's state. Send `renewal_url` to the subscriber; never ship goods because of it.",
        kind: Kind::Reminder,
    },
];

pub(super) fn add_to(document: &mut openapi::OpenApi) {
    document.merge(Bodies::openapi());
    let all = document.webhooks.get_or_insert_default();
    for event in EVENTS {
        let item = PathItem::new(HttpMethod::Post, described(&event));
        all.paths.insert(event.name.to_owned(), item);
    }
}

fn described(event: &Told) -> OperationBuilder {
    let only = |value| ObjectBuilder::new().schema_type(Type::String).enum_values(Some([value]));
    let inside = |name, part: ObjectBuilder| ObjectBuilder::new().property(name, part);
    let (whole, narrowed) = match event.kind {
        Kind::Status(status) => ("PaymentIpn", inside("payment_status", only(status))),
        Kind::Reminder => {
            let renewal = Ref::from_schema_name("Renewal");
            let part = ObjectBuilder::new().property("renewal", renewal).required("renewal");
            ("PaymentIpn", inside("_gateway", part).required("_gateway"))
        }
        Kind::Notice => {
            let notice = inside("notice", inside("type", only(event.name)));
            ("PaymentNotice", inside("_gateway", notice))
        }
    };
    let schema = AllOfBuilder::new().item(Ref::from_schema_name(whole)).item(narrowed);
    let content = Content::new(Some(RefOr::T(Schema::AllOf(schema.build()))));
    let body = RequestBodyBuilder::new().content("application/json", content);
    let answer = |text: &str| ResponseBuilder::new().description(text);
    OperationBuilder::new()
        .tag(TAG)
        .operation_id(Some(event.name))
        .summary(Some(event.name))
        .description(Some(event.fires))
        .parameter(sent_header(
            "x-gateway-sig",
            "HMAC-SHA-512 over the raw bytes of the body, keyed with the text of the webhook secret, in lowercase hex.",
        ))
        .parameter(sent_header(
            "x-gateway-event-id",
            "The same as `event_id`. It is not signed; take the one in the body.",
        ))
        .request_body(Some(body.required(Some(Required::True)).build()))
        .response("2XX", answer("The event counts as delivered."))
        .response("default", answer("The delivery is retried after 30 seconds, up to 5 attempts in all."))
}
