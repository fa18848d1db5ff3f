// The safetensors format: 8 bytes with the header's length (little-endian), a JSON header that gives each tensor's
// dtype, shape and place, then the tensors' bytes. Files are untrusted: every number is checked before it is used,
// and the tensors must fill the file without overlap or holes, as the format asks.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "smalti/array.h"
#include "smalti/diagnostic.h"

namespace smalti::minilm {

inline constexpr int64_t kMaxSafetensorsBytes = int64_t{4} << 30;
/// The limit that the format's own reader has.
inline constexpr int64_t kMaxHeaderBytes = 100'000'000;

class Safetensors {
 public:
  struct Tensor {
    ArrayType type;
    int64_t begin = 0, end = 0;  ///< bytes behind the header
  };

  /// SM1001, SM1015, SM6001 to SM6004.
  static Result<Safetensors> read(const std::string& path);
  /// The same from memory; `name` stands in messages.
  static Result<Safetensors> parse(std::string bytes, const std::string& name);

  const std::string& name() const { return name_; }
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  bool contains(const std::string& tensor) const { return tensors_.count(tensor) > 0; }
  /// A view of the file's bytes (a copy where they are not aligned); `tensor` must be contained.
  Result<Array> array(const std::string& tensor) const;

 private:
  std::string name_;
  std::shared_ptr<std::string> bytes_;
  size_t dataAt_ = 0;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace smalti::minilm
