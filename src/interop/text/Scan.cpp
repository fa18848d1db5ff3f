#include "interop/text/Scan.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "interop/text/Lexer.h"
#include "interop/text/NumberLiterals.h"
#include "interop/text/TextLimits.h"
#include "ir/KernelOps.h"

namespace smalti::interop::text {
namespace {

// Dialects whose ops our context knows: others fail in the parser anyway.
constexpr std::array<std::string_view, 9> kDialects = {"arith",  "builtin", "cf",  "func",  "math",
                                                       "memref", "scf",     "tpu", "vector"};

class Scanner {
 public:
  Scanner(std::string_view text, const std::string& fileName) : text_(text), fileName_(fileName), lexer_(text) {
    result_.text = text;
  }

  Result<ScannedText> run() {
    if (text_.size() > kMaxBytes)
      refuse(0, "the text is too long", fmt::format("{} MiB at most", kMaxBytes >> 20),
             fmt::format("{} bytes", text_.size()));
    else if (const size_t zero = text_.find('\0'); zero != std::string_view::npos)
      malformed(zero, "the text holds a NUL character");
    for (current_ = lexer_.next(); !failure_ && current_.kind != Token::end;) {
      next_ = lexer_.next();
      look();
      beforePrevious_ = previous_;
      previous_ = current_;
      current_ = next_;
    }
    if (failure_) return fail(std::move(*failure_));
    return std::move(result_);
  }

 private:
  struct Alias {
    uint64_t tokens = 0;
    int depth = 0;
  };

  void refuse(size_t offset, std::string message, std::string need, std::string have) {
    if (failure_) return;
    failure_ = Diagnostic{.code = "SM2201",
                          .message = std::move(message),
                          .place = placeIn(text_, offset, fileName_),
                          .need = std::move(need),
                          .have = std::move(have)};
  }
  void malformed(size_t offset, std::string message) {
    if (failure_) return;
    failure_ = Diagnostic{.code = "SM2202", .message = std::move(message), .place = placeIn(text_, offset, fileName_)};
  }

  // One token, between the one before and the one after it.
  void look() {
    if (++tokens_ > kMaxTokens)
      return refuse(current_.offset, "the text has too many tokens", fmt::format("{} at most", kMaxTokens), "more");
    countAlias();
    countAffine();
    countShape();
    checkArray();
    checkNumber();
    respell();
    switch (current_.kind) {
      case Token::bad:
        return malformed(current_.offset, "not a character or string of MLIR text");
      case Token::open:
        return open();
      case Token::close:
        return close();
      case Token::number:
        return number();
      case Token::string:
        return string();
      case Token::bare:
        return bare();
      case Token::value:
      case Token::symbol:
      case Token::block:
      case Token::attribute:
      case Token::type:
        return name();
      default:
        return;
    }
  }

  // MLIR 22's parser takes array<index: …> for an array of floats and asks a null type for its width.
  void checkArray() {
    const bool isElement = beforePrevious_.is("array") && previous_.is("<");
    if (isElement && (current_.kind != Token::bare || current_.is("index")))
      malformed(current_.offset, "array<…> holds integers or floats");
  }

  void checkNumber() {
    const auto misfit = numbers_.see(current_);
    if (!misfit || failure_) return;
    failure_ = Diagnostic{.code = "SM2204",
                          .message = fmt::format("{} does not hold {}", misfit->type, misfit->literal),
                          .place = placeIn(text_, misfit->offset, fileName_),
                          .need = misfit->need,
                          .have = misfit->literal,
                          .help = misfit->help};
  }

  void open() {
    if (++depth_ > kMaxNesting) tooDeep();
    if (current_.is("{") && next_.is("-")) {
      const size_t after = next_.offset + 1;
      if (after < text_.size() && text_[after] == '#')
        malformed(current_.offset, "resources outside of the text ({-# … #-})");
    }
  }
  void tooDeep() {
    refuse(current_.offset, "brackets are nested too deep", fmt::format("{} levels at most", kMaxNesting), "more");
  }
  void close() {
    depth_ = std::max(depth_ - 1, 0);
    if (extractSlice_ && depth_ < sliceDepth_) extractSlice_ = false;
  }

