//! Parses what stands in a tag: a name with arguments.

use serde_json::{Number, Value};

use super::token::SyntaxError;
use super::tree::{Arguments, Expression, Path};

/// How deep parentheses may be nested.
const MAX_DEPTH: usize = 32;

/// A name, its arguments, and the names that it gives to its block.
pub(super) struct TagHead {
    /// As written.
    pub(super) name: String,
    pub(super) path: Path,
    /// What it is, if it is no name.
    literal: Option<Expression>,
    pub(super) arguments: Arguments,
    pub(super) names: Vec<String>,
}

impl TagHead {
    pub(super) fn has_arguments(&self) -> bool {
        !self.arguments.params.is_empty() || !self.arguments.options.is_empty()
    }

    /// The value that it stands for; none if it is an unknown helper.
    pub(super) fn into_expression(mut self) -> Option<Expression> {
        let indent = self.arguments.option("indent").cloned();
        match (self.name.as_str(), self.arguments.params.len()) {
            ("lookup", 2) => {
                let key = self.arguments.params.pop()?;
                let object = self.arguments.params.pop()?;
                Some(Expression::Lookup(Box::new(object), Box::new(key)))
            }
            ("json", 1) => Some(Expression::Json(Box::new(self.arguments.params.pop()?), indent.map(Box::new))),
            _ if self.has_arguments() => None,
            _ => Some(self.literal.unwrap_or(Expression::Path(self.path))),
        }
    }
}

/// Parses the inside of a tag that begins at `start` of the template.
pub(super) fn parse_head(inside: &str, start: usize) -> Result<TagHead, SyntaxError> {
    let mut reader = TagReader { text: inside, at: 0, start, depth: 0 };
    let head = reader.head()?;
    reader.skip_blank();
    match reader.rest().is_empty() {
        true => Ok(head),
        false => Err(reader.unexpected()),
    }
}

struct TagReader<'t> {
    text: &'t str,
    at: usize,
    start: usize,
    depth: usize,
}

