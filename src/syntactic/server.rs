//! The protocol: the server's capabilities, and the routing of requests and notifications to the worker.
//!
//! It doesn't look at code. Invariants: messages reach the worker in the order they arrive; a cancelled request is answered at once, and
//! is never started if it hasn't been yet.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use async_lsp::lsp_types as lsp;
use async_lsp::router::Router;
use async_lsp::{ClientSocket, ErrorCode, ResponseError};
use futures::future::{BoxFuture, FutureExt};
use lsp::{notification, request};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::fact_source::SyntacticError;
use super::handlers::{HandlerContext, relative_path};
use super::progress::ProgressReporter;
use super::text_changes::TextChange;
use super::worker::{IndexWorker, ProjectLocation, WorkerTask, canonical_path};
use codeyard_index::StopSignal;
use codeyard_lsp::text::encoding::PositionEncoding;

/// The state of the protocol side.
pub(crate) struct SyntacticServer {
    client: ClientSocket,
    runtime: Handle,
    indexes: PathBuf,
    /// The root; empty before `initialize`.
    root: PathBuf,
    tasks: Sender<WorkerTask>,
    /// The worker takes it when it starts.
    pending_tasks: Option<Receiver<WorkerTask>>,
    /// Whether the client lets the server register for file changes.
    can_watch_files: bool,
    /// Called with the signal that stops the worker's jobs, when the worker starts.
    on_start: Box<dyn Fn(StopSignal) + Send>,
}

/// What a notification does to the main loop: `Break` ends it.
type NotificationFlow = ControlFlow<async_lsp::Result<()>>;
const CONTINUE: NotificationFlow = ControlFlow::Continue(());

impl SyntacticServer {
    /// A server that keeps its indexes in the folder `indexes`. `on_start` gets the signal that stops its jobs.
    pub(crate) fn router(
        client: ClientSocket,
        runtime: Handle,
        indexes: PathBuf,
        on_start: impl Fn(StopSignal) + Send + 'static,
    ) -> Router<Self> {
        let (tasks, pending_tasks) = channel();
        let on_start = Box::new(on_start);
        let server = Self {
            client,
            runtime,
            indexes,
            root: PathBuf::new(),
            tasks,
            pending_tasks: Some(pending_tasks),
            can_watch_files: false,
            on_start,
        };
        let mut router = Router::new(server);
        Self::requests(&mut router);
        Self::notifications(&mut router);
        router
    }

    fn requests(router: &mut Router<Self>) {
        router
            .request::<request::Initialize, _>(|server, params| std::future::ready(server.initialize(&params)))
            .request::<request::Shutdown, _>(|_, ()| async { Ok(()) })
            .request::<request::GotoDefinition, _>(|server, params| {
                let at = params.text_document_position_params;
                server.dispatch(move |request| Ok(Some(lsp::GotoDefinitionResponse::Array(request.definition(&at)?))))
            })
            .request::<request::GotoDeclaration, _>(|server, params| {
                let at = params.text_document_position_params;
                server.dispatch(move |request| Ok(Some(lsp::GotoDefinitionResponse::Array(request.declaration(&at)?))))
            })
            .request::<request::GotoImplementation, _>(|server, params| {
                let at = params.text_document_position_params;
                server
                    .dispatch(move |request| Ok(Some(lsp::GotoDefinitionResponse::Array(request.implementation(&at)?))))
            })
            .request::<request::References, _>(|server, params| {
                let at = params.text_document_position;
                let context = params.context;
                server.dispatch(move |request| Ok(Some(request.references(&at, context.include_declaration)?)))
            })
            .request::<request::HoverRequest, _>(|server, params| {
                let at = params.text_document_position_params;
                server.dispatch(move |request| request.hover(&at))
            })
            .request::<request::DocumentSymbolRequest, _>(|server, params| {
                let uri = params.text_document.uri;
                server.dispatch(move |request| {
                    Ok(Some(lsp::DocumentSymbolResponse::Nested(request.document_symbols(&uri)?)))
                })
            })
            .request::<request::WorkspaceSymbolRequest, _>(|server, params| {
                server.dispatch(move |request| {
                    Ok(Some(lsp::WorkspaceSymbolResponse::Flat(request.symbols(&params.query)?)))
                })
            })
            .request::<request::CallHierarchyPrepare, _>(|server, params| {
                let at = params.text_document_position_params;
                server.dispatch(move |request| Ok(Some(request.prepare_calls(&at)?)))
            })
            .request::<request::CallHierarchyIncomingCalls, _>(|server, params| {
                server.dispatch(move |request| Ok(Some(request.incoming(&params.item)?)))
            })
            .request::<request::CallHierarchyOutgoingCalls, _>(|server, params| {
                server.dispatch(move |request| Ok(Some(request.outgoing(&params.item)?)))
            });
    }

