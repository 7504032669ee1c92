//! The shapes of values, as known at load.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::scope::{CALLER, CALLER_HEADERS, reserved_name_meaning};

/// The shape of a value. Every value may also be null.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Shape {
    /// Unknown.
    #[default]
    Any,
    /// A string.
    Text,
    Number,
    /// True or false.
    Boolean,
    /// A list of values of one shape.
    List(Box<Shape>),
    /// An object with exactly these fields, which clones share.
    Object(Arc<BTreeMap<String, Shape>>),
    /// An object with these fields, which clones share, and others of any shape.
    Open(Arc<BTreeMap<String, Shape>>),
    /// An object with any keys, whose values have one shape.
    Map(Box<Shape>),
}

/// What every caller has. All templates share it.
static CALLER_FIELDS: LazyLock<Arc<BTreeMap<String, Shape>>> = LazyLock::new(|| {
    let texts = || Shape::list(Shape::Text);
    let fields = [
        ("id", Shape::Text),
        ("issuer", Shape::Text),
        ("client", Shape::Text),
        ("scopes", texts()),
        ("roles", texts()),
        ("claims", Shape::Any),
    ];
    Arc::new(fields.into_iter().map(|(name, shape)| (name.to_owned(), shape)).collect())
});

impl Shape {
    /// An object with exactly these fields.
    pub fn object<K: Into<String>>(fields: impl IntoIterator<Item = (K, Shape)>) -> Shape {
        Shape::Object(Arc::new(fields.into_iter().map(|(name, shape)| (name.into(), shape)).collect()))
    }

    /// A list of values of one shape.
    pub fn list(element: Shape) -> Shape {
        Shape::List(Box::new(element))
    }

    /// The shape in messages: "a list".
    pub fn describe(&self) -> &'static str {
        match self {
            Shape::Any => "anything",
            Shape::Text => "text",
            Shape::Number => "a number",
            Shape::Boolean => "true or false",
            Shape::List(_) => "a list",
            Shape::Object(_) | Shape::Open(_) | Shape::Map(_) => "an object",
        }
    }

    /// The fields that are known of an object.
    pub fn fields(&self) -> Option<&BTreeMap<String, Shape>> {
        match self {
            Shape::Object(fields) | Shape::Open(fields) => Some(fields),
            _ => None,
        }
    }

    /// Whether it may lack a field that it may have: nothing is known of it.
    pub(super) fn has_unknown_field(&self, name: &str) -> bool {
        match self {
            Shape::Any => true,
            Shape::Open(fields) => !fields.contains_key(name),
            _ => false,
        }
    }

    /// The shape of a value, down to its leaves. Of `null` and of an empty object nothing is known; the items of a list have
    /// the fields of all of them.
    pub fn inferred_from(value: &Value) -> Shape {
        match value {
            Value::Array(items) => {
                Shape::list(items.iter().map(Shape::inferred_from).reduce(Shape::merge).unwrap_or_default())
            }
            Value::Object(fields) if !fields.is_empty() => {
                Shape::object(fields.iter().map(|(name, value)| (name.clone(), Shape::inferred_from(value))))
            }
            Value::Object(_) => Shape::Any,
            scalar => Shape::from_value(scalar),
        }
    }

    /// The shape of values of which some have this one and some another, as far as it is known.
    fn merge(self, other: Shape) -> Shape {
        match (self, other) {
            (Shape::Any, known) | (known, Shape::Any) => known,
            (Shape::List(one), Shape::List(other)) => Shape::list(one.merge(*other)),
            (Shape::Object(mut one), Shape::Object(other)) => {
                let fields = Arc::make_mut(&mut one);
                for (name, shape) in Arc::unwrap_or_clone(other) {
                    let merged = match fields.remove(&name) {
                        Some(known) => known.merge(shape),
                        None => shape,
                    };
                    fields.insert(name, merged);
                }
                Shape::Object(one)
            }
            (one, other) if one == other => one,
            _ => Shape::Any,
        }
    }

    pub(super) fn from_value(value: &Value) -> Shape {
        match value {
            Value::Null => Shape::Any,
            Value::Bool(_) => Shape::Boolean,
            Value::Number(_) => Shape::Number,
            Value::String(_) => Shape::Text,
            Value::Array(_) => Shape::list(Shape::Any),
            Value::Object(_) => Shape::Map(Box::new(Shape::Any)),
        }
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self, Shape::Object(_) | Shape::Open(_) | Shape::Map(_))
    }
}

