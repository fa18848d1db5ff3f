#pragma once

namespace smalti::cli {

/// The whole command line; returns the exit code. Nothing is thrown out of it.
int main(int argc, const char* const* argv);

}  // namespace smalti::cli
