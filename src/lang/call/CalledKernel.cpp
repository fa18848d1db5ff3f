#include "lang/call/CalledKernel.h"

namespace smalti::lang {
namespace {

std::string calledTypes(const TypedOp&) { return ""; }  // `verify` compares them with the kernel's

constexpr OpTable kCallOps{OpRecord{.name = "kernel_call", .jaxName = "pallas_call", .types = calledTypes}};
const OpFamily kCallFamily(kCallOps);

}  // namespace

std::vector<Array> bindKernel(std::shared_ptr<const CalledKernel> kernel, std::span<const Array> operands,
                              std::span<const ArrayType> results) {
  return Tracer::current().bind(
      {.op = kCallOps["kernel_call"], .operands = operands, .results = results, .kernel = std::move(kernel)});
}

}  // namespace smalti::lang
