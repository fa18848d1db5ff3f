#include "lang/eager/Eager.h"

#include "lang/trace/HasValue.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/Place.h"

namespace smalti::lang {

std::vector<Array> computeNow(std::string_view name, std::span<const Array> operands,
                              std::span<const ArrayType> results, Attributes attributes) {
  plain::PlainEvaluator evaluate = findLanguageEvaluator(name);
  if (!evaluate) evaluate = plain::findEvaluator(name);
  if (!evaluate) refuseOutsideKernels(name);
  Function function;
  Op op{.name = std::string(name),
        .operands = {},
        .results = {},
        .attributes = std::move(attributes),
        .regions = {},
        .callee = {},
        .place = currentPlace()};
  const auto add = [&](const ArrayType& type, std::vector<ValueId>& ids) {
    ids.push_back(static_cast<ValueId>(function.values.size()));
    function.values.push_back(type);
  };
  for (const Array& a : operands) {
    checkConcrete(a);
    add(a.type(), op.operands);
  }
  for (const ArrayType& t : results) add(t, op.results);
  std::vector<Array> arguments(operands.begin(), operands.end());
  plain::PlainCall call{op, function, arguments, results};
  auto computed = evaluate(call);
  if (!computed) refuse(std::move(computed.error()));
  return std::move(*computed);
}

}  // namespace smalti::lang
