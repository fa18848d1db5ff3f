#include "machine/flat/Format.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "eval/FloatFormats.h"

namespace smalti::machine::flat {
namespace {

std::string formatFloat(DType dtype, double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = dtype == DType::f64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// Equally wide cells in nested brackets, from dimension `d` of the array on.
class Printer {
 public:
  Printer(DType dtype, std::span<const int64_t> shape, const std::byte* elements)
      : dtype_(dtype), shape_(shape), elements_(elements), summarised_(num_elements(shape) > kWhole) {}

  std::string run() {
    visit(0, 0, [&](int64_t at) { width_ = std::max(width_, cell(at).size()); });
    std::string text;
    print(0, 0, text);
    return text;
  }

 private:
  static constexpr int64_t kWhole = 1000;  // NumPy's threshold
  static constexpr int64_t kEdge = 3;

  std::string cell(int64_t at) const { return formatElement(dtype_, elements_ + at * storage_bytes(dtype_)); }
  bool skips(int64_t i, int64_t n) const { return summarised_ && n > 2 * kEdge && i >= kEdge && i < n - kEdge; }

  template <class Fn>
  void visit(size_t d, int64_t at, Fn&& fn) const {
    if (d == shape_.size()) return fn(at);
    for (int64_t i = 0; i < shape_[d]; ++i)
      if (!skips(i, shape_[d])) visit(d + 1, at * shape_[d] + i, fn);
  }

  void print(size_t d, int64_t at, std::string& text) const {
    if (d == shape_.size()) {
      text += fmt::format("{:>{}}", cell(at), width_);
      return;
    }
    const bool last = d + 1 == shape_.size();
    const std::string separator = last ? " " : std::string(shape_.size() - d - 1, '\n') + std::string(d + 1, ' ');
    text += '[';
    bool first = true;
    for (int64_t i = 0; i < shape_[d]; ++i) {
      if (!first) text += separator;
      first = false;
      if (skips(i, shape_[d])) {
        text += "...";
        i = shape_[d] - kEdge - 1;
        continue;
      }
      print(d + 1, at * shape_[d] + i, text);
    }
    text += ']';
  }

  DType dtype_;
  std::span<const int64_t> shape_;
  const std::byte* elements_;
  bool summarised_;
  size_t width_ = 0;
};

}  // namespace

std::string formatElement(DType dtype, const std::byte* element, bool asUnsigned) {
  const double value = eval::elementAsDouble(dtype, element);
  if (is_float(dtype)) return formatFloat(dtype, value);
  if (dtype == DType::pred) return value != 0 ? "True" : "False";
  const auto integer = static_cast<int64_t>(value);
  const int bits = bit_width(dtype);
  if (asUnsigned && bits < 64) return fmt::format("{}", static_cast<uint64_t>(integer) & ((uint64_t{1} << bits) - 1));
  return fmt::format("{}", integer);
}

std::string formatArray(DType dtype, std::span<const int64_t> shape, const std::byte* elements) {
  return Printer(dtype, shape, elements).run();
}

}  // namespace smalti::machine::flat
