#include "lang/transform/Depth.h"

#include <fmt/format.h>

#include "lang/trace/SourceLocationScope.h"

namespace smalti::lang {
namespace {

/// Each level of vmap runs the rules of all levels above it: 200 of them overflow a stack of 8 MiB.
constexpr int kMaxNested = 100;
thread_local int tNested = 0;

}  // namespace

Depth::Depth(const Location& at, Of what) {
  if (tNested == kMaxNested) {
    const SourceLocationScope place(at);
    const bool control = what == Of::control;
    refuse({.code = "SM7106",
            .message = control ? "a function calls itself in a loop or branch in an endless recursion"
                               : "transformed functions call each other in an endless recursion",
            .place = {},
            .need = fmt::format("at most {} {} inside each other", kMaxNested,
                                control ? "loops, branches and transformations" : "transformations"),
            .have = control
                        ? "one more: the bodies of loops and both branches of a cond are traced, whatever is computed"
                        : "one more: a function that transforms itself is traced for ever",
            .help = "recursion needs a condition that C++ knows; use while_loop for what is computed"});
  }
  ++tNested;
}
Depth::~Depth() { --tNested; }

}  // namespace smalti::lang
