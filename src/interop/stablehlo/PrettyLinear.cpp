// Pretty forms of convolution, cholesky and fft.
#include <fmt/format.h>

#include "interop/stablehlo/Parser.h"

namespace smalti::interop::stablehlo {
namespace {

/// One array of dimension numbers, `[b, 0, 1, f]`: what each of its dimensions is.
bool convSide(Cursor& cursor, std::string_view first, std::string_view second, const std::string& prefix,
              std::string_view firstName, std::string_view secondName, Entries& out) {
  int64_t firstAt = -1, secondAt = -1;
  std::vector<int64_t> spatial;
  if (!cursor.expect("[")) return false;
  for (int64_t d = 0; !cursor.peekSign("]"); ++d) {
    if (d > 0 && !cursor.expect(",")) return false;
    if (cursor.takeWord(first)) {
      firstAt = d;
    } else if (cursor.takeWord(second)) {
      secondAt = d;
    } else {
      const auto number = cursor.integer();
      if (!number) return false;
      if (*number < 0 || *number > 64) return cursor.expected("the number of a spatial dimension");
      if (spatial.size() <= static_cast<size_t>(*number)) spatial.resize(static_cast<size_t>(*number) + 1, -1);
      spatial[static_cast<size_t>(*number)] = d;
    }
  }
  out.emplace_back(fmt::format("{}_{}_dimension", prefix, firstName), integerAttr(firstAt));
  out.emplace_back(fmt::format("{}_{}_dimension", prefix, secondName), integerAttr(secondAt));
  out.emplace_back(prefix + "_spatial_dimensions", integersAttr(spatial));
  return cursor.expect("]");
}

Attr listAttr(std::vector<Attr> items) {
  Attr a;
  a.kind = Attr::Kind::list;
  a.items = std::move(items);
  return a;
}

}  // namespace

/// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`
bool convDimensionNumbers(Cursor& cursor, Entries& out) {
  return convSide(cursor, "b", "f", "input", "batch", "feature", out) && cursor.expectWord("x") &&
         convSide(cursor, "i", "o", "kernel", "input_feature", "output_feature", out) && cursor.expect("->") &&
         convSide(cursor, "b", "f", "output", "batch", "feature", out);
}

/// `{stride = [1, 2], pad = [[0, 0], [1, 1]], lhs_dilate = […], rhs_dilate = […], reverse = [false, true]}`
bool Parser::convWindow(RawOp& raw) {
  if (!cursor_.expect("{")) return false;
  for (bool first = true; !cursor_.peekSign("}"); first = false) {
    if (!first && !cursor_.expect(",")) return false;
    const std::string_view key = cursor_.word();
    if (!cursor_.expect("=")) return false;
    std::vector<int64_t> values;
    if (key == "pad") {
      std::vector<Attr> pairs;
      if (!cursor_.expect("[")) return false;
      for (bool begin = true; !cursor_.peekSign("]"); begin = false) {
        std::vector<int64_t> pair;
        if ((!begin && !cursor_.expect(",")) || !syntax().integers(pair)) return false;
        if (pair.size() != 2) return cursor_.expected("two numbers for each spatial dimension");
        pairs.push_back(integersAttr(pair));
      }
      if (!cursor_.expect("]")) return false;
      raw.set("padding", listAttr(std::move(pairs)));
    } else if (key == "reverse") {
      Attr list;
      if (!syntax().attribute(list)) return false;
      raw.set("window_reversal", std::move(list));
    } else if (key == "stride" || key == "lhs_dilate" || key == "rhs_dilate") {
      if (!syntax().integers(values)) return false;
      raw.set(key == "stride"       ? "window_strides"
              : key == "lhs_dilate" ? "lhs_dilation"
                                    : "rhs_dilation",
              integersAttr(values));
    } else {
      return cursor_.expected("`stride`, `pad`, `lhs_dilate`, `rhs_dilate` or `reverse`");
    }
  }
  return cursor_.expect("}");
}

/// `(%a, %b) dim_numbers = …, window = {…} {…} : (…) -> …`
bool Parser::prettyConvolution(RawOp& raw) {
  return cursor_.expect("(") && operandList(raw) && cursor_.expect(")") && cursor_.expectWord("dim_numbers") &&
         cursor_.expect("=") && convDimensionNumbers(cursor_, raw.attributes) && keyed("window") && convWindow(raw) &&
         types(raw, Types::same);
}

/// `%a, lower = true : …`
bool Parser::prettyCholesky(RawOp& raw) {
  if (!operandList(raw)) return false;
  if (cursor_.take(",")) {
    Attr lower;
    if (!cursor_.expectWord("lower") || !cursor_.expect("=") || !syntax().attribute(lower)) return false;
    raw.set("lower", std::move(lower));
  }
  return types(raw, Types::same);
}

/// `%a, type = RFFT, length = [3, 4] : …`
bool Parser::prettyFft(RawOp& raw) {
  if (!operandList(raw) || !keyed("type")) return false;
  raw.set("fft_type", textAttr(std::string(cursor_.word())));
  std::vector<int64_t> lengths;
  if (!keyed("length") || !syntax().integers(lengths)) return false;
  raw.set("fft_length", integersAttr(lengths));
  return types(raw, Types::same);
}

}  // namespace smalti::interop::stablehlo
