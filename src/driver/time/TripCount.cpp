#include "driver/time/TripCount.h"

#include <algorithm>
#include <limits>

#include "plain/PlainEvaluators.h"

namespace smalti::driver {
namespace {

using Wide = __int128;  // no sum or difference of two integers overflows

class Counter {
 public:
  Counter(const Program& program, const Function& function, const Op& loop, const KnownValues& known)
      : program_(program), function_(function), loop_(loop), known_(known) {}

  std::optional<TripCount> count() {
    const ValueId goesOn = returned(condition(), 0);
    const Op* compare = definitionOf(goesOn, condition());
    if (!compare || compare->name != "compare") return std::nullopt;
    const Attribute* found = compare->find("comparison_direction");
    std::string direction = found ? std::get<std::string>(*found) : "";
    ValueId counted = compare->operands[0], limit = compare->operands[1];
    if (valueOf(counted, condition())) {
      std::swap(counted, limit);
      direction = mirrored(direction);
    }
    const auto position = positionOf(counted, condition());
    if (!position) return std::nullopt;
    const auto start = numberOf(loop_.operands[*position], nullptr), end = numberOf(limit, &condition()),
               step = stepOf(*position);
    if (!start || !end || !step) return std::nullopt;
    const auto n = iterations(direction, *start, *end, *step, function_.values[static_cast<size_t>(counted)].dtype);
    return n ? std::optional(TripCount{*n, *position}) : std::nullopt;
  }

 private:
  const Block& condition() const { return loop_.regions[0]; }
  const Block& body() const { return loop_.regions[1]; }

  static ValueId returned(const Block& block, size_t i) { return block.ops.back().operands[i]; }
  static const Op* definitionOf(ValueId v, const Block& block) {
    const auto found = std::ranges::find_if(
        block.ops, [&](const Op& op) { return std::ranges::find(op.results, v) != op.results.end(); });
    return found == block.ops.end() ? nullptr : &*found;
  }
  static std::optional<size_t> positionOf(ValueId v, const Block& block) {
    const auto found = std::ranges::find(block.arguments, v);
    if (found == block.arguments.end()) return std::nullopt;
    return static_cast<size_t>(found - block.arguments.begin());
  }

  /// A value that is the same in each iteration. `block`: null outside of the loop.
  std::optional<Array> valueOf(ValueId v, const Block* block) {
    if (!block) return known_[static_cast<size_t>(v)];
    if (const auto i = positionOf(v, *block))
      return returned(body(), *i) == body().arguments[*i] ? valueOf(loop_.operands[*i], nullptr) : std::nullopt;
    const Op* op = definitionOf(v, *block);
    if (!op) return valueOf(v, nullptr);
    if (!op->regions.empty() || --budget_ < 0) return std::nullopt;
    for (const ValueId operand : op->operands) {
      const auto value = valueOf(operand, block);
      if (!value) return std::nullopt;
      known_[static_cast<size_t>(operand)] = value;
    }
    const auto results = evaluateKnown(program_, function_, *op, known_);
    if (!results) return std::nullopt;
    return (*results)[static_cast<size_t>(std::ranges::find(op->results, v) - op->results.begin())];
  }
  std::optional<Array> valueOf(ValueId v, const Block& block) { return valueOf(v, &block); }

  std::optional<Wide> numberOf(ValueId v, const Block* block) {
    const DType t = function_.values[static_cast<size_t>(v)].dtype;
    if (!is_integer(t) || t == DType::u64) return std::nullopt;
    const auto value = valueOf(v, block);
    return value ? std::optional<Wide>(plain::indexAt(*value, 0)) : std::nullopt;
  }

  /// What an iteration adds to the carried value at `position`.
  std::optional<Wide> stepOf(size_t position) {
    const ValueId before = body().arguments[position];
    const Op* op = definitionOf(returned(body(), position), body());
    if (!op || (op->name != "add" && op->name != "subtract")) return std::nullopt;
    const bool second = op->name == "add" && op->operands[1] == before;
    if (!second && op->operands[0] != before) return std::nullopt;
    const auto step = numberOf(op->operands[second ? 0 : 1], &body());
    if (!step) return std::nullopt;
    return op->name == "add" ? *step : -*step;
  }

  static std::string mirrored(const std::string& direction) {
    if (direction == "LT") return "GT";
    if (direction == "LE") return "GE";
    if (direction == "GT") return "LT";
    if (direction == "GE") return "LE";
    return direction;
  }

  static std::optional<int64_t> iterations(std::string direction, Wide start, Wide end, Wide step, DType t) {
    const bool down = direction == "GT" || direction == "GE";
    if (down) {
      direction = mirrored(direction);
      start = -start, end = -end, step = -step;
    }
    Wide n = 0;
    if (direction == "NE") {
      if (step == 0) return start == end ? std::optional<int64_t>(0) : std::nullopt;
      n = (end - start) / step;
      if (n < 0 || start + n * step != end) return std::nullopt;
    } else if (direction == "LT" || direction == "LE") {
      if (direction == "LE") ++end;
      if (start >= end) return 0;
      if (step <= 0) return std::nullopt;
      n = (end - start + step - 1) / step;
    } else {
      return std::nullopt;
    }
    const Wide last = down ? -(start + n * step) : start + n * step;
    const int bits = bit_width(t) - (is_signed_integer(t) ? 1 : 0);
    const Wide largest = (Wide{1} << bits) - 1, least = is_signed_integer(t) ? -largest - 1 : 0;
    if (last < least || last > largest || n > std::numeric_limits<int64_t>::max()) return std::nullopt;
    return static_cast<int64_t>(n);
  }

  const Program& program_;
  const Function& function_;
  const Op& loop_;
  KnownValues known_;
  int budget_ = 100;  ///< ops: operands may be shared, and chains of them long
};

}  // namespace

std::optional<TripCount> tripCount(const Program& program, const Function& function, const Op& loop,
                                   const KnownValues& known) {
  return Counter(program, function, loop, known).count();
}

}  // namespace smalti::driver
