//! Builds that the operator allowed, with the build tools of the machine: CMake, Meson, bear and make, and everything that goes wrong in
//! them. A test whose tool is missing says so aloud and ends.
