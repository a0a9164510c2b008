//! `codeyard syntactic`: runs the embedded language server on standard input and output.

use crate::args::SyntacticArgs;
use crate::shared::assemble;
use crate::{Failure, runtime};

/// Serves until the client sends `exit` or closes the pipe.
pub(crate) fn run(args: SyntacticArgs) -> Result<(), Failure> {
    let indexes = match args.index_dir {
        Some(folder) => std::path::absolute(&folder).map_err(|error| {
            Failure::new(format!("--index-dir: cannot make the path {} absolute: {error}", folder.display()))
        })?,
        None => {
            let state = assemble::open_state(args.state.state_dir.as_deref())?;
            let folder = state.path().join("index");
            state.make(&folder).map_err(|error| Failure::new(assemble::error_chain(&error)))?;
            folder
        }
    };
    let runtime = runtime()?;
    let served = runtime.block_on(codeyard_syntactic::serve(indexes));
    // tokio reads standard input on a thread that cannot be cancelled; do not wait for it.
    runtime.shutdown_background();
    let next = "the client must speak the Language Server Protocol; see `codeyard syntactic --help`";
    served.map_err(|error| Failure::new(format!("the connection to the client failed: {error}; {next}")))
}
