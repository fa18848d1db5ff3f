#include "lang/trace/Tracer.h"

#include <atomic>

namespace smalti::lang {
namespace {

/// Null: ops are computed at once.
constinit thread_local Tracer* tCurrent = nullptr;

}  // namespace

Tracer::Tracer() : outer_(tCurrent) {}
Tracer& Tracer::current() { return tCurrent ? *tCurrent : eager(); }
bool Tracer::isEager() { return !tCurrent || tCurrent == &eager(); }

TracerScope::TracerScope(Tracer& tracer) : before_(std::exchange(tCurrent, &tracer)) {}
TracerScope::~TracerScope() { tCurrent = before_; }

uint64_t nextTracer() {
  static std::atomic<uint64_t> number{0};
  return ++number;
}

std::vector<Array> bind(const OpRecord& op, std::span<const Array> operands, std::span<const ArrayType> results,
                        Attributes attributes) {
  return Tracer::current().bind({op, operands, results, std::move(attributes)});
}

Array bind1(const OpRecord& op, std::initializer_list<Array> operands, ArrayType result, Attributes attributes) {
  return std::move(bind(op, {operands.begin(), operands.size()}, {&result, 1}, std::move(attributes))[0]);
}

std::vector<Array> bindRegions(const OpRecord& op, std::span<const Array> operands,
                               const std::vector<ArrayType>& results, std::span<const Region> regions,
                               const Location& at, Attributes attributes) {
  return Tracer::current().bind({op, operands, {}, std::move(attributes), regions, &results, &at});
}

}  // namespace smalti::lang
