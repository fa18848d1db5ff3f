#include "base/Executable.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include <fmt/format.h>

#include "base/CheckArrays.h"
#include "base/Guarded.h"

namespace smalti {
namespace {

std::optional<ArrayFault> memoryFault(const Array& a) {
  if (!a.data() && a.bytes() > 0)
    return ArrayFault{"has no memory", fmt::format("{} bytes", a.bytes()),
                      a.is_traced() ? "a traced array" : "a null pointer"};
  const auto address = reinterpret_cast<uintptr_t>(a.data());
  const auto alignment = static_cast<uintptr_t>(storage_bytes(a.dtype()));
  if (address % alignment == 0) return std::nullopt;
  return ArrayFault{"is not aligned to its elements",
                    fmt::format("an address that is a multiple of {} bytes", alignment),
                    fmt::format("{} bytes past one", address % alignment)};
}

Status checkTypes(std::span<const Array> given, const std::vector<ArrayType>& types, const char* code,
                  std::string_view what) {
  return checkArrays(given, types, code, what, memoryFault);
}

/// `aBytes`: those of `a`, which is compared with many arrays.
bool overlap(const Array& a, int64_t aBytes, const Array& b) {
  const std::less<const std::byte*> before;
  return aBytes > 0 && before(b.data(), a.data() + aBytes) && before(a.data(), b.data() + b.bytes()) && b.bytes() > 0;
}

Status checkOverlap(std::span<const Array> inputs, std::span<const Array> outputs,
                    std::span<const std::pair<size_t, size_t>> aliases) {
  const auto refuse = [&](size_t output, std::string_view what, size_t other) {
    return fail({.code = "SM1017",
                 .message = fmt::format("output {} overlaps {} {}", output, what, other),
                 .place = {},
                 .need = fmt::format("{} bytes that nothing else uses", outputs[output].bytes()),
                 .help = "give it memory of its own, or take the results of execute()"});
  };
  for (size_t o = 0; o < outputs.size(); ++o) {
    const int64_t bytes = outputs[o].bytes();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool inPlace =
          inputs[i].data() == outputs[o].data() && std::ranges::find(aliases, std::pair(i, o)) != aliases.end();
      if (!inPlace && overlap(outputs[o], bytes, inputs[i])) return refuse(o, "input", i);
    }
    for (size_t i = 0; i < o; ++i)
      if (overlap(outputs[o], bytes, outputs[i])) return refuse(o, "output", i);
  }
  return {};
}

}  // namespace

std::string Finding::str() const { return diagnostic.str(name(severity)); }

const std::vector<ArrayType>& Executable::arguments() const { return state_->arguments; }
const std::vector<ArrayType>& Executable::results() const { return state_->results; }
const ExecuteOptions& Executable::options() const { return state_->options; }

Result<RunReport> Executable::execute(std::span<const Array> inputs, const ExecuteOptions& options) const {
  return guarded([&]() -> Result<RunReport> {
    if (Status ok = checkTypes(inputs, state_->arguments, "SM1008", "input"); !ok) return fail(std::move(ok.error()));
    return state_->execute({inputs.begin(), inputs.end()}, {}, options);
  });
}

Result<RunReport> Executable::execute_into(std::span<const Array> inputs, std::span<Array> outputs,
                                           const ExecuteOptions& options) const {
  return guarded([&]() -> Result<RunReport> {
    if (Status ok = checkTypes(inputs, state_->arguments, "SM1008", "input"); !ok) return fail(std::move(ok.error()));
    if (Status ok = checkTypes(outputs, state_->results, "SM1017", "output"); !ok) return fail(std::move(ok.error()));
    if (Status ok = checkOverlap(inputs, outputs, state_->aliases); !ok) return fail(std::move(ok.error()));
    auto report = state_->execute({inputs.begin(), inputs.end()}, outputs, options);
    if (!report) return report;
    for (size_t i = 0; i < outputs.size(); ++i) {
      Array& result = report->results[i];
      if (std::as_const(result).data() != outputs[i].data() && result.bytes() > 0)
        std::memcpy(outputs[i].data(), result.data(), static_cast<size_t>(result.bytes()));
      result = outputs[i];
    }
    return report;
  });
}

}  // namespace smalti
