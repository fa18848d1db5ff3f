#include "lang/transform/BatchKernel.h"

#include "lang/call/CalledKernel.h"
#include "lang/control/Scan.h"
#include "lang/transform/Batch.h"

namespace smalti::lang {
namespace {

/// One call for each example.
std::vector<Array> loopOverExamples(const OpCall& call, const Mask& isBatched, int64_t size) {
  std::vector<Array> examples;
  std::vector<ArrayType> slices, results;
  for (size_t i = 0; i < isBatched.size(); ++i)
    if (isBatched[i]) {
      examples.push_back(call.operands[i]);
      slices.push_back(call.operands[i].type());
      slices.back().shape.erase(slices.back().shape.begin());
    }
  for (const ArrayType& t : call.results) results.push_back(batchedType(t, size));
  const Region region{slices, [&](std::span<const Array> inside) {
                        std::vector<Array> operands(call.operands.begin(), call.operands.end());
                        size_t next = 0;
                        for (size_t i = 0; i < operands.size(); ++i)
                          if (isBatched[i]) operands[i] = inside[next++];
                        return bindKernel(call.kernel, operands, call.results);
                      }};
  return bindScan(examples, 0, size, false, results, region, call.at ? *call.at : Location{});
}

}  // namespace

std::vector<Array> batchKernel(const OpCall& call, const Mask& isBatched, int64_t size) {
  return loopOverExamples(call, isBatched, size);
}

}  // namespace smalti::lang
