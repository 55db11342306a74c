//! Label selectors such as `grp in (x,y),!n`, with the grammar and the error texts of Kubernetes.

use std::collections::BTreeSet;

use punctual_api::names;
use serde_json::Value;

use super::SelectorError;

/// A conjunction of requirements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<LabelRequirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LabelRequirement {
    key: String,
    operator: LabelOperator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum LabelOperator {
    Exists,
    Absent,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Above(i64),
    Below(i64),
}

impl LabelRequirement {
    fn is_met(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.operator {
            LabelOperator::Exists => value.is_some(),
            LabelOperator::Absent => value.is_none(),
            LabelOperator::In(values) => value.is_some_and(|value| values.contains(value)),
            LabelOperator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            LabelOperator::Above(bound) => number().is_some_and(|number| number > *bound),
            LabelOperator::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

impl LabelSelector {
    /// Parses a selector; an empty text selects everything.
    pub(crate) fn parse(text: &str) -> Result<LabelSelector, SelectorError> {
        let mut parser = LabelParser { tokens: scan(text), position: 0 };
        let requirements = parser.parse_requirements()?;
        Ok(LabelSelector { requirements })
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether it selects an object with these labels.
    pub(crate) fn matches(&self, labels: Option<&Value>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = labels.and_then(|labels| labels.get(&requirement.key));
            requirement.is_met(value.and_then(Value::as_str))
        })
    }
}

/// A token of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LabelToken {
    Word(String),
    /// An operator, a parenthesis or a comma.
    Symbol(&'static str),
    /// Characters that are not a symbol.
    Invalid(String),
    End,
}

impl LabelToken {
    /// Returns the token as error messages show it.
    fn as_str(&self) -> &str {
        match self {
            LabelToken::Word(text) | LabelToken::Invalid(text) => text,
            LabelToken::Symbol(symbol) => symbol,
            LabelToken::End => "",
        }
    }
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

fn scan(text: &str) -> Vec<LabelToken> {
    let is_symbol = |c: char| "=!(),><".contains(c);
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while let Some(first) = rest.chars().next() {
        let token = if is_symbol(first) {
            let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
            symbol.map(|symbol| LabelToken::Symbol(symbol))
        } else {
            rest.split(|c| is_symbol(c) || is_space(c))
                .next()
                .map(|word| LabelToken::Word(word.into()))
        };
        // All symbol characters are in the table, so there is always a token.
        let token = token.unwrap_or_else(|| LabelToken::Invalid(rest.to_owned()));
        rest = rest.strip_prefix(token.as_str()).unwrap_or_default();
        rest = rest.trim_start_matches(is_space);
        tokens.push(token);
    }
    tokens
}

/// A recursive-descent parser. Its errors are kube-apiserver's messages.
struct LabelParser {
    tokens: Vec<LabelToken>,
    position: usize,
}

impl LabelParser {
    fn peek(&self) -> LabelToken {
        self.tokens.get(self.position).cloned().unwrap_or(LabelToken::End)
    }

    fn take(&mut self) -> LabelToken {
        let token = self.peek();
        self.position += 1;
        token
    }

    fn parse_requirements(&mut self) -> Result<Vec<LabelRequirement>, SelectorError> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                LabelToken::Word(_) | LabelToken::Symbol("!") => {}
                LabelToken::End => return Ok(requirements),
                other => {
                    return Err(unexpected(&other, "!, identifier, or 'end of string'"));
                }
            }
            let requirement = self
                .parse_requirement()
                .map_err(|why| SelectorError(format!("unable to parse requirement: {why}")))?;
            requirements.push(requirement);
            match self.take() {
                LabelToken::End => return Ok(requirements),
                LabelToken::Symbol(",") => self.expect_requirement()?,
                other => return Err(unexpected(&other, "',' or 'end of string'")),
            }
        }
    }

    fn expect_requirement(&self) -> Result<(), SelectorError> {
        match self.peek() {
            LabelToken::Word(_) | LabelToken::Symbol("!") => Ok(()),
            other => Err(unexpected(&other, "identifier after ','")),
        }
    }

