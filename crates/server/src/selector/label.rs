//! Label selectors: `grp in (x,y),!n`, with Kubernetes' grammar and error texts.

use std::collections::BTreeSet;

use punctual_api::names;
use serde_json::Value;

/// Requirements that all hold of what is selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Above(i64),
    Below(i64),
}

impl Requirement {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.contains(value)),
            Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Test::Above(bound) => number().is_some_and(|number| number > *bound),
            Test::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

impl LabelSelector {
    /// Reads a selector; empty selects everything.
    pub(crate) fn parse(text: &str) -> Result<LabelSelector, String> {
        let mut parser = Parser { tokens: scan(text), at: 0 };
        Ok(LabelSelector { requirements: parser.requirements()? })
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether labels, which may be absent, are selected.
    pub(crate) fn matches(&self, labels: Option<&Value>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = labels.and_then(|labels| labels.get(&requirement.key));
            requirement.holds(value.and_then(Value::as_str))
        })
    }
}

/// A piece of a selector, as error texts show it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// An operator or a bracket.
    Sign(&'static str),
    /// Signs that mean nothing.
    Nonsense(String),
    End,
}

impl Token {
    fn shown(&self) -> &str {
        match self {
            Token::Word(text) | Token::Nonsense(text) => text,
            Token::Sign(sign) => sign,
            Token::End => "",
        }
    }
}

const SIGNS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

fn scan(text: &str) -> Vec<Token> {
    let is_sign = |c: char| "=!(),><".contains(c);
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while let Some(first) = rest.chars().next() {
        let token = if is_sign(first) {
            SIGNS.iter().find(|sign| rest.starts_with(**sign)).map(|sign| Token::Sign(sign))
        } else {
            rest.split(|c| is_sign(c) || is_space(c)).next().map(|word| Token::Word(word.into()))
        };
        // Every sign is in the table, so there always is a token.
        let token = token.unwrap_or_else(|| Token::Nonsense(rest.to_owned()));
        rest = rest.strip_prefix(token.shown()).unwrap_or_default();
        rest = rest.trim_start_matches(is_space);
        tokens.push(token);
    }
    tokens
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Token {
        self.tokens.get(self.at).cloned().unwrap_or(Token::End)
    }

    fn take(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, String> {
        let mut found = Vec::new();
        loop {
            match self.peek() {
                Token::Word(_) | Token::Sign("!") => {}
                Token::End => return Ok(found),
                other => {
                    return Err(unexpected(&other, "!, identifier, or 'end of string'"));
                }
            }
            let requirement =
                self.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
            found.push(requirement);
            match self.take() {
                Token::End => return Ok(found),
                Token::Sign(",") => self.expect_another()?,
                other => return Err(unexpected(&other, "',' or 'end of string'")),
            }
        }
    }

    fn expect_another(&self) -> Result<(), String> {
        match self.peek() {
            Token::Word(_) | Token::Sign("!") => Ok(()),
            other => Err(unexpected(&other, "identifier after ','")),
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let is_negated = self.peek() == Token::Sign("!");
        if is_negated {
            self.take();
        }
        let key = match self.take() {
            Token::Word(word) => word,
            other => return Err(unexpected(&other, "identifier")),
        };
        check(names::qualified_name(&key), "<nil>", &key)?;
        let test = match self.peek() {
            _ if is_negated => Test::Absent,
            Token::End | Token::Sign(",") => Test::Exists,
            _ => self.test(&key)?,
        };
        Ok(Requirement { key, test })
    }

    fn test(&mut self, key: &str) -> Result<Test, String> {
        let operator = self.take();
        let test = match operator.shown() {
            "in" => Test::In(self.values()?),
            "notin" => Test::NotIn(self.values()?),
            "=" | "==" => Test::In(BTreeSet::from([self.value()?])),
            "!=" => Test::NotIn(BTreeSet::from([self.value()?])),
            ">" => Test::Above(self.number()?),
            "<" => Test::Below(self.number()?),
            _ => return Err(unexpected(&operator, "in, notin, =, ==, !=, gt, lt")),
        };
        if let Test::In(values) | Test::NotIn(values) = &test {
            for (i, value) in values.iter().enumerate() {
                check(names::label_value(value), &format!("values[{i}][{key}]"), value)?;
            }
        }
        Ok(test)
    }

    /// `(a,b)`; nothing between two commas or brackets is an empty value.
    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        match self.take() {
            Token::Sign("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.shown())),
        }
        let mut values = BTreeSet::new();
        loop {
            let value = match self.peek() {
                Token::Word(word) => {
                    self.take();
                    word
                }
                Token::Sign("," | ")") => String::new(),
                other => return Err(unexpected(&other, "',', ')' or identifier")),
            };
            values.insert(value);
            match self.take() {
                Token::Sign(",") => {}
                Token::Sign(")") => return Ok(values),
                other => return Err(unexpected(&other, "',' or ')'")),
            }
        }
    }

    fn value(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::End | Token::Sign(",") => Ok(String::new()),
            Token::Word(word) => {
                self.take();
                Ok(word)
            }
            other => Err(unexpected(&other, "identifier")),
        }
    }

    fn number(&mut self) -> Result<i64, String> {
        let text = self.value()?;
        text.parse().map_err(|_| {
            format!(
                "values[0]: Invalid value: \"{text}\": for 'Gt', 'Lt' operators, the value must \
                 be an integer"
            )
        })
    }
}

fn unexpected(token: &Token, expected: &str) -> String {
    format!("found '{}', expected: {expected}", token.shown())
}

fn check(reasons: Vec<String>, path: &str, text: &str) -> Result<(), String> {
    match reasons.is_empty() {
        true => Ok(()),
        false => Err(format!("{path}: Invalid value: \"{text}\": {}", reasons.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_operator_selects_what_it_says() {
        let labels = json!({"grp": "x", "n": "3"});
        let matches = |text: &str| LabelSelector::parse(text).unwrap().matches(Some(&labels));
        for yes in [
            "",
            "grp",
            "!none",
            "grp=x",
            "grp==x",
            "grp!=y",
            "none!=y",
            "grp in (x,y)",
            "grp notin (y)",
            "none notin (x)",
            "n>2",
            "n<4",
            "grp=x,n",
            " grp = x , n in ( 3 ) ",
        ] {
            assert!(matches(yes), "{yes}");
        }
        for no in
            ["none", "!grp", "grp=y", "grp!=x", "grp in (y)", "grp in ()", "n>3", "grp>1", "grp="]
        {
            assert!(!matches(no), "{no}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_kubernetes_words() {
        for (text, why) in [
            ("=bad", "found '=', expected: !, identifier, or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            ("a in x", "unable to parse requirement: found 'x' expected: '('"),
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            ("a in (x y)", "unable to parse requirement: found 'y', expected: ',' or ')'"),
            ("a=x y", "found 'y', expected: ',' or 'end of string'"),
        ] {
            assert_eq!(LabelSelector::parse(text).unwrap_err(), why);
        }
        assert!(LabelSelector::parse("-a").unwrap_err().contains("Invalid value"));
        assert!(LabelSelector::parse("a=ä").unwrap_err().contains("Invalid value"));
        assert!(LabelSelector::parse("a>b").unwrap_err().contains("must be an integer"));
    }
}
