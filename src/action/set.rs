//! `set`: names values for later steps, as they are or reshaped by JMESPath.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ActionError, ActionKind, ActionNode, ActionOutcome, OutcomeBody, SelectExpression, StepContext};
use crate::budget::memory_size;
use crate::compile::{Compiler, Exposure, JsonTemplate};
use crate::diagnostic::Code;
use crate::template::Shape;
use crate::value_types::{Json, NamedMap, is_identifier};
use crate::yaml::Spanned;

/// Values by name: JSON whose strings are templates, such as `{ limit: 20, who: "{{trim name}}" }`. A string that is
/// exactly one `{{…}}` keeps the type of its value. `{ select: "[].name", from: "{{steps.list.json}}" }` is what a
/// JMESPath finds in a value: `set: { names: { select: "[].name", from: "{{steps.list.entries}}" } }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Set")]
pub struct SetSpec(#[schemars(with = "IndexMap<String, Json>")] pub NamedMap<Spanned<Json>>);

pub struct SetAction {
    /// The path of its values.
    path: String,
    values: Vec<(String, NamedValue)>,
}

/// A value, and what is selected from it.
struct NamedValue {
    template: JsonTemplate,
    select: Option<SelectExpression>,
}

impl ActionKind for SetAction {
    type Spec = SetSpec;

    fn outcome_shape_of(spec: &SetSpec) -> Shape {
        Shape::object(spec.0.keys().map(|name| (name.value.clone(), Shape::Any)))
    }

    fn compile(node: ActionNode<'_, SetSpec>, compiler: &mut Compiler<'_>) -> Option<SetAction> {
        if node.spec.0.is_empty() {
            compiler
                .error(Code::MissingKey, node.spec.location, "missing name in `set`")
                .help("write `set: { NAME: value }`");
            return None;
        }
        let mut values = Vec::with_capacity(node.spec.0.len());
        for (name, value) in &node.spec.0 {
            check_name(name, compiler);
            values.push(NamedValue::compile(value, compiler).map(|value| (name.value.clone(), value)));
        }
        values.into_iter().collect::<Option<_>>().map(|values| {
            let id = node.step.id.as_ref().map(|id| format!("steps.{}", id.value));
            SetAction { path: id.unwrap_or_else(|| "set".to_owned()), values }
        })
    }

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        context.scope.budget().run(|| self.evaluate(context))?
    }
}

impl SetAction {
    fn evaluate(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        let mut all = Map::new();
        for (name, value) in &self.values {
            all.insert(name.clone(), value.evaluate(&format!("{}.{name}", self.path), context)?);
        }
        let all = Value::Object(all);
        // A second time as a value, and as text.
        context.scope.budget().hold(memory_size(&all).saturating_mul(2))?;
        let text = all.to_string();
        Ok(ActionOutcome::success(all.clone(), OutcomeBody::Json(all, text)))
    }
}

impl NamedValue {
    fn compile(value: &Spanned<Json>, compiler: &mut Compiler<'_>) -> Option<NamedValue> {
        let located = compiler.json_value(value)?;
        let (value, at) = (&located.value, located.location);
        let Some((select, from)) = selection_keys(value) else {
            let template = compiler.json_template(value, at, Exposure::Client);
            return Some(NamedValue { template, select: None });
        };
        let place = |key: &str, compiler: &Compiler<'_>| compiler.load_context.documents.value_at(at, key);
        let Some(from) = from else {
            compiler
                .error(Code::MissingKey, at, "missing key `from` beside `select`")
                .help("write `{ select: JMESPath, from: \"{{…}}\" }`");
            return None;
        };
        let select_at = place("/select", compiler);
        let Some(select) = select.as_str() else {
            compiler
                .error(Code::WrongType, select_at, "expected a string: `select` is a JMESPath")
                .help("for example `select: \"[].{id: id, name: name}\"`");
            return None;
        };
        let select = Spanned::new(select.to_owned(), select_at);
        let selection = SelectExpression::compile(&select, compiler);
        let from_at = place("/from", compiler);
        if from.as_str().is_some_and(|text| !text.contains("{{")) {
            compiler
                .warning(Code::BadValue, from_at, "`from` is a text, in which nothing can be selected")
                .help("write exactly one `{{…}}`, such as `{{steps.ID.json}}`");
        }
        let template = compiler.json_template(from, from_at, Exposure::Client);
        let selection = selection?;
        let path = if let JsonTemplate::Leaf(leaf) = &template { leaf.single_path() } else { None };
        if let Some(shape) = path.and_then(|path| compiler.scope_shape.shape_at(path)) {
            selection.warn_of_missing_field(&select, &shape, compiler);
        }
        Some(NamedValue { template, select: Some(selection) })
    }

    /// The value of a path.
    fn evaluate(&self, path: &str, context: &StepContext<'_>) -> Result<Value, ActionError> {
        let value = self.template.render(context.scope)?;
        let Some(select) = &self.select else { return Ok(value) };
        let selected = select.apply(&value).map_err(|error| error.at_path(path))?;
        if let Some(hint) = select.hint(&value, &selected) {
            context.call.world.hint_to_author(&format!("`select` of `{path}` in `{}`: {hint}", context.entry.name()));
        }
        Ok(selected)
    }
}

/// The keys of `{ select: …, from: … }`; `None` for any other value.
fn selection_keys(value: &Value) -> Option<(&Value, Option<&Value>)> {
    let fields = value.as_object()?;
    let (select, from) = (fields.get("select")?, fields.get("from"));
    let is_selection = select.is_string() || from.is_some();
    (is_selection && fields.keys().all(|key| key == "select" || key == "from")).then_some((select, from))
}

fn check_name(name: &Spanned<String>, compiler: &mut Compiler<'_>) {
    if !is_identifier(name) {
        compiler
            .error(Code::BadName, name.location, format!("invalid name `{}` in `set`", name.value))
            .help("use letters, digits and `_`");
    }
}
