// SM4112: a copy onto part of its own source. A DMA engine reads and writes in an unspecified order, so that what
// arrives is the source, or what the copy itself has put there.
#include <fmt/format.h>

#include "machine/observers/Checker.h"
#include "machine/observers/Region.h"

namespace smalti::machine {
namespace {

class OverlappingCopyChecker final : public Checker {
 public:
  using Checker::Checker;

  void dmaStart(const Actor& actor, const DmaTransfer& t) override {
    const auto source = regionOf(t.source), target = regionOf(t.target);
    if (!source || !target || !overlap(*source, *target)) return;
    // Each element is copied onto itself: harmless in any order.
    if (source->offset == target->offset && source->shape == target->shape && source->strides == target->strides)
      return;
    context_.findings->add({.code = "SM4112",
                            .message = fmt::format("a copy from {} to {} overlaps itself", t.source.buffer->name,
                                                   t.target.view.buffer->name),
                            .place = t.place,
                            .where = context_.where(actor),
                            .need = "a source and a target that have no element in common",
                            .have = fmt::format("elements {} to {} of the memory copied to {} to {}", source->offset,
                                                source->last(), target->offset, target->last()),
                            .help = "copy by way of another buffer, or in parts that do not overlap"});
  }
};

}  // namespace

std::unique_ptr<Checker> makeOverlappingCopyChecker(CheckContext context) {
  return std::make_unique<OverlappingCopyChecker>(context);
}

}  // namespace smalti::machine
