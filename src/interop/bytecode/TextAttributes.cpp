#include "interop/bytecode/TextAttributes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include "interop/bytecode/BytecodeLimits.h"

namespace smalti::interop::bytecode {
namespace {

constexpr std::array<std::string_view, 3> kTextDialects = {"tpu", "vector", "arith"};

bool isOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

bool isPlainText(std::string_view text) {
  if (text.find("array") != std::string_view::npos) return false;  // MLIR 22's parser crashes at array<index: …>
  int depth = 0;
  for (char c : text) {
    if (!llvm::isAlnum(c) && !isOneOf(c, " #!._,:<>()[]-?*=")) return false;
    if (isOneOf(c, "<([") && ++depth > kMaxTextDepth) return false;
    if (isOneOf(c, ">)]")) --depth;
  }
  return true;
}

/// "affine_map<(d0, d1) -> (d0, 0)>", as older MLIR stores the layout of a memref or a constant index map: results are
/// dimensions or constants.
class LayoutMapParser {
 public:
  LayoutMapParser(std::string_view text, mlir::MLIRContext& context) : context_(context), compact_(text) {
    std::erase(compact_, ' ');
    rest_ = compact_;
  }

  std::optional<mlir::AffineMap> parse() {
    std::vector<mlir::AffineExpr> inputs, results;
    if (!eat("affine_map<") || !list(inputs) || !eat("->") || !list(results) || rest_ != ">") return std::nullopt;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] != mlir::getAffineDimExpr(i, &context_)) return std::nullopt;
    for (mlir::AffineExpr e : results)
      if (auto d = mlir::dyn_cast<mlir::AffineDimExpr>(e); d && d.getPosition() >= inputs.size()) return std::nullopt;
    return mlir::AffineMap::get(inputs.size(), 0, results, &context_);
  }

 private:
  bool eat(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  bool list(std::vector<mlir::AffineExpr>& out) {
    if (!eat("(")) return false;
    while (!eat(")")) {
      if (!out.empty() && !eat(",")) return false;
      const bool isDim = eat("d");
      unsigned n = 0;
      auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
      if (error != std::errc() || n > (isDim ? kMaxRank : kMaxAffineConstant) || out.size() > kMaxRank) return false;
      rest_.remove_prefix(end - rest_.data());
      out.push_back(isDim ? mlir::getAffineDimExpr(n, &context_) : mlir::getAffineConstantExpr(n, &context_));
    }
    return true;
  }

  mlir::MLIRContext& context_;
  std::string compact_;
  std::string_view rest_;
};

std::string_view readText(Cursor& c, std::string_view dialect, std::string_view sigil) {
  std::string_view text = c.cstring("an attribute's or type's text");
  if (!c.ok()) return {};
  if (text.size() > kMaxTextBytes || !isPlainText(text)) {
    c.fail("SM2105", "the kernel body has an attribute or type whose text is not plausible",
           fmt::format("at most {} plain characters, brackets at most {} deep", kMaxTextBytes, kMaxTextDepth),
           fmt::format("{} characters", text.size()));
    return {};
  }
  const bool prefixed = text.starts_with(fmt::format("{}{}.", sigil, dialect));
  if (dialect != "builtin" && (!prefixed || std::ranges::find(kTextDialects, dialect) == kTextDialects.end())) {
    c.fail("SM2104", "the kernel body has an attribute or type of a dialect that kernels do not use",
           "dialects tpu, vector and arith", std::string(text.substr(0, 80)));
    return {};
  }
  return text;
}

void refuse(Cursor& c, std::string_view text, CapturedDiagnostics& captured) {
  c.fail("SM2105",
         fmt::format("'{}' of the kernel body cannot be read: {}", text.substr(0, 120), captured.takeMessage()));
}

}  // namespace

mlir::Attribute parseAttributeText(Cursor& c, std::string_view dialect, mlir::MLIRContext& context,
                                   CapturedDiagnostics& captured) {
  std::string_view text = readText(c, dialect, "#");
  if (!c.ok()) return {};
  if (dialect == "builtin" && !text.starts_with("strided<")) {
    if (auto map = LayoutMapParser(text, context).parse()) return mlir::AffineMapAttr::get(*map);
    c.fail("SM2105", fmt::format("'{}' of the kernel body is not a map that kernels have", text.substr(0, 120)));
    return {};
  }
  mlir::Attribute a = mlir::parseAttribute(llvm::StringRef(text.data(), text.size()), &context);
  if (!a) refuse(c, text, captured);
  return a;
}

mlir::Type parseTypeText(Cursor& c, std::string_view dialect, mlir::MLIRContext& context,
                         CapturedDiagnostics& captured) {
  std::string_view text = readText(c, dialect, "!");
  if (!c.ok()) return {};
  if (dialect == "builtin" && !std::ranges::all_of(text, llvm::isAlnum)) {
    c.fail("SM2105", fmt::format("'{}' of the kernel body is not a type that kernels have", text.substr(0, 120)));
    return {};
  }
  mlir::Type t = mlir::parseType(llvm::StringRef(text.data(), text.size()), &context);
  if (!t) refuse(c, text, captured);
  return t;
}

}  // namespace smalti::interop::bytecode
