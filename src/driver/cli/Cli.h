#pragma once

#include <span>

#include "smalti/autotune.h"

namespace smalti::cli {

/// The whole command line; returns the exit code. Nothing is thrown out of it. `kernels`: what `smalti tune` knows by
/// name.
int main(int argc, const char* const* argv, std::span<const Tunable> kernels = {});

}  // namespace smalti::cli
