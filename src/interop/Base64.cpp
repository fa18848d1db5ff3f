#include "interop/Base64.h"

#include <vector>

#include "llvm/Support/Base64.h"

namespace smalti::interop {

std::optional<std::string> decodeBase64(std::string_view text) {
  std::vector<char> bytes;
  if (llvm::Error error = llvm::decodeBase64(llvm::StringRef(text.data(), text.size()), bytes)) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  return std::string(bytes.begin(), bytes.end());
}

std::string encodeBase64(std::string_view bytes) { return llvm::encodeBase64(bytes); }

}  // namespace smalti::interop