    fn parse_requirement(&mut self) -> Result<LabelRequirement, SelectorError> {
        let is_negated = self.peek() == LabelToken::Symbol("!");
        if is_negated {
            self.take();
        }
        let key = match self.take() {
            LabelToken::Word(word) => word,
            other => return Err(unexpected(&other, "identifier")),
        };
        check(names::check_qualified_name(&key), "<nil>", &key)?;
        let operator = match self.peek() {
            _ if is_negated => LabelOperator::Absent,
            LabelToken::End | LabelToken::Symbol(",") => LabelOperator::Exists,
            _ => self.parse_operator(&key)?,
        };
        Ok(LabelRequirement { key, operator })
    }

    fn parse_operator(&mut self, key: &str) -> Result<LabelOperator, SelectorError> {
        let token = self.take();
        let operator = match token.as_str() {
            "in" => LabelOperator::In(self.parse_values()?),
            "notin" => LabelOperator::NotIn(self.parse_values()?),
            "=" | "==" => LabelOperator::In(BTreeSet::from([self.parse_value()?])),
            "!=" => LabelOperator::NotIn(BTreeSet::from([self.parse_value()?])),
            ">" => LabelOperator::Above(self.parse_number()?),
            "<" => LabelOperator::Below(self.parse_number()?),
            _ => return Err(unexpected(&token, "in, notin, =, ==, !=, gt, lt")),
        };
        if let LabelOperator::In(values) | LabelOperator::NotIn(values) = &operator {
            for (i, value) in values.iter().enumerate() {
                check(names::check_label_value(value), &format!("values[{i}][{key}]"), value)?;
            }
        }
        Ok(operator)
    }

    /// Parses `(a,b)`. Nothing between two commas or parentheses is an empty value.
    fn parse_values(&mut self) -> Result<BTreeSet<String>, SelectorError> {
        match self.take() {
            LabelToken::Symbol("(") => {}
            other => {
                return Err(SelectorError(format!("found '{}' expected: '('", other.as_str())));
            }
        }
        let mut values = BTreeSet::new();
        loop {
            let value = match self.peek() {
                LabelToken::Word(word) => {
                    self.take();
                    word
                }
                LabelToken::Symbol("," | ")") => String::new(),
                other => return Err(unexpected(&other, "',', ')' or identifier")),
            };
            values.insert(value);
            match self.take() {
                LabelToken::Symbol(",") => {}
                LabelToken::Symbol(")") => return Ok(values),
                other => return Err(unexpected(&other, "',' or ')'")),
            }
        }
    }

    fn parse_value(&mut self) -> Result<String, SelectorError> {
        match self.peek() {
            LabelToken::End | LabelToken::Symbol(",") => Ok(String::new()),
            LabelToken::Word(word) => {
                self.take();
                Ok(word)
            }
            other => Err(unexpected(&other, "identifier")),
        }
    }

    fn parse_number(&mut self) -> Result<i64, SelectorError> {
        let text = self.parse_value()?;
        text.parse().map_err(|_| {
            SelectorError(format!(
                "values[0]: Invalid value: \"{text}\": for 'Gt', 'Lt' operators, the value must \
                 be an integer"
            ))
        })
    }
}

fn unexpected(token: &LabelToken, expected: &str) -> SelectorError {
    SelectorError(format!("found '{}', expected: {expected}", token.as_str()))
}

fn check(reasons: Vec<String>, path: &str, text: &str) -> Result<(), SelectorError> {
    if reasons.is_empty() {
        return Ok(());
    }
    let reasons = reasons.join("; ");
    Err(SelectorError(format!("{path}: Invalid value: \"{text}\": {reasons}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operators_match_the_labels_they_describe() {
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
    fn errors_have_the_texts_of_kubernetes() {
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
            assert_eq!(LabelSelector::parse(text).unwrap_err().0, why);
        }
        let error = |text: &str| LabelSelector::parse(text).unwrap_err().0;
        assert!(error("-a").contains("Invalid value"));
        assert!(error("a=ä").contains("Invalid value"));
        assert!(error("a>b").contains("must be an integer"));
    }
}