impl<'t> TagReader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blank(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn unexpected(&self) -> SyntaxError {
        let at = self.start + self.at;
        match self.rest().chars().next() {
            Some(character) => SyntaxError::new(at..at + character.len_utf8(), format!("unexpected `{character}`")),
            None => SyntaxError::new(at..at, "unexpected end of the tag"),
        }
    }

    fn head(&mut self) -> Result<TagHead, SyntaxError> {
        self.skip_blank();
        let from = self.at;
        let first = self.value()?;
        let name = self.text.get(from..self.at).unwrap_or_default().to_owned();
        let (name, path, literal) = match first {
            Expression::Path(path) => (name, path, None),
            // A literal is a name too, such as that of a partial.
            Expression::Literal(Some(Value::String(text))) => {
                (text.clone(), Path { names: vec![text], ..Path::default() }, None)
            }
            other => (name, Path::default(), Some(other)),
        };
        let (arguments, names) = self.arguments()?;
        Ok(TagHead { name, path, literal, arguments, names })
    }

    /// The arguments, and the names between bars.
    fn arguments(&mut self) -> Result<(Arguments, Vec<String>), SyntaxError> {
        let mut arguments = Arguments::default();
        loop {
            self.skip_blank();
            if self.rest().is_empty() || self.rest().starts_with(')') {
                return Ok((arguments, Vec::new()));
            }
            if self.rest().strip_prefix("as").is_some_and(|rest| rest.trim_start().starts_with('|')) {
                return Ok((arguments, self.names()?));
            }
            match self.option_name() {
                Some(name) => {
                    self.skip_blank();
                    arguments.options.push((name, self.value()?));
                }
                None => arguments.params.push(self.value()?),
            }
        }
    }

    fn names(&mut self) -> Result<Vec<String>, SyntaxError> {
        self.at += 2;
        self.skip_blank();
        self.at += 1;
        let Some((names, _)) = self.rest().split_once('|') else { return Err(self.unexpected()) };
        self.at += names.len() + 1;
        Ok(names.split_whitespace().map(str::to_owned).collect())
    }

    /// The name of an option, up to its `=`.
    fn option_name(&mut self) -> Option<String> {
        let length = self.rest().find(|character| !is_name_char(character))?;
        let (name, rest) = self.rest().split_at_checked(length).filter(|(name, _)| !name.is_empty())?;
        let after = rest.trim_start().strip_prefix('=')?;
        self.at = self.text.len() - after.len();
        Some(name.to_owned())
    }

    fn value(&mut self) -> Result<Expression, SyntaxError> {
        match self.rest().chars().next() {
            Some('(') => self.call(),
            Some(quote @ ('"' | '\'')) => self.quoted(quote),
            Some(_) => match self.literal() {
                Some(literal) => Ok(literal),
                None => self.path().map(Expression::Path),
            },
            None => Err(self.unexpected()),
        }
    }

    fn call(&mut self) -> Result<Expression, SyntaxError> {
        let open = self.start + self.at;
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SyntaxError::new(open..open + 1, format!("parentheses nested deeper than {MAX_DEPTH} levels")));
        }
        let head = self.head()?;
        self.skip_blank();
        if !self.eat(")") {
            return Err(self.unexpected());
        }
        self.depth -= 1;
        let end = self.start + self.at;
        let unknown = SyntaxError::new(open..end, format!("unknown helper `{}`", head.name));
        if head.has_arguments() { head.into_expression().ok_or(unknown) } else { Err(unknown) }
    }

    fn quoted(&mut self, quote: char) -> Result<Expression, SyntaxError> {
        let rest = self.rest().get(1..).unwrap_or_default();
        let escaped = format!("\\{quote}");
        let mut end = 0;
        loop {
            let Some(found) = rest.get(end..).and_then(|rest| rest.find(quote)) else { return Err(self.unexpected()) };
            end += found;
            if !rest.get(..end).is_some_and(|before| before.ends_with('\\')) {
                break;
            }
            end += 1;
        }
        self.at += end + 2;
        let text = rest.get(..end).unwrap_or_default().replace(&escaped, &quote.to_string());
        Ok(Expression::Literal(Some(Value::String(text))))
    }

    /// A number, or a word that is a value.
    fn literal(&mut self) -> Option<Expression> {
        let length = self
            .rest()
            .find(|character: char| !is_name_char(character) && character != '.')
            .unwrap_or(self.rest().len());
        let word = self.rest().get(..length)?;
        let value = match word {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            "undefined" => None,
            _ => Some(Value::Number(word.parse::<Number>().ok()?)),
        };
        self.at += length;
        Some(Expression::Literal(value))
    }

    fn path(&mut self) -> Result<Path, SyntaxError> {
        let mut path = Path { is_data: self.eat("@"), ..Path::default() };
        loop {
            if self.eat("..") {
                path.parent_steps += 1;
            } else if self.rest().starts_with('[') {
                path.names.push(self.bracketed()?);
            } else if self.eat(".") {
                path.is_this = true;
            } else {
                self.segment(&mut path)?;
            }
            let goes_on =
                self.rest().chars().nth(1).is_some_and(|next| is_name_char(next) || matches!(next, '[' | '.' | '@'));
            if !(self.rest().starts_with(['.', '/']) && goes_on) {
                self.eat("/");
                return Ok(path);
            }
            self.at += 1;
        }
    }

    fn bracketed(&mut self) -> Result<String, SyntaxError> {
        let Some((name, _)) = self.rest().get(1..).and_then(|rest| rest.split_once(']')) else {
            return Err(self.unexpected());
        };
        self.at += name.len() + 2;
        Ok(name.to_owned())
    }

    fn segment(&mut self, path: &mut Path) -> Result<(), SyntaxError> {
        let length = self.rest().find(|character| !is_name_char(character)).unwrap_or(self.rest().len());
        let name = self.rest().get(..length).filter(|name| !name.is_empty()).ok_or_else(|| self.unexpected())?;
        self.at += length;
        match name {
            "this" if path.names.is_empty() => path.is_this = true,
            name => path.names.push(name.to_owned()),
        }
        Ok(())
    }
}

/// The letters of names: all but those with a meaning.
fn is_name_char(character: char) -> bool {
    !character.is_whitespace() && !"!\"#%&'()*+,./;<=>@[\\]^`{|}~".contains(character)
}
