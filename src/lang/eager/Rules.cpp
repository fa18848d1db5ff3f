#include "lang/eager/Rules.h"

namespace smalti::lang {

plain::PlainEvaluator findLanguageEvaluator(std::string_view op) {
  for (const auto table : {mathEvaluators(), reduceEvaluators(), tpuEvaluators()})
    for (const plain::EvaluatorRow& row : table)
      if (row.op == op) return row.evaluate;
  return nullptr;
}

}  // namespace smalti::lang