/// The shape of a field or an element; `None` where it does not exist.
pub(super) fn field_shape<'s>(shape: &Cow<'s, Shape>, name: &str) -> Option<Cow<'s, Shape>> {
    match shape {
        Cow::Borrowed(shape) => field_of(shape, name).map(Cow::Borrowed),
        Cow::Owned(shape) => field_of(shape, name).cloned().map(Cow::Owned),
    }
}

fn field_of<'s>(shape: &'s Shape, name: &str) -> Option<&'s Shape> {
    match shape {
        Shape::Any => Some(shape),
        Shape::Object(fields) => fields.get(name),
        Shape::Open(fields) => Some(fields.get(name).unwrap_or(&Shape::Any)),
        Shape::Map(value) => Some(value),
        Shape::List(element) => name.parse::<usize>().is_ok().then_some(element),
        Shape::Text | Shape::Number | Shape::Boolean => None,
    }
}

/// The shape of the elements of a list or object, as in a loop.
pub(super) fn element_shape<'s>(shape: &Cow<'s, Shape>) -> Cow<'s, Shape> {
    match shape {
        Cow::Borrowed(Shape::List(element) | Shape::Map(element)) => Cow::Borrowed(element),
        Cow::Owned(Shape::List(element) | Shape::Map(element)) => Cow::Owned(Shape::clone(element)),
        _ => {
            // The common shape of all fields.
            let Shape::Object(fields) = shape.as_ref() else { return Cow::Owned(Shape::Any) };
            let mut shapes = fields.values();
            let common = shapes.next().filter(|first| shapes.all(|shape| shape == *first));
            Cow::Owned(common.cloned().unwrap_or(Shape::Any))
        }
    }
}

/// The names in scope of a template. Clones share them until one is extended.
#[derive(Debug, Clone)]
pub struct ScopeShape {
    root: Shape,
    this: Option<Shape>,
    /// The paths in `env` of the values that `this` is made of.
    this_sources: Vec<Vec<String>>,
    /// Whether `this` is an outcome.
    this_is_outcome: bool,
    /// The ids of all steps of the run around the template, with their numbers.
    step_numbers: Arc<BTreeMap<String, usize>>,
    /// The number of the step that the template belongs to.
    step_number: usize,
}

impl Default for ScopeShape {
    fn default() -> ScopeShape {
        ScopeShape {
            root: Shape::Object(Arc::default()),
            this: None,
            this_sources: Vec::new(),
            this_is_outcome: false,
            step_numbers: Arc::default(),
            step_number: 0,
        }
    }
}

impl ScopeShape {
    /// Nothing in scope.
    pub fn new() -> ScopeShape {
        ScopeShape::default()
    }

