//! What is known of a helper before it runs: its parameters, its value, and its documentation. The table of all is in
//! `builtins`.

use crate::template::shape::Shape;

/// The documentation of a helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HelperDoc {
    pub name: &'static str,
    /// An example of its use.
    pub usage: &'static str,
    /// What it does, in a sentence.
    pub description: &'static str,
}

/// The kind of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::template) enum ParamKind {
    Any,
    /// Text, a number or a boolean.
    Text,
    Number,
    List,
    /// A list or an object.
    Collection,
    /// A value with a length.
    Measurable,
}

impl ParamKind {
    pub fn accepts(self, shape: &Shape) -> bool {
        match (self, shape) {
            (ParamKind::Any, _) | (_, Shape::Any) => true,
            (ParamKind::Text, shape) => matches!(shape, Shape::Text | Shape::Number | Shape::Boolean),
            (ParamKind::Number, shape) => matches!(shape, Shape::Number),
            (ParamKind::List, shape) => matches!(shape, Shape::List(_)),
            (ParamKind::Collection, shape) => matches!(shape, Shape::List(_)) || shape.is_object(),
            (ParamKind::Measurable, shape) => matches!(shape, Shape::List(_) | Shape::Text) || shape.is_object(),
        }
    }

    pub fn describe(self) -> &'static str {
        match self {
            ParamKind::Any => "anything",
            ParamKind::Text => "text",
            ParamKind::Number => "a number",
            ParamKind::List => "a list",
            ParamKind::Collection => "a list or an object",
            ParamKind::Measurable => "a list, an object or text",
        }
    }
}

/// Whether a helper is inline, a block, or either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::template) enum HelperForm {
    Inline,
    Block,
    Both,
}

/// The shape of the value of a helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::template) enum ReturnShape {
    Text,
    Number,
    Boolean,
    TextList,
    /// Unknown; the check may know more.
    Any,
}

impl ReturnShape {
    pub fn shape(self) -> Shape {
        match self {
            ReturnShape::Text => Shape::Text,
            ReturnShape::Number => Shape::Number,
            ReturnShape::Boolean => Shape::Boolean,
            ReturnShape::TextList => Shape::list(Shape::Text),
            ReturnShape::Any => Shape::Any,
        }
    }
}

/// What a helper makes of a secret among its arguments and options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::template) enum SecretUse {
    /// Its value contains it whole, where it can be redacted, or tells only whether it is set.
    Keeps,
    /// Its value contains it in another form, a part of it, or something counted from it.
    Alters,
    /// Its value tells how its arguments relate: with one that a caller chooses it confirms guesses.
    Compares,
}

/// The signature of a helper.
#[derive(Debug)]
pub(in crate::template) struct Signature {
    pub doc: HelperDoc,
    pub form: HelperForm,
    /// The required parameters.
    pub required: &'static [ParamKind],
    /// The optional parameters after them.
    pub optional: &'static [ParamKind],
    /// The kind of any number of further parameters.
    pub variadic: Option<ParamKind>,
    /// The options by name.
    pub options: &'static [(&'static str, ParamKind)],
    pub returns: ReturnShape,
    pub secrets: SecretUse,
    /// The maximum number of block parameters.
    pub max_block_params: usize,
}

impl Signature {
    pub fn param_kind(&self, index: usize) -> Option<ParamKind> {
        self.required.iter().chain(self.optional).nth(index).copied().or(self.variadic)
    }
}
