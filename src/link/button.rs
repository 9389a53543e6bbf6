//! A link's button: the HTML that its merchant pastes into a page.

/// A link around the button's picture. `url` is the address of the link's page.
pub fn html(url: &str, title: &str) -> String {
    let (url, title) = (escaped(url), escaped(title));
    format!("<a href=\"{url}\"><img src=\"{url}/button.svg\" alt=\"{title}\" height=\"48\"></a>")
}

/// A text as it stands in HTML, between tags and between quotes.
pub fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_stays_within_its_attribute() {
        let html = html("https://pay.example/l/pzl_1", "\" onload='x' <b>&");
        let expected = "<a href=\"https://pay.example/l/pzl_1\">\
                        <img src=\"https://pay.example/l/pzl_1/button.svg\" \
                        alt=\"&quot; onload=&#39;x&#39; &lt;b&gt;&amp;\" height=\"48\"></a>";
        assert_eq!(html, expected);
    }
}
