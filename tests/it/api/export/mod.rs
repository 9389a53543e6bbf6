//! `GET /v1/export/…`: what is asked for, what it says, and how it is sent.

mod agreement;
mod asked;
mod cells;
mod give_way;
mod parts;
mod plan;
mod replica;
mod reports;
mod seals;
mod sent;

use support::client::Answer;

/// The status of an answer, and the code of an error.
fn outcome(answer: &Answer) -> (u16, String) {
    if answer.status == 200 {
        return (200, String::new());
    }
    let code = answer.json()["code"].as_str().unwrap().to_owned();
    answer.expect_error(answer.status, &code);
    (answer.status, code)
}
