#include "driver/time/Taken.h"

#include <fmt/format.h>

#include "tpu/Legality.h"

namespace smalti::driver {

Status takenBy(const tpu::Chip& chip, const KernelPackage& kernel) {
  const tpu::Verdict verdict = tpu::judge(kernel, chip);
  if (verdict.accepted()) return {};
  const tpu::Refusal& first = verdict.refusals.front();
  return fail(
      {.code = "SM6904",
       .message = fmt::format("the compiler of {} refuses the kernel, so there is no time to predict", chip.name),
       .place = first.diagnostic.place,
       .where = {fmt::format("kernel '{}'", kernel.name)},
       .have = fmt::format("{}: {}", first.diagnostic.code, first.diagnostic.message),
       .help = "see the advice below; smalti time --anyway predicts a time nevertheless",
       .related = {first.diagnostic}});
}

}  // namespace smalti::driver