    fn notifications(router: &mut Router<Self>) {
        router
            .notification::<notification::Initialized>(|server, _| server.initialized())
            .notification::<notification::Exit>(|_, ()| ControlFlow::Break(Ok(())))
            .notification::<notification::DidOpenTextDocument>(|server, params| {
                let document = params.text_document;
                server.forward_document(&document.uri, |path| WorkerTask::Open(path, document.text))
            })
            .notification::<notification::DidChangeTextDocument>(|server, params| {
                let changes: Vec<TextChange> = params.content_changes.into_iter().map(TextChange::from).collect();
                server.forward_document(&params.text_document.uri, |path| WorkerTask::Edit(path, changes))
            })
            .notification::<notification::DidSaveTextDocument>(|server, params| {
                server.forward_document(&params.text_document.uri, WorkerTask::FileChanged)
            })
            .notification::<notification::DidCloseTextDocument>(|server, params| {
                server.forward_document(&params.text_document.uri, WorkerTask::Close)
            })
            .notification::<notification::DidChangeWatchedFiles>(|server, params| {
                for change in params.changes {
                    server.forward_document(&change.uri, WorkerTask::FileChanged)?;
                }
                CONTINUE
            })
            // Other notifications have no effect here.
            .unhandled_notification(|_, _| CONTINUE);
    }

    fn initialize(&mut self, params: &lsp::InitializeParams) -> Result<lsp::InitializeResult, ResponseError> {
        let folder = params.workspace_folders.as_ref().and_then(|folders| folders.first()).map(|folder| &folder.uri);
        #[expect(deprecated, reason = "older clients send rootUri only")]
        let root = folder.or(params.root_uri.as_ref()).and_then(|uri| uri.to_file_path().ok());
        let invalid_params = |why: &str| ResponseError::new(ErrorCode::INVALID_PARAMS, why);
        let root = root.ok_or_else(|| invalid_params("no root: send rootUri, or a folder in workspaceFolders"))?;
        self.root = canonical_path(&root);
        let location = ProjectLocation { indexes: self.indexes.clone(), root: self.root.clone() };
        let project = location.project().map_err(|why| ResponseError::new(ErrorCode::REQUEST_FAILED, why))?;
        let encoding = negotiated_encoding(&params.capabilities);
        let window = params.capabilities.window.as_ref();
        let is_supported = window.and_then(|window| window.work_done_progress).unwrap_or(false);
        let workspace = params.capabilities.workspace.as_ref();
        let watched = workspace.and_then(|workspace| workspace.did_change_watched_files.as_ref());
        self.can_watch_files = watched.and_then(|watched| watched.dynamic_registration).unwrap_or(false);
        let reporter = ProgressReporter::new(self.client.clone(), self.runtime.clone(), is_supported);
        let worker = IndexWorker::new(project, encoding, reporter);
        (self.on_start)(worker.stop_signal());
        let Some(pending_tasks) = self.pending_tasks.take() else {
            return Err(invalid_params("initialize was sent twice"));
        };
        std::thread::Builder::new()
            .name("codeyard-syntactic".into())
            .spawn(move || worker.run(&pending_tasks))
            .map_err(|error| ResponseError::new(ErrorCode::REQUEST_FAILED, error))?;
        Ok(lsp::InitializeResult {
            capabilities: server_capabilities(encoding),
            server_info: Some(lsp::ServerInfo {
                name: "codeyard syntactic".into(),
                version: Some(env!("CARGO_PKG_VERSION").into()),
            }),
        })
    }

