#include "lang/lower/DialectLowering.h"
#include "lang/transform/Custom.h"

namespace smalti::lang {

void lowerCustomFunction(DialectLowering& l, const Op& op) {
  const auto loc = l.loc;
  const auto results = l.ops(op.regions[0].ops);
  l.loc = loc;
  for (size_t i = 0; i < op.results.size(); ++i) l.set(op.results[i], results[i]);
}

}  // namespace smalti::lang
