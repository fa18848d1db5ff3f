#include "lang/ops/RegionOps.h"

#include "lang/trace/HasValue.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"

namespace smalti::lang {

std::vector<Array> computeRegionOp(const OpCall& call) {
  Trace trace("a function of elements", Trace::Kind::program);
  std::vector<ValueId> operands, results;
  std::vector<Array> arguments;
  for (const Array& a : call.operands) {
    checkConcrete(a);
    operands.push_back(trace.use(trace.addArgument(a.type())));
    arguments.push_back(a);
  }
  std::vector<Block> regions;
  for (const Region& region : call.regions) regions.push_back(trace.block(region.arguments, region.body));
  const TracedFunction traced = trace.finish();
  Function function = traced.function;
  for (const ArrayType& type : *call.settled) {
    results.push_back(static_cast<ValueId>(function.values.size()));
    function.values.push_back(type);
  }
  const Op op{.name = std::string(call.op.name),
              .operands = std::move(operands),
              .results = std::move(results),
              .attributes = call.attributes,
              .regions = std::move(regions),
              .callee = {},
              .place = currentPlace()};
  plain::PlainCall plain{op, function, arguments, *call.settled};
  auto computed = evaluatorOf(call.op)(plain);
  if (!computed) refuse(std::move(computed.error()));
  return std::move(*computed);
}

}  // namespace smalti::lang