  void number() {
    if (current_.text.size() > kMaxDigits + 2)
      return refuse(current_.offset, "a number has too many digits", fmt::format("{} at most", kMaxDigits),
                    fmt::format("{}", current_.text.size()));
    // %0:2 and %0#2.
    const bool ofValue = beforePrevious_.kind == Token::value && previous_.is(":");
    if (ofValue) countResults(current_.text);
  }
  void countResults(std::string_view digits) {
    if (digits.size() > 6 || std::stoul("0" + std::string(digits), nullptr, 10) > kMaxResults)
      refuse(current_.offset, "an op has too many results", fmt::format("{} at most", kMaxResults),
             std::string(digits));
  }

  void name() {
    if (current_.text.size() > kMaxNameBytes)
      return refuse(current_.offset, "a name is too long", fmt::format("{} bytes at most", kMaxNameBytes),
                    fmt::format("{} bytes", current_.text.size()));
    const bool isResult = current_.kind == Token::attribute && previous_.kind == Token::value &&
                          previous_.offset + previous_.text.size() == current_.offset;
    if (isResult) {
      const std::string_view digits = current_.text.substr(1);
      if (digits.find_first_not_of("0123456789") == std::string_view::npos) countResults(digits);
    }
  }

  void string() {
    if (!next_.is("(")) return;
    const std::string_view op = current_.text.substr(1, current_.text.size() - 2);
    if (op.starts_with("stable_mosaic."))
      result_.isStable = true;
    else
      checkOp(op);
  }

  void bare() {
    const std::string_view t = current_.text;
    name();
    const std::string_view type = t.starts_with('x') ? t.substr(t.rfind('x') + 1) : t;  // i32, x128xi32
    const size_t letters = type.starts_with("si") || type.starts_with("ui") ? 2 : type.starts_with('i') ? 1 : 0;
    if (letters && type.size() > letters && type.find_first_not_of("0123456789", letters) == std::string_view::npos)
      integerType(type.substr(letters));
    // An op's name is neither a key (name = …) nor a flag ({name} or {name, …}) of a dictionary.
    if (t.find('.') != std::string_view::npos && !next_.is("=") && !next_.is(",") && !next_.is("}")) checkOp(t);
  }

  void integerType(std::string_view digits) {
    const int bits = digits.size() > 3 ? kMaxIntegerBits + 1 : std::stoi(std::string(digits));
    if (bits < 1 || bits > kMaxIntegerBits)
      refuse(current_.offset, "kernels have no such type", fmt::format("integers of 1 to {} bits", kMaxIntegerBits),
             std::string(current_.text.substr(0, 20)));
  }

  void checkOp(std::string_view op) {
    const std::string_view dialect = op.substr(0, op.find('.'));
    if (failure_ || std::ranges::find(kDialects, dialect) == kDialects.end() || isKernelOp(op)) return;
    failure_ = refuseOp(op, placeIn(text_, current_.offset, fileName_));
  }

  // vector.extract_strided_slice %0 offsets = [0], sizes = [1], strides = [1] : … gets braces around its attributes,
  // in the place of blanks.
  void respell() {
    if (current_.is("vector.extract_strided_slice")) {
      extractSlice_ = next_.kind == Token::value;
      sliceDepth_ = depth_;
    } else if (extractSlice_ && current_.is("offsets") && depth_ == sliceDepth_ && previous_.kind == Token::value) {
      put(current_.offset, '{');
      closeBrace_ = true;
    } else if (extractSlice_ && closeBrace_ && depth_ == sliceDepth_ && current_.is(":")) {
      put(current_.offset, '}');
      extractSlice_ = closeBrace_ = false;
    }
  }
  void put(size_t before, char c) {
    if (before > 0 && result_.text.size() == text_.size() && text_[before - 1] == ' ')
      result_.text[before - 1] = c;
    else
      malformed(before, "vector.extract_strided_slice is not spelled as MLIR prints it");
  }

