//! The protocol's side: what is offered, what comes in, and what is handed to the worker.
//!
//! It decides nothing about code. Invariants: what comes in is handed on in its order; a request that is cancelled is answered at once
//! and never begun, if it isn't yet.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use async_lsp::lsp_types as lsp;
use async_lsp::router::Router;
use async_lsp::{ClientSocket, ErrorCode, ResponseError};
use futures::future::{BoxFuture, FutureExt};
use lsp::notification as tell;
use lsp::request as ask;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::answers::{Desk, below};
use super::edits::Edit;
use super::library::Trouble;
use super::tell::Teller;
use super::worker::{Place, Task, Worker, real};
use codeyard_index::Stop;
use codeyard_lsp::encoding::PositionEncoding;

/// What the server has in hand.
pub(crate) struct Server {
    client: ClientSocket,
    runtime: Handle,
    indexes: PathBuf,
    /// The root, once it is known.
    root: PathBuf,
    tasks: Sender<Task>,
    /// Taken by the worker when it starts.
    to_do: Option<Receiver<Task>>,
    watches: bool,
    /// Called with what ends the worker's jobs, once there is a worker.
    on_start: Box<dyn Fn(Stop) + Send>,
}

/// Notifications end the conversation only when they say so.
type Go = ControlFlow<async_lsp::Result<()>>;
const GO_ON: Go = ControlFlow::Continue(());

impl Server {
    /// A server that keeps indexes in this folder. `on_start` is given what ends its jobs.
    pub(crate) fn router(
        client: ClientSocket,
        runtime: Handle,
        indexes: PathBuf,
        on_start: impl Fn(Stop) + Send + 'static,
    ) -> Router<Self> {
        let (tasks, to_do) = channel();
        let on_start = Box::new(on_start);
        let server = Self {
            client,
            runtime,
            indexes,
            root: PathBuf::new(),
            tasks,
            to_do: Some(to_do),
            watches: false,
            on_start,
        };
        let mut router = Router::new(server);
        Self::requests(&mut router);
        Self::notifications(&mut router);
        router
    }

    fn requests(router: &mut Router<Self>) {
        router
            .request::<ask::Initialize, _>(|server, params| std::future::ready(server.initialize(&params)))
            .request::<ask::Shutdown, _>(|_, ()| async { Ok(()) })
            .request::<ask::GotoDefinition, _>(|server, params| {
                let at = params.text_document_position_params;
                server.ask(move |desk| Ok(Some(lsp::GotoDefinitionResponse::Array(desk.definition(&at)?))))
            })
            .request::<ask::GotoDeclaration, _>(|server, params| {
                let at = params.text_document_position_params;
                server.ask(move |desk| Ok(Some(lsp::GotoDefinitionResponse::Array(desk.declaration(&at)?))))
            })
            .request::<ask::GotoImplementation, _>(|server, params| {
                let at = params.text_document_position_params;
                server.ask(move |desk| Ok(Some(lsp::GotoDefinitionResponse::Array(desk.implementation(&at)?))))
            })
            .request::<ask::References, _>(|server, params| {
                let (at, context) = (params.text_document_position, params.context);
                server.ask(move |desk| Ok(Some(desk.references(&at, context.include_declaration)?)))
            })
            .request::<ask::HoverRequest, _>(|server, params| {
                let at = params.text_document_position_params;
                server.ask(move |desk| desk.hover(&at))
            })
            .request::<ask::DocumentSymbolRequest, _>(|server, params| {
                let uri = params.text_document.uri;
                server.ask(move |desk| Ok(Some(lsp::DocumentSymbolResponse::Nested(desk.document_symbols(&uri)?))))
            })
            .request::<ask::WorkspaceSymbolRequest, _>(|server, params| {
                server.ask(move |desk| Ok(Some(lsp::WorkspaceSymbolResponse::Flat(desk.symbols(&params.query)?))))
            })
            .request::<ask::CallHierarchyPrepare, _>(|server, params| {
                let at = params.text_document_position_params;
                server.ask(move |desk| Ok(Some(desk.prepare_calls(&at)?)))
            })
            .request::<ask::CallHierarchyIncomingCalls, _>(|server, params| {
                server.ask(move |desk| Ok(Some(desk.incoming(&params.item)?)))
            })
            .request::<ask::CallHierarchyOutgoingCalls, _>(|server, params| {
                server.ask(move |desk| Ok(Some(desk.outgoing(&params.item)?)))
            });
    }

