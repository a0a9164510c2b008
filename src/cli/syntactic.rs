//! `codeyard syntactic`: the embedded language server on standard input and output.

use super::args::SyntacticArgs;
use super::{Failure, assemble, runtime};

/// Serves until the client leaves or its pipe ends.
pub(crate) fn run(args: SyntacticArgs) -> Result<(), Failure> {
    let indexes = match args.index_dir {
        Some(folder) => std::path::absolute(&folder)
            .map_err(|error| Failure::new(format!("{} is no usable path: {error}", folder.display())))?,
        None => {
            let state = assemble::open_state(args.state.state_dir.as_deref())?;
            let folder = state.path().join("index");
            state.make(&folder).map_err(|error| Failure::new(assemble::chain(&error)))?;
            folder
        }
    };
    let runtime = runtime()?;
    let served = runtime.block_on(codeyard_syntactic::serve(indexes));
    // Reading standard input blocks a thread of tokio's that nothing can end; don't wait for it.
    runtime.shutdown_background();
    let next = "what it reads must be the Language Server Protocol; `codeyard syntactic --help` says more";
    served.map_err(|error| Failure::new(format!("the conversation broke: {error}; {next}")))
}