  // #loc3 = loc(callsite(#loc1 at #loc2)): what an alias stands for can be astronomically larger than its text.
  void countAlias() {
    const bool isName = current_.kind == Token::attribute || current_.kind == Token::type;
    if (depth_ == 0 && isName && next_.is("=")) {
      alias_ = &aliases_[std::string(current_.text)];
      *alias_ = {};
      return;
    }
    // The definition ends where the next or an op begins.
    if (alias_ && depth_ == 0 && previous_.kind == Token::close &&
        (current_.kind == Token::bare || isName || current_.kind == Token::string || current_.kind == Token::value))
      alias_ = nullptr;
    Alias used{1, depth_};
    if (isName)
      if (auto known = aliases_.find(std::string(current_.text)); known != aliases_.end() && &known->second != alias_) {
        used.tokens = known->second.tokens + 1;
        used.depth = depth_ + known->second.depth;
        usedTokens_ += used.tokens;
      }
    if (alias_) {
      alias_->tokens += used.tokens;
      alias_->depth = std::max(alias_->depth, used.depth);
    }
    if (used.depth > kMaxNesting) tooDeep();
    if ((alias_ && alias_->tokens > kMaxAliasTokens) || usedTokens_ > kMaxUsedTokens)
      refuse(current_.offset, "aliases of attributes stand for too much", fmt::format("{} tokens", kMaxAliasTokens),
             "more");
  }

  void countAffine() {
    if (affineDepth_ >= 0 && depth_ < affineDepth_) affineDepth_ = -1;
    if (current_.is("affine_map") || current_.is("affine_set")) {
      affineDepth_ = depth_ + 1;
      affineTokens_ = 0;
      return;
    }
    if (affineDepth_ >= 0 && depth_ + (previous_.is("affine_map") || previous_.is("affine_set")) >= affineDepth_ &&
        ++affineTokens_ > kMaxAffineTokens)
      refuse(current_.offset, "an affine map is too long", fmt::format("{} tokens at most", kMaxAffineTokens), "more");
  }

  // 8x128xf32 comes as a number and names: "8", "x128xf32". Dimensions are counted across them.
  void countShape() {
    const bool adjacent = previous_.offset + previous_.text.size() == current_.offset;
    if (!adjacent || (current_.kind != Token::number && current_.kind != Token::bare && !current_.is("?"))) {
      rank_ = 0;
      elements_ = 1;
      if (current_.kind != Token::number && !current_.is("?")) return;
    }
    std::string_view t = current_.text;
    size_t i = 0;
    while (i < t.size()) {
      const size_t digits = std::min(t.find_first_not_of("0123456789", i), t.size()) - i;
      const bool dimension = digits > 0 && (i + digits == t.size() || t[i + digits] == 'x');
      if (dimension) dimensionOf(t.substr(i, digits));
      i += digits;
      if (i >= t.size() || t[i] != 'x') return;
      ++i;
    }
  }
  void dimensionOf(std::string_view digits) {
    const bool inShape = rank_ > 0 || next_.text.starts_with('x') || digits.size() < current_.text.size();
    if (!inShape) {
      ++rank_;
      return;
    }
    const uint64_t size = digits.size() > 13 ? kMaxElements + 1 : std::stoull(std::string(digits));
    elements_ = size > kMaxElements ? size : elements_ * std::max<uint64_t>(size, 1);
    if (++rank_ > kMaxRank)
      refuse(current_.offset, "a shape has too many dimensions", fmt::format("{} at most", kMaxRank), "more");
    else if (elements_ > kMaxElements)
      refuse(current_.offset, "a shape has too many elements", fmt::format("2^40 at most"), std::string(current_.text));
  }

  std::string_view text_;
  const std::string& fileName_;
  Lexer lexer_;
  ScannedText result_;
  std::optional<Diagnostic> failure_;
  Token beforePrevious_, previous_, current_, next_;
  NumberLiterals numbers_;
  uint64_t tokens_ = 0, usedTokens_ = 0;
  int depth_ = 0;
  std::map<std::string, Alias> aliases_;
  Alias* alias_ = nullptr;
  int affineDepth_ = -1, affineTokens_ = 0;
  int rank_ = 0;
  uint64_t elements_ = 1;
  bool extractSlice_ = false, closeBrace_ = false;
  int sliceDepth_ = 0;
};

}  // namespace

Result<ScannedText> scan(std::string_view text, const std::string& fileName) { return Scanner(text, fileName).run(); }

}  // namespace smalti::interop::text
