// Reductions.
#include "lang/lower/Lowering.h"

namespace smalti::lang {

std::span<const LowerRow> reduceRules() { return {}; }

}  // namespace smalti::lang