    fn notifications(router: &mut Router<Self>) {
        router
            .notification::<tell::Initialized>(|server, _| server.initialized())
            .notification::<tell::Exit>(|_, ()| ControlFlow::Break(Ok(())))
            .notification::<tell::DidOpenTextDocument>(|server, params| {
                let document = params.text_document;
                server.about(&document.uri, |path| Task::Open(path, document.text))
            })
            .notification::<tell::DidChangeTextDocument>(|server, params| {
                let edits: Vec<Edit> = params.content_changes.into_iter().map(Edit::from).collect();
                server.about(&params.text_document.uri, |path| Task::Edit(path, edits))
            })
            .notification::<tell::DidSaveTextDocument>(|server, params| {
                server.about(&params.text_document.uri, Task::Touched)
            })
            .notification::<tell::DidCloseTextDocument>(|server, params| {
                server.about(&params.text_document.uri, Task::Close)
            })
            .notification::<tell::DidChangeWatchedFiles>(|server, params| {
                for change in params.changes {
                    server.about(&change.uri, Task::Touched)?;
                }
                GO_ON
            })
            // What else is told changes nothing here.
            .unhandled_notification(|_, _| GO_ON);
    }

    fn initialize(&mut self, params: &lsp::InitializeParams) -> Result<lsp::InitializeResult, ResponseError> {
        let folder = params.workspace_folders.as_ref().and_then(|folders| folders.first()).map(|folder| &folder.uri);
        #[expect(deprecated, reason = "older clients name their root so")]
        let root = folder.or(params.root_uri.as_ref()).and_then(|uri| uri.to_file_path().ok());
        let refused = |why: &str| ResponseError::new(ErrorCode::INVALID_PARAMS, why);
        let root = root.ok_or_else(|| refused("a root is needed: rootUri, or a folder in workspaceFolders"))?;
        self.root = real(&root);
        let place = Place { indexes: self.indexes.clone(), root: self.root.clone() };
        let project = place.project().map_err(|why| ResponseError::new(ErrorCode::REQUEST_FAILED, why))?;
        let encoding = encoding(&params.capabilities);
        let window = params.capabilities.window.as_ref();
        let is_wanted = window.and_then(|window| window.work_done_progress).unwrap_or(false);
        let workspace = params.capabilities.workspace.as_ref();
        let watched = workspace.and_then(|workspace| workspace.did_change_watched_files.as_ref());
        self.watches = watched.and_then(|watched| watched.dynamic_registration).unwrap_or(false);
        let teller = Teller::new(self.client.clone(), self.runtime.clone(), is_wanted);
        let worker = Worker::new(project, encoding, teller);
        (self.on_start)(worker.stopper());
        let Some(to_do) = self.to_do.take() else { return Err(refused("initialize comes once")) };
        std::thread::Builder::new()
            .name("codeyard-syntactic".into())
            .spawn(move || worker.run(&to_do))
            .map_err(|error| ResponseError::new(ErrorCode::REQUEST_FAILED, error))?;
        Ok(lsp::InitializeResult {
            capabilities: offered(encoding),
            server_info: Some(lsp::ServerInfo {
                name: "codeyard syntactic".into(),
                version: Some(env!("CARGO_PKG_VERSION").into()),
            }),
        })
    }

