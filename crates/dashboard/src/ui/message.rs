//! The pages without data: sign in, and errors.

use maud::{Markup, html};

/// Asks for a token, or says how to get a login link.
pub(crate) fn login_page(accepts_tokens: bool, error: Option<&str>, back: &str) -> Markup {
    html! {
        div.narrow {
            h1 { "Sign in" }
            @if let Some(error) = error {
                div.banner.bad role="alert" { span.mark aria-hidden="true" { "✕" } span { (error) } }
            }
            section.card {
                h2 { "With a login link" }
                p { "Open the link that the program printed when it started. For a fresh one, run on its machine:" }
                pre.command { "punctual dashboard --login" }
                p.dim { "A link works once, and for one hour." }
            }
            @if accepts_tokens {
                section.card {
                    h2 { "With a token" }
                    p { "The tokens of the roles admin and view are in the folder " code { "pki" } " of the data directory." }
                    form action="/login" method="post" {
                        input type="hidden" name="back" value=(back);
                        label for="token" { "Token" }
                        input #token type="password" name="token" maxlength="200" autocomplete="off" required;
                        div.actions { button.primary type="submit" { "Sign in" } }
                    }
                }
            }
        }
    }
}

/// Says what went wrong and what to do.
pub(crate) fn error_page(title: &str, text: &str) -> Markup {
    html! {
        div.narrow {
            h1 { (title) }
            section.card { p.lead { (text) } div.actions { a.button href="/" { "Fleet" } } }
        }
    }
}
