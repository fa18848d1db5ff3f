// The C header of a kernel that was compiled ahead of time.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Text.h"
#include "cpu/aot/CEntry.h"
#include "cpu/aot/ProcessorCheck.h"

namespace smalti::cpu {
namespace {

/// The C type of an element, and its meaning if C has no such type.
struct CType {
  std::string_view name, meaning;
};

CType cType(DType dtype) {
  switch (dtype) {
    case DType::pred:
      return {"uint8_t", "0 or 1"};
    case DType::i2:
    case DType::i4:
      return {"int8_t", "one element per byte, sign-extended"};
    case DType::i8:
      return {"int8_t", ""};
    case DType::i16:
      return {"int16_t", ""};
    case DType::i32:
      return {"int32_t", ""};
    case DType::u2:
    case DType::u4:
      return {"uint8_t", "one element per byte, zero-extended"};
    case DType::u8:
      return {"uint8_t", ""};
    case DType::u16:
      return {"uint16_t", ""};
    case DType::u32:
      return {"uint32_t", ""};
    case DType::u64:
      return {"uint64_t", ""};
    case DType::f4e2m1fn:
      return {"uint8_t", "the bits, one element per byte, zero-extended"};
    case DType::f8e5m2:
    case DType::f8e4m3fn:
    case DType::f8e4m3b11fnuz:
    case DType::f8e8m0fnu:
      return {"uint8_t", "the bits"};
    case DType::bf16:
    case DType::f16:
      return {"uint16_t", "the bits"};
    case DType::f32:
      return {"float", ""};
    case DType::f64:
      return {"double", ""};
    case DType::i64:
    case DType::index:
    case DType::semaphore:
    case DType::dma_semaphore:
      return {"int64_t", ""};
    case DType::c64:
    case DType::c128:  // of plain programs only
      break;
  }
  return {"void", ""};
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// "in0", "out0": as `smalti run` counts operands and results.
std::vector<std::string> names(const char* stem, size_t count) {
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i) all.push_back(fmt::format("{}{}", stem, i));
  return all;
}

std::string described(const std::string& name, const ArrayType& type, const std::string& more) {
  const std::string_view meaning = cType(type.dtype).meaning;
  return fmt::format(" *   {:<6} {}{}{}{}{}\n", name, type.str(), meaning.empty() ? "" : ": ", meaning,
                     more.empty() ? "" : "; ", more);
}

}  // namespace

std::string cHeader(const CEntry& entry, const std::string& kernel, const Processor& processor) {
  const auto inputs = names("in", entry.operands.size()), outputs = names("out", entry.results.size());
  std::vector<std::string> parameters;
  std::string arrays;
  for (size_t i = 0; i < inputs.size(); ++i) {
    parameters.push_back(fmt::format("const {} *{}", cType(entry.operands[i].dtype).name, inputs[i]));
    arrays += described(inputs[i], entry.operands[i], "");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    parameters.push_back(fmt::format("{} *{}", cType(entry.results[i].dtype).name, outputs[i]));
    std::string more;
    for (const Alias& alias : entry.aliases)
      if (alias.output == static_cast<int>(i))
        more = fmt::format("starts as {}, and may be the same array", inputs[static_cast<size_t>(alias.operand)]);
    if (more.empty() && !entry.written[i]) more = "what the kernel does not write to stays as it is";
    arrays += described(outputs[i], entry.results[i], more);
  }
  const std::string list = fmt::format("{}", fmt::join(parameters, ", "));
  const std::string within = list.empty() ? "void *workspace" : "void *workspace, " + list;
  const std::string guard = upper(entry.name) + "_H";
  return fmt::format(
      R"(/* The kernel '{kernel}', compiled by smalti for {processor}.
 *
 * Arrays are dense, row-major, aligned to their elements, and overlap no result:
{arrays} *
 * Returns 0, or
 *   1: an access outside of an array was stopped
 *   2: a pointer is null or not aligned, or a result or the workspace overlaps another array
 *   3: no memory
{processors} *   5: an index map gave a block outside its array
{limit} * and then the results are not valid. May be called from several threads at once.
 */
#ifndef {guard}
#define {guard}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

int {name}({list});

/* The same in memory of the caller: {name}_workspace_bytes bytes ({bytes}), aligned to {alignment}, for one call at a
 * time. */
extern const int64_t {name}_workspace_bytes;
int {name}_in({within});

#ifdef __cplusplus
}}
#endif
#endif
)",
      fmt::arg("kernel", cComment(kernel)),
      fmt::arg("processor", fmt::format("{} ({})", processor.name, processor.triple)), fmt::arg("arrays", arrays),
      fmt::arg("guard", guard), fmt::arg("name", entry.name), fmt::arg("list", list.empty() ? "void" : list),
      fmt::arg("bytes", entry.workspaceBytes), fmt::arg("alignment", kWorkspaceAlignment), fmt::arg("within", within),
      fmt::arg("processors", objectsAskFor(processor) ? " *   4: this processor lacks instructions of that one\n" : ""),
      fmt::arg("limit",
               entry.stepLimit > 0
                   ? fmt::format(" *   6: more than about {} grid steps, or iterations of its loops\n", entry.stepLimit)
                   : ""));
}

}  // namespace smalti::cpu