    /// Registers for file changes and starts the first index job.
    fn initialized(&mut self) -> NotificationFlow {
        if self.can_watch_files {
            let client = self.client.clone();
            self.runtime.spawn(async move {
                let glob_pattern = lsp::GlobPattern::String("**/*".into());
                let watchers = vec![lsp::FileSystemWatcher { glob_pattern, kind: None }];
                let options = lsp::DidChangeWatchedFilesRegistrationOptions { watchers };
                let registration = lsp::Registration {
                    id: "files".into(),
                    method: <notification::DidChangeWatchedFiles as notification::Notification>::METHOD.into(),
                    register_options: serde_json::to_value(options).ok(),
                };
                let registrations = vec![registration];
                // A client that refuses reports no file changes. The documents that it opens and saves are seen nevertheless.
                client.request::<request::RegisterCapability>(lsp::RegistrationParams { registrations }).await.ok();
            });
        }
        self.send(WorkerTask::Index);
        CONTINUE
    }

    /// Sends a task about a document to the worker. Ignores documents outside the root.
    fn forward_document(&self, uri: &lsp::Url, task: impl FnOnce(String) -> WorkerTask) -> NotificationFlow {
        if let Some(path) = relative_path(&self.root, uri) {
            self.send(task(path));
        }
        CONTINUE
    }

    fn send(&self, task: WorkerTask) {
        // Sending fails only if the worker has ended. Then every request fails with its own error.
        self.tasks.send(task).ok();
    }

    /// Sends a request to the worker and returns its response.
    fn dispatch<T: Send + 'static>(
        &self,
        handler: impl FnOnce(HandlerContext<'_>) -> Result<T, SyntacticError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, ResponseError>> {
        let (reply, response) = oneshot::channel::<Result<T, SyntacticError>>();
        let pending = move |worker: &IndexWorker| {
            if reply.is_closed() {
                return;
            }
            let result = worker.handle(&|| reply.is_closed(), handler);
            // The client may have cancelled in the meantime.
            reply.send(result).ok();
        };
        self.send(WorkerTask::Request(Box::new(pending)));
        async move {
            match response.await {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(error)) => Err(response_error(error)),
                Err(_) => {
                    Err(ResponseError::new(ErrorCode::INTERNAL_ERROR, "the worker thread ended before it answered"))
                }
            }
        }
        .boxed()
    }
}

fn response_error(error: SyntacticError) -> ResponseError {
    match error {
        SyntacticError::Cancelled => ResponseError::new(ErrorCode::REQUEST_CANCELLED, "cancelled"),
        SyntacticError::InvalidParams(why) => ResponseError::new(ErrorCode::INVALID_PARAMS, why),
        SyntacticError::Failed(why) => ResponseError::new(ErrorCode::REQUEST_FAILED, why),
    }
}

/// The first of the client's position encodings that this server supports; UTF-16 without any.
fn negotiated_encoding(capabilities: &lsp::ClientCapabilities) -> PositionEncoding {
    let general = capabilities.general.as_ref();
    let supported = general.and_then(|general| general.position_encodings.as_deref()).unwrap_or_default();
    supported.iter().find_map(|kind| PositionEncoding::from_name(kind.as_str())).unwrap_or_default()
}

fn server_capabilities(encoding: PositionEncoding) -> lsp::ServerCapabilities {
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
