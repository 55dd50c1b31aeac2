//! What a route takes besides text. The log has only a part of it (`docs/spec/messages-wire.md`, 2.1).

use dshlog_codec::json::JsString;

/// What the adapter knows of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// It takes images; else they become text.
    pub images: bool,
    /// How it takes changes of the tools.
    pub tool_update: Option<ToolUpdateMode>,
    /// It takes changed system prompts inside the history.
    pub in_history: bool,
}

/// How a route takes changes of the tools inside the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolUpdateMode {
    /// Tools can be added, not taken away.
    AdditionOnly,
    /// Both.
    InHistory,
}

/// What a profile changed of the catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteChange {
    /// Whether the model takes images.
    pub images: Option<bool>,
    /// How it takes changes of the tools; `Some(None)` for not at all.
    pub tool_update: Option<Option<ToolUpdateMode>>,
}

impl Route {
    /// The route of a model in the catalogue that dsh 0.2.1-rc.2 comes with.
    pub fn of_model(model: &JsString) -> Route {
        match model.as_str() {
            Some("deepseek-flash") => {
                Route { images: true, tool_update: Some(ToolUpdateMode::AdditionOnly), in_history: true }
            }
            _ => Route::default(),
        }
    }

    /// The same route with what a profile changed.
    #[must_use]
    pub fn changed(self, change: RouteChange) -> Route {
        Route {
            images: change.images.unwrap_or(self.images),
            tool_update: change.tool_update.unwrap_or(self.tool_update),
            ..self
        }
    }
}
