#include "lang/eager/Eager.h"

#include "base/Lasting.h"
#include "base/process/FloatMode.h"
#include "lang/call/CalledKernel.h"
#include "lang/trace/HasValue.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/Custom.h"

namespace smalti::lang {
namespace {

/// The tracer below all others.
class Eager : public Tracer {
 public:
  Eager() : Tracer(nullptr) {}

  std::vector<Array> bind(OpCall call) override {
    if (call.kernel) return call.kernel->call(call.operands);
    if (call.custom) return call.custom->run(call.operands);
    if (call.op.run) return call.op.run(call);
    return computeNow(call.op, call.operands, call.results, std::move(call.attributes));
  }
};

}  // namespace

Tracer& Tracer::eager() {
  static constinit Lasting<Eager> eager;
  return eager.get();
}

std::vector<Array> computeNow(const OpRecord& record, std::span<const Array> operands,
                              std::span<const ArrayType> results, Attributes attributes) {
  const plain::PlainEvaluator evaluate = evaluatorOf(record);
  if (!evaluate) refuseOutsideKernels(record.name);
  Function function;
  Op op{.name = std::string(record.name),
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
  const FloatModeScope ieee;
  auto computed = evaluate(call);
  if (!computed) refuse(std::move(computed.error()));
  return std::move(*computed);
}

}  // namespace smalti::lang
