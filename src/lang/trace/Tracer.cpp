#include "lang/trace/Tracer.h"

#include <atomic>

#include <fmt/format.h>

#include "eval/shape/Strides.h"
#include "lang/trace/SourceLocationScope.h"

namespace smalti::lang {
namespace {

/// Null: ops are computed at once.
constinit thread_local Tracer* tCurrent = nullptr;

void checkDimensions(const OpRecord& op, const ArrayType& type) {
  if (type.shape.size() <= static_cast<size_t>(eval::kMaxOperandDims)) return;
  refuse({.code = "SM6125",
          .message = fmt::format("an array of '{}' has too many dimensions", op.shownName()),
          .place = {},
          .need = fmt::format("at most {} dimensions", eval::kMaxOperandDims),
          .have = type.str(),
          .help = "reshape it: combine dimensions, or drop those of size 1"});
}

void checkDimensions(const OpRecord& op, std::span<const Array> operands, std::span<const ArrayType> results) {
  for (const Array& a : operands) checkDimensions(op, a.type());
  for (const ArrayType& type : results) checkDimensions(op, type);
}

}  // namespace

Tracer::Tracer() : outer_(tCurrent) {}
Tracer& Tracer::current() { return tCurrent ? *tCurrent : eager(); }
bool Tracer::isEager() { return !tCurrent || tCurrent == &eager(); }

bool Tracer::owns(const Array& a) const {
  return a.is_traced() && a.tracer() && static_cast<const TracedValue*>(a.tracer().get())->tracer == serial_;
}

TracerScope::TracerScope(Tracer& tracer) : before_(std::exchange(tCurrent, &tracer)) {}
TracerScope::~TracerScope() { tCurrent = before_; }

uint64_t nextTracer() {
  static std::atomic<uint64_t> number{0};
  return ++number;
}

std::vector<Array> bind(const OpRecord& op, std::span<const Array> operands, std::span<const ArrayType> results,
                        Attributes attributes) {
  checkDimensions(op, operands, results);
  return Tracer::current().bind({op, operands, results, std::move(attributes)});
}

Array bind1(const OpRecord& op, std::initializer_list<Array> operands, ArrayType result, Attributes attributes) {
  return std::move(bind(op, {operands.begin(), operands.size()}, {&result, 1}, std::move(attributes))[0]);
}

std::vector<Array> bindRegions(const OpRecord& op, std::span<const Array> operands,
                               const std::vector<ArrayType>& results, std::span<const Region> regions,
                               const Location& at, Attributes attributes) {
  {
    SourceLocationScope place(at);
    checkDimensions(op, operands, results);
  }
  return Tracer::current().bind({op, operands, {}, std::move(attributes), regions, &results, &at});
}

}  // namespace smalti::lang
