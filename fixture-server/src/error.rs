//! Why a server cannot start.

use std::io;
use std::net::SocketAddr;

use crate::script::ScriptError;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The script cannot be used.
    #[error("the script cannot be used")]
    Script(#[from] ScriptError),
    /// The address is not one of this machine alone.
    #[error("{address} can be reached from other machines, and nobody said that it may")]
    Public {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No thread or runtime for the server.
    #[error("cannot start a thread for the server")]
    Thread {
        /// Why.
        #[source]
        source: io::Error,
    },
}
