#include "gpu/emit/PrintBuffer.h"

#include <cstring>

#include "llvm/Support/MathExtras.h"

namespace smalti::gpu {

std::vector<int64_t> PrintOps::offsets(int number) const {
  std::vector<int64_t> at;
  int64_t end = sizeof(int64_t);
  for (const ArrayType& t : ops_.all()[static_cast<size_t>(number)].arguments) {
    at.push_back(end);
    end += static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(t.bytes()), sizeof(int64_t)));
  }
  at.push_back(end);
  return at;
}

std::vector<std::string> PrintOps::read(std::span<std::byte> buffer) const {
  int64_t used = 0;
  std::memcpy(&used, buffer.data() + sizeof(int64_t), sizeof(used));
  cpu::FallbackContext context(ops_);
  for (int64_t at = kHeaderBytes; at < kHeaderBytes + used;) {
    std::byte* record = buffer.data() + at;
    int64_t number = 0;
    std::memcpy(&number, record, sizeof(number));
    const std::vector<int64_t> places = offsets(static_cast<int>(number));
    std::vector<void*> operands;
    for (size_t i = 0; i + 1 < places.size(); ++i) operands.push_back(record + places[i]);
    context.run(static_cast<int>(number), operands.data());
    at += places.back();
  }
  return context.log();
}

}  // namespace smalti::gpu
