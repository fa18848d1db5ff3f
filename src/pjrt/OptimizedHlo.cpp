#include "pjrt/OptimizedHlo.h"

#include <charconv>
#include <map>

#include "pjrt/Wire.h"

namespace smalti::pjrt {
namespace {

using wire::Field;
using wire::Reader;

// Fields of the messages of xla/service/hlo.proto and xla/xla_data.proto.
constexpr int kModule = 1, kComputations = 3, kInstructions = 2;
constexpr int kName = 1, kShape = 3, kTarget = 28, kId = 35, kOperandIds = 36, kBackendConfig = 43;
constexpr int kTupleShapes = 4, kLayout = 5, kMemorySpace = 8;

constexpr uint64_t kVmemSpace = 1;
constexpr std::string_view kKernelTarget = "tpu_custom_call";

struct Instruction {
  std::string_view name, shape, target, config;
  uint64_t id = 0;
  std::vector<uint64_t> operands;
};

Instruction instructionOf(std::string_view message) {
  Instruction result;
  Reader reader(message);
  while (const auto f = reader.next()) {
    if (f->number == kName) result.name = f->bytes;
    if (f->number == kShape) result.shape = f->bytes;
    if (f->number == kTarget) result.target = f->bytes;
    if (f->number == kBackendConfig) result.config = f->bytes;
    if (f->number == kId) result.id = f->value;
    if (f->number == kOperandIds) {
      if (f->bytes.empty()) result.operands.push_back(f->value);
      Reader packed(f->bytes);
      while (const auto id = packed.varint()) result.operands.push_back(*id);
    }
  }
  return result;
}

constexpr int kMaxNesting = 8;  // of tuples

/// Arrays of a shape that are in VMEM.
int arraysInVmem(std::string_view shape, int depth = 0) {
  int count = 0;
  Reader reader(shape);
  while (const auto f = reader.next()) {
    if (f->number == kTupleShapes && depth < kMaxNesting) count += arraysInVmem(f->bytes, depth + 1);
    if (f->number != kLayout) continue;
    Reader layout(f->bytes);
    while (const auto g = layout.next()) count += g->number == kMemorySpace && g->value == kVmemSpace;
  }
  return count;
}

/// The number in "size":"16384" of the entry for VMEM of the list "used_scoped_memory_configs".
int64_t scopedVmemBytes(std::string_view config) {
  const size_t list = config.find("\"used_scoped_memory_configs\":[");
  if (list == std::string_view::npos) return 0;
  std::string_view rest = config.substr(list, config.find(']', list) - list);
  const size_t entry = rest.find("\"memory_space\":\"1\"");
  if (entry == std::string_view::npos) return 0;
  constexpr std::string_view kSize = "\"size\":\"";
  const size_t size = rest.find(kSize, entry);
  if (size == std::string_view::npos) return 0;
  rest.remove_prefix(size + kSize.size());
  int64_t bytes = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), bytes);
  return bytes;
}

void addKernels(std::string_view computation, std::vector<KernelUse>& kernels) {
  std::vector<Instruction> instructions;
  Reader reader(computation);
  while (const auto f = reader.next())
    if (f->number == kInstructions) instructions.push_back(instructionOf(f->bytes));
  std::map<uint64_t, std::string_view> shapes;
  for (const Instruction& i : instructions) shapes[i.id] = i.shape;
  for (const Instruction& i : instructions) {
    if (i.target != kKernelTarget) continue;
    int inVmem = arraysInVmem(i.shape);
    for (const uint64_t id : i.operands) inVmem += arraysInVmem(shapes[id]);
    kernels.push_back({std::string(i.name), scopedVmemBytes(i.config), inVmem});
  }
}

}  // namespace

std::vector<KernelUse> kernelsOf(std::string_view hloWithConfig) {
  std::vector<KernelUse> kernels;
  Reader outer(hloWithConfig);
  while (const auto module = outer.next()) {
    if (module->number != kModule) continue;
    Reader reader(module->bytes);
    while (const auto f = reader.next())
      if (f->number == kComputations) addKernels(f->bytes, kernels);
  }
  return kernels;
}

}  // namespace smalti::pjrt
