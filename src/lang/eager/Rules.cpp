#include "lang/eager/Eager.h"

namespace smalti::lang {

plain::PlainEvaluator findLanguageEvaluator(std::string_view) { return nullptr; }

}  // namespace smalti::lang
