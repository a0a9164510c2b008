//! A small Ruby project, and positions in it.

use std::fs;
use std::path::{Path, PathBuf};

/// A class that is extended.
pub(crate) const RUBY_SOURCE: &str = "module Library
  # Holds books.
  class Shelf
    def initialize
      @books = []
    end

    # Puts one there.
    def put(book)
      @books << book
      count
    end

    def count
      @books.size
    end
  end

  class DeepShelf < Shelf
    def put(book)
      super
    end
  end
end
";

/// File that uses it.
pub(crate) const MAIN: &str = "require_relative 'lib/shelf'

def fill(shelf)
  shelf.put('größe'); shelf.put(2)
end

fill(Library::Shelf.new)
";

/// The project in its own folder, outside any repository.
pub(crate) struct Project {
    dir: tempfile::TempDir,
    pub root: PathBuf,
}

impl Project {
    /// The two files.
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("syntactic").tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a real path").join("root");
        let project = Self { dir, root };
        project.write("lib/shelf.rb", RUBY_SOURCE);
        project.write("main.rb", MAIN);
        project
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn uri(&self, path: &str) -> String {
        uri(&self.path(path))
    }

    pub(crate) fn indexes(&self) -> PathBuf {
        self.dir.path().join("index")
    }
}

/// URI of a path; the paths of these tests need no escapes.
pub(crate) fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}
