//! Tries a `select` or a template of a `result` on outcomes that are given, for an author who writes one.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::action::{InvalidSelect, SelectExpression};
use crate::budget::{Budget, BudgetExceeded};
use crate::catalog::Catalog;
use crate::catalog::tool::CompiledTool;
use crate::template::{Scope, ScopeConstants, ScopeShape, Shape, Template, TemplateError, TemplateSpan, TextSlot};

/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What is tried, and on what.
#[derive(Debug)]
pub struct ResultTrial<'a> {
    pub tool: &'a str,
    pub arguments: Map<String, Value>,
    /// The outcomes of its steps by id, where it has several.
    pub steps: Option<Map<String, Value>>,
    /// The outcome of its single action.
    pub result: Option<Value>,
    pub select: Option<&'a str>,
    /// A template, which sees as `result` what is selected, where something is.
    pub template: Option<&'a str>,
}

/// What came of it. It may hold secrets.
#[derive(Debug, Default)]
pub struct TriedResult {
    /// What is selected.
    pub value: Option<Value>,
    /// What the template renders.
    pub text: Option<String>,
}

/// Why nothing came of it.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error("unknown tool")]
    UnknownTool,
    /// A mistake in the expression, in bytes from its beginning.
    #[error("{message}")]
    InSelect { message: String, range: Range<usize> },
    /// The same in the template.
    #[error("{message}")]
    InTemplate { message: String, range: Range<usize> },
    #[error("{0}")]
    Failed(String),
}

impl From<InvalidSelect> for TrialError {
    fn from(error: InvalidSelect) -> TrialError {
        TrialError::InSelect { message: error.message, range: error.range.unwrap_or_default() }
    }
}

impl From<TemplateError> for TrialError {
    fn from(error: TemplateError) -> TrialError {
        let (TemplateSpan::Template(range) | TemplateSpan::Partial { used_at: range, .. }) = error.span;
        let help = error.help.map(|help| format!("; {help}")).unwrap_or_default();
        TrialError::InTemplate { message: format!("{}{help}", error.message), range }
    }
}

impl From<BudgetExceeded> for TrialError {
    fn from(error: BudgetExceeded) -> TrialError {
        TrialError::Failed(error.to_string())
    }
}

impl Catalog {
    /// Tries it.
    ///
    /// # Errors
    /// There is no such tool, or it cannot be done.
    pub fn try_result(&self, trial: ResultTrial<'_>) -> Result<TriedResult, TrialError> {
        let tool = self.tools.get(trial.tool).ok_or(TrialError::UnknownTool)?;
        let budget = Budget::default().with_timeout(TIMEOUT);
        budget.run(|| tool.try_result(trial, &budget))?
    }
}

impl CompiledTool {
    fn try_result(&self, trial: ResultTrial<'_>, budget: &Budget) -> Result<TriedResult, TrialError> {
        let ResultTrial { arguments, steps, result, select, template, .. } = trial;
        let arguments = self.inputs.bind(Some(arguments.clone())).unwrap_or(arguments);
        let mut names = self.names(&arguments);
        let mut scope = Scope::with_budget(arguments, self.constants_without_secrets(), budget);
        if let Some(steps) = steps {
            names = names.with_name("steps", Shape::inferred_from(&Value::Object(steps.clone())));
            scope = scope.with_steps(steps);
        }
        if let Some(result) = result {
            names = names.with_name("result", Shape::inferred_from(&result));
            scope = scope.with_result(result);
        }
        let mut tried = TriedResult::default();
        if let Some(select) = select {
            let selected = apply(select, &scope)?;
            names = names.with_name("result", Shape::inferred_from(&selected));
            scope = scope.with_result(selected.clone());
            tried.value = Some(selected);
        }
        if let Some(text) = template {
            let compiled = Template::<TextSlot>::compile(&self.pack_context.engine, text, &names);
            let first = |errors: Vec<TemplateError>| errors.into_iter().next().map(TrialError::from);
            let compiled = compiled
                .map_err(|errors| first(errors).unwrap_or_else(|| TrialError::Failed("invalid template".to_owned())))?;
            let rendered = compiled.render(&scope).map_err(|error| TrialError::Failed(error.to_string()))?;
            tried.text = Some(rendered.0);
        }
        Ok(tried)
    }

    /// The names that a `result` sees beside outcomes.
    fn names(&self, arguments: &Map<String, Value>) -> ScopeShape {
        let declared = self.inputs.names().map(str::to_owned);
        let given = arguments.keys().filter(|name| !self.inputs.takes(name)).cloned();
        let shapes = declared.chain(given).map(|name| (name, Shape::Any));
        self.pack_context.names.clone().with_arguments(shapes).with_caller(&[])
    }

    /// What all entries of the pack see, with placeholders for secrets: a helper could show one in another form.
    fn constants_without_secrets(&self) -> Arc<ScopeConstants> {
        let ScopeConstants { env, server, fixed_time } = &*self.pack_context.constants;
        let mut env = env.clone();
        self.pack_context.secrets.redact_value(&mut env);
        Arc::new(ScopeConstants { env, server: server.clone(), fixed_time: *fixed_time })
    }
}

/// What an expression selects: from the outcomes of steps, or from the JSON of the single outcome, or from the arguments.
fn apply(select: &str, scope: &Scope) -> Result<Value, TrialError> {
    let expression = SelectExpression::parse(select)?;
    let from = match (scope.steps(), scope.get(&["result"])) {
        (Some(_), _) => scope.get(&["steps"]),
        (None, None) => scope.get(&["arguments"]),
        (None, Some(result)) => {
            let parsed = ["json", "structured"].iter().find_map(|key| result.get(key).filter(|json| !json.is_null()));
            Some(parsed.ok_or_else(|| TrialError::Failed("`select` requires JSON output".to_owned()))?)
        }
    };
    expression.apply(from.unwrap_or(&Value::Null)).map_err(|error| TrialError::Failed(error.to_string()))
}