    /// Makes the index, and asks to hear what changes.
    fn initialized(&mut self) -> Go {
        if self.watches {
            let client = self.client.clone();
            self.runtime.spawn(async move {
                let glob_pattern = lsp::GlobPattern::String("**/*".into());
                let watchers = vec![lsp::FileSystemWatcher { glob_pattern, kind: None }];
                let options = lsp::DidChangeWatchedFilesRegistrationOptions { watchers };
                let registration = lsp::Registration {
                    id: "files".into(),
                    method: <tell::DidChangeWatchedFiles as tell::Notification>::METHOD.into(),
                    register_options: serde_json::to_value(options).ok(),
                };
                let registrations = vec![registration];
                // A client that refuses tells nothing; documents that it opens and saves are seen all the same.
                client.request::<ask::RegisterCapability>(lsp::RegistrationParams { registrations }).await.ok();
            });
        }
        self.send(Task::Index);
        GO_ON
    }

    /// Hands on what concerns a document below the root; others don't concern this server.
    fn about(&self, uri: &lsp::Url, task: impl FnOnce(String) -> Task) -> Go {
        if let Some(path) = below(&self.root, uri) {
            self.send(task(path));
        }
        GO_ON
    }

    fn send(&self, task: Task) {
        // A worker that is gone answers no question either, and each says so.
        self.tasks.send(task).ok();
    }

    /// Puts a question to the worker.
    fn ask<T: Send + 'static>(
        &self,
        answer: impl FnOnce(Desk<'_>) -> Result<T, Trouble> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, ResponseError>> {
        let (reply, answered) = oneshot::channel::<Result<T, Trouble>>();
        let question = move |worker: &Worker| {
            if reply.is_closed() {
                return;
            }
            let said = worker.answer(&|| reply.is_closed(), answer);
            // Whoever asked may have gone meanwhile.
            reply.send(said).ok();
        };
        self.send(Task::Ask(Box::new(question)));
        async move {
            match answered.await {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(trouble)) => Err(refusal(trouble)),
                Err(_) => Err(ResponseError::new(ErrorCode::INTERNAL_ERROR, "the question couldn't be answered")),
            }
        }
        .boxed()
    }
}

fn refusal(trouble: Trouble) -> ResponseError {
    match trouble {
        Trouble::Cancelled => ResponseError::new(ErrorCode::REQUEST_CANCELLED, "cancelled"),
        Trouble::Unasked(why) => ResponseError::new(ErrorCode::INVALID_PARAMS, why),
        Trouble::Failed(why) => ResponseError::new(ErrorCode::REQUEST_FAILED, why),
    }
}

/// The first of the client's encodings that is known here.
fn encoding(capabilities: &lsp::ClientCapabilities) -> PositionEncoding {
    let general = capabilities.general.as_ref();
    let offered = general.and_then(|general| general.position_encodings.as_deref()).unwrap_or_default();
    offered.iter().find_map(|kind| PositionEncoding::from_name(kind.as_str())).unwrap_or_default()
}

fn offered(encoding: PositionEncoding) -> lsp::ServerCapabilities {
    let kind = match encoding {
        PositionEncoding::Utf8 => lsp::PositionEncodingKind::UTF8,
        PositionEncoding::Utf16 => lsp::PositionEncodingKind::UTF16,
        PositionEncoding::Utf32 => lsp::PositionEncodingKind::UTF32,
    };
    lsp::ServerCapabilities {
        position_encoding: Some(kind),
        text_document_sync: Some(lsp::TextDocumentSyncCapability::Options(lsp::TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(lsp::TextDocumentSyncKind::INCREMENTAL),
            save: Some(lsp::TextDocumentSyncSaveOptions::Supported(true)),
            ..Default::default()
        })),
        definition_provider: Some(lsp::OneOf::Left(true)),
        declaration_provider: Some(lsp::DeclarationCapability::Simple(true)),
        references_provider: Some(lsp::OneOf::Left(true)),
        hover_provider: Some(lsp::HoverProviderCapability::Simple(true)),
        document_symbol_provider: Some(lsp::OneOf::Left(true)),
        workspace_symbol_provider: Some(lsp::OneOf::Left(true)),
        implementation_provider: Some(lsp::ImplementationProviderCapability::Simple(true)),
        call_hierarchy_provider: Some(lsp::CallHierarchyServerCapability::Simple(true)),
        ..Default::default()
    }
}
