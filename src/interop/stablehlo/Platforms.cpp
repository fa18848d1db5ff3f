// Programs exported for several platforms: main takes the platform's number first, which callers do not know, and
// branches choose by it. The branches of one platform are read, as if the program were exported for it alone; those of
// the others may hold what is not known here.
#include <algorithm>

#include "interop/Interop.h"
#include "interop/stablehlo/Parser.h"
#include "ir/program/PlainOps.h"
#include "ir/program/Uses.h"

namespace smalti::interop::stablehlo {
namespace {

constexpr std::string_view kPlatformIndex = "\"_platform_index\"";
/// More than JAX has.
constexpr int64_t kMaxPlatforms = 8;

const Array* scalarConstant(const Op& op) {
  const Attribute* value = op.name == "constant" ? op.find("value") : nullptr;
  const Array* array = value ? std::get_if<Array>(value) : nullptr;
  return array && array->dtype() == DType::i32 && array->elements() == 1 ? array : nullptr;
}

bool isPlatform(const std::string& attributes, const ArrayType& type) {
  return attributes.find(kPlatformIndex) != std::string::npos && type == ArrayType{DType::i32, {}};
}

}  // namespace

/// Of the function being read, whose arguments are known.
void Parser::notePlatform(const std::vector<ValueId>& arguments, const std::vector<std::string>& attributes) {
  for (size_t i = 0; i < arguments.size() && i < attributes.size(); ++i)
    if (isPlatform(attributes[i], function_->values[arguments[i]])) {
      isPlatform_.insert(arguments[i]);
      known_[arguments[i]] = platform_;
    }
}

/// Follows what the platform's number decides: constants, and the results of branches that have been chosen.
void Parser::noteKnown(const Op& op) {
  if (isPlatform_.empty()) return;
  if (const Array* value = scalarConstant(op)) {
    known_[op.results[0]] = *value->as<int32_t>();
  } else if (op.name == "case" && op.regions.size() == 1 && !op.regions[0].ops.empty()) {
    const std::vector<ValueId>& returned = op.regions[0].ops.back().operands;
    for (size_t i = 0; i < op.results.size() && i < returned.size(); ++i)
      if (const auto found = known_.find(returned[i]); found != known_.end()) known_[op.results[i]] = found->second;
  }
}

/// ({…}, {…}) of a `case` that the platform decides: one of them, the last if there are too few.
bool Parser::regionOfPlatform(RawOp& raw) {
  const int64_t wanted = known_.at(raw.operands[0]);
  Cursor ahead = cursor_;
  int64_t last = -1;
  for (bool more = ahead.take("("); more; more = ahead.take(",")) {
    if (!ahead.expect("{") || !ahead.balanced('}') || !ahead.expect("}")) return cursor_.error(ahead.takeError());
    ++last;
  }
  if (isPlatform_.contains(raw.operands[0])) platforms_ = std::max(platforms_, std::min(last + 1, kMaxPlatforms));
  const int64_t chosen = wanted < 0 || wanted > last ? last : wanted;
  cursor_.take("(");
  for (int64_t i = 0; i <= last; ++i) {
    if (i > 0 && !cursor_.expect(",")) return false;
    if (i == chosen) {
      if (!region(raw.regions.emplace_back())) return false;
    } else if (!cursor_.expect("{") || !cursor_.balanced('}') || !cursor_.expect("}")) {
      return false;
    }
  }
  return cursor_.expect(")");
}

/// The platform's number becomes a constant of main, if it is used at all.
void Parser::fixPlatform(Function& main) {
  if (main.arguments.empty() || !isPlatform(main.argumentAttributes[0], main.values[main.arguments[0]])) return;
  const ValueId value = main.arguments[0];
  main.arguments.erase(main.arguments.begin());
  main.argumentAttributes.erase(main.argumentAttributes.begin());
  if (!valuesUsedBy(main.ops).contains(value)) return;
  Array number = Array::allocate(main.values[value]).value();
  *number.as<int32_t>() = static_cast<int32_t>(platform_);
  Op constant{.name = "constant", .place = main.ops.empty() ? SourcePlace{} : main.ops.front().place};
  constant.results = {value};
  constant.attributes.emplace_back("value", std::move(number));
  main.ops.insert(main.ops.begin(), std::move(constant));
}

namespace {

/// Calls of kernels, and of what else only TPUs have.
int64_t callsOfTpus(const std::vector<Op>& ops) {
  int64_t count = 0;
  for (const Op& op : ops) {
    const PlainOp* row = findPlainOp(op.name);
    count += op.name == "kernel_call" || (row && row->isCustomCall());
    for (const Block& block : op.regions) count += callsOfTpus(block.ops);
  }
  return count;
}
int64_t callsOfTpus(const Program& program) {
  int64_t count = 0;
  for (const Function& f : program.functions) count += callsOfTpus(f.ops);
  return count;
}

}  // namespace

/// The module does not name its platforms. The program is that of the platform with the most calls that only TPUs have;
/// of several the last: in JAX's own order (cpu, cuda, rocm, tpu) a TPU. If none can be read, the error is that of the
/// one of which most could.
Result<Program> importForAnyPlatform(std::string_view text, const std::string& fileName) {
  std::optional<Program> best;
  std::optional<Diagnostic> error;
  int64_t most = 0, farthest = -1, platforms = 1;
  for (int64_t platform = 0; platform < platforms; ++platform) {
    Parser parser(text, fileName, platform);
    auto program = parser.run();
    platforms = std::max(platforms, parser.platforms());
    if (platforms == 1) return program;
    if (program) {
      const int64_t calls = callsOfTpus(*program);
      if (best && calls < most) continue;
      most = calls;
      best = std::move(*program);
    } else if (parser.numOps() > farthest) {
      farthest = parser.numOps();
      error = std::move(program.error());
    }
  }
  if (!best) return fail(std::move(*error));
  return std::move(*best);
}

}  // namespace smalti::interop::stablehlo