    /// Adds a top-level name: `env`, `server`, `steps`, `result`, or another of [`Scope`](super::Scope).
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>, shape: Shape) -> ScopeShape {
        if let Shape::Object(fields) = &mut self.root {
            Arc::make_mut(fields).insert(name.into(), shape);
        }
        self
    }

    /// Adds the number of the step that the template belongs to, among the numbers of all steps of its run.
    #[must_use]
    pub fn with_step_number(self, step_number: usize, step_numbers: &Arc<BTreeMap<String, usize>>) -> ScopeShape {
        ScopeShape { step_number, step_numbers: Arc::clone(step_numbers), ..self }
    }

    /// Why a step of the run has no outcome yet, and what to do; `None` if there is no such step.
    pub fn unfinished_step(&self, id: &str) -> Option<(String, &'static str)> {
        match self.step_numbers.get(id)?.cmp(&self.step_number) {
            Ordering::Greater => Some((format!("step `{id}` comes later"), "move it before this step")),
            Ordering::Equal => Some((format!("step `{id}` is this one"), "use its outcome in a later step")),
            Ordering::Less => None,
        }
    }

    /// Adds arguments, each as `NAME` and as `arguments.NAME`; with a reserved name only as the latter.
    #[must_use]
    pub fn with_arguments<K: Into<String>>(mut self, arguments: impl IntoIterator<Item = (K, Shape)>) -> ScopeShape {
        let arguments: BTreeMap<String, Shape> =
            arguments.into_iter().map(|(name, shape)| (name.into(), shape)).collect();
        if let Shape::Object(fields) = &mut self.root {
            let fields = Arc::make_mut(fields);
            for (name, shape) in arguments.iter().filter(|(name, _)| reserved_name_meaning(name).is_none()) {
                fields.entry(name.clone()).or_insert_with(|| shape.clone());
            }
            fields.insert("arguments".to_owned(), Shape::Object(Arc::new(arguments)));
        }
        self
    }

    /// Adds `caller` with these headers, unless an argument has that name.
    #[must_use]
    pub fn with_caller<'h>(self, headers: impl IntoIterator<Item = &'h String>) -> ScopeShape {
        if self.get(CALLER).is_some() {
            return self;
        }
        let mut fields = CALLER_FIELDS.clone();
        let headers: BTreeMap<_, _> = headers.into_iter().map(|name| (name.clone(), Shape::Text)).collect();
        if !headers.is_empty() {
            Arc::make_mut(&mut fields).insert(CALLER_HEADERS.to_owned(), Shape::Object(Arc::new(headers)));
        }
        self.with_name(CALLER, Shape::Object(fields))
    }

    /// Whether a path leads to headers that the caller's client sends, or to one of them.
    pub fn is_of_caller_headers(&self, path: &[String]) -> bool {
        self.is_of_caller(path) && path.get(1).is_some_and(|field| field == CALLER_HEADERS)
    }

    /// Whether a path leads to who calls.
    pub fn is_of_caller(&self, path: &[String]) -> bool {
        let is_argument = || {
            let arguments = self.get("arguments").and_then(Shape::fields);
            arguments.is_some_and(|arguments| arguments.contains_key(CALLER))
        };
        path.first().is_some_and(|head| head == CALLER) && !is_argument()
    }

    /// Allows others in `arguments` than were added.
    #[must_use]
    pub fn with_open_arguments(self) -> ScopeShape {
        match self.get("arguments") {
            Some(Shape::Object(fields)) => {
                let open = Shape::Open(fields.clone());
                self.with_name("arguments", open)
            }
            _ => self,
        }
    }

    /// Adds `this`, the element of a loop around the template, over a list that is made of the values at these paths: an
    /// element of secrets is as secret.
    #[must_use]
    pub fn with_this(mut self, shape: Shape, list_source_paths: &[Vec<String>]) -> ScopeShape {
        let of_env = list_source_paths.iter().filter(|path| path.first().is_none_or(|head| head == "env"));
        self.this_sources = of_env.cloned().collect();
        self.this_is_outcome = list_source_paths.iter().any(|path| is_outcome_path(path));
        self.this = Some(shape);
        self
    }

    /// The shape of a top-level name.
    pub fn get(&self, name: &str) -> Option<&Shape> {
        self.fields()?.get(name)
    }

    /// The shape of the value at a path, where it is known.
    pub fn shape_at(&self, path: &[String]) -> Option<Shape> {
        let (head, rest) = path.split_first()?;
        let first = if head == "this" { self.this.as_ref() } else { self.get(head) };
        rest.iter().try_fold(first?, |shape, name| field_of(shape, name)).cloned()
    }

    /// The names within a loop over items of this shape: `this` and `index`.
    #[must_use]
    pub fn with_item(self, item: Shape, list_source_paths: &[Vec<String>]) -> ScopeShape {
        self.with_this(item, list_source_paths).with_name("index", Shape::Number)
    }

    /// The names in the run of a completion: also `typed`.
    #[must_use]
    pub fn with_typed_text(self) -> ScopeShape {
        self.with_name("typed", Shape::Text)
    }

    fn fields(&self) -> Option<&BTreeMap<String, Shape>> {
        self.root.fields()
    }

    /// All top-level names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.fields().into_iter().flat_map(BTreeMap::keys).map(String::as_str)
    }

    pub(super) fn root(&self) -> &Shape {
        &self.root
    }

    pub(super) fn this_source_paths(&self) -> &[Vec<String>] {
        &self.this_sources
    }

    pub(super) fn this(&self) -> Option<&Shape> {
        self.this.as_ref()
    }

    /// Whether a path leads to an outcome, or into one.
    pub(super) fn is_of_outcome(&self, path: &[String]) -> bool {
        is_outcome_path(path) || self.this_is_outcome && path.first().is_some_and(|head| head == "this")
    }
}

fn is_outcome_path(path: &[String]) -> bool {
    path.first().is_some_and(|head| matches!(head.as_str(), "steps" | "result"))
}
