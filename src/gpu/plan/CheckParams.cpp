#include <algorithm>

#include <fmt/format.h>

#include "base/Arithmetic.h"
#include "gpu/plan/LaunchPlan.h"

namespace smalti::gpu {
namespace {

tl::unexpected<Diagnostic> impossible(std::string need, std::string have, std::string help) {
  return fail({.code = "SM7209",
               .message = "the kernel cannot be compiled as its parameters for GPUs say",
               .place = {},
               .need = std::move(need),
               .have = std::move(have),
               .help = std::move(help)});
}

Status checkStages(const LaunchPlan& plan, int64_t wanted, const Architecture& architecture) {
  const std::string need = fmt::format("num_stages={}", wanted);
  if (plan.products.products.empty())
    return impossible(need, "no product whose operands are staged in shared memory",
                      "leave num_stages out for this kernel");
  const auto tooLarge = [&](int64_t stageBytes) {
    return impossible(fmt::format("{} of {} bytes each", need, stageBytes),
                      fmt::format("{} bytes of shared memory for stages ({})",
                                  architecture.sharedBytes - kOtherSharedBytes, architecture.name),
                      "use fewer stages or smaller blocks");
  };
  if (const StreamPlan& stream = plan.stream; !stream.products.empty() && stream.stages != wanted)
    return tooLarge(stream.stageBytes);
  for (const auto& [op, p] : plan.products.products) {
    if (plan.stream.find(op)) continue;
    if (wanted > std::max<int64_t>(2, p.chunks))
      return impossible(need,
                        fmt::format("a product whose operands are not copied ahead of its step, with {} {} of K",
                                    p.chunks, p.chunks == 1 ? "chunk" : "chunks"),
                        "use fewer stages, or smaller blocks so that stages fit into shared memory");
    if (p.tile.stages < wanted) return tooLarge(p.tile.stageBytes());
  }
  return {};
}

Status checkCopies(const StreamPlan& stream, GpuCopies wanted, const Architecture& architecture) {
  const std::string need = fmt::format("copies={}", wanted == GpuCopies::boxes ? "boxes" : "threads");
  if (wanted == GpuCopies::boxes && !architecture.hasBoxes())
    return impossible(need + ": sm_90 or later", std::string(architecture.name), "leave copies out, or use threads");
  if (stream.products.empty())
    return impossible(need, "no product whose operands are copied ahead",
                      "leave copies out; docs/gpu.md lists which operands are");
  if (wanted == GpuCopies::boxes && !stream.usesTma)
    return impossible(need, "an operand whose rows are not multiples of 16 bytes, or of 128 bytes along K",
                      "leave copies out, or change the blocks");
  return {};
}

}  // namespace

Status checkParams(const LaunchPlan& plan, const GpuParams& params, const Architecture& architecture) {
  if (params.copies)
    if (Status ok = checkCopies(plan.stream, *params.copies, architecture); !ok) return ok;
  if (params.num_stages)
    if (Status ok = checkStages(plan, *params.num_stages, architecture); !ok) return ok;
  if (params.turns == true && plan.stream.turns == 0)
    return impossible("turns=on",
                      plan.stream.usesTma ? "no two warp groups that compute with registers between two products"
                                          : "operands that are not copied as boxes for warp groups",
                      "leave turns out for this kernel");
  return {};
}

}  // namespace smalti::gpu
