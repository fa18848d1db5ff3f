#include "interop/stablehlo/Sharding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interop/Interop.h"
#include "interop/Limits.h"

namespace smalti::interop::stablehlo {
namespace {

bool refuse(Cursor& cursor, std::string what) {
  return cursor.error({.code = "SM2013",
                       .message = fmt::format("shardings with {} are not supported", what),
                       .place = {},
                       .have = fmt::format("`{}`", cursor.source().quote(cursor.offset())),
                       .help = "split each dimension over whole mesh axes"});
}

/// Axes between braces; `?` (open to further axes) says nothing about values and is dropped.
bool axesInBraces(Cursor& cursor, std::vector<std::string>& out) {
  if (!cursor.expect("{")) return false;
  for (bool first = true; !cursor.peekSign("}"); first = false) {
    if (!first && !cursor.expect(",")) return false;
    if (cursor.take("?")) continue;
    auto axis = cursor.string();
    if (!axis) return false;
    if (cursor.peekSign(":")) return refuse(cursor, "parts of an axis");
    out.push_back(std::move(*axis));
  }
  return cursor.expect("}");
}

}  // namespace

bool readAxes(Cursor& cursor, std::vector<std::string>& out) { return axesInBraces(cursor, out); }

bool readSharding(Cursor& cursor, Sharding& out) {
  if (!cursor.expect("<")) return false;
  if (!cursor.take("@")) return refuse(cursor, "a mesh of their own");
  if (cursor.peekSign("\"")) {
    auto name = cursor.string();
    if (!name) return false;
    out.mesh = std::move(*name);
  } else {
    out.mesh = cursor.suffixId();
  }
  if (!cursor.expect(",") || !cursor.expect("[")) return false;
  while (!cursor.peekSign("]")) {
    if (!out.dims.empty() && !cursor.expect(",")) return false;
    if (out.dims.size() > limits::kMaxRank) return cursor.expected("`]`");
    if (!axesInBraces(cursor, out.dims.emplace_back())) return false;
    if (const auto priority = cursor.peekWord(); priority.starts_with("p")) cursor.word();
  }
  if (!cursor.expect("]")) return false;
  while (cursor.take(",")) {
    const std::string_view key = cursor.word();
    std::vector<std::string> axes;
    if (key == "unreduced") return refuse(cursor, "unreduced axes");
    if (key != "replicated") return cursor.expected("`replicated`");
    if (!cursor.expect("=") || !axesInBraces(cursor, axes)) return false;
  }
  return cursor.expect(">");
}

bool readShardings(Cursor& cursor, std::vector<Sharding>& out) {
  if (!cursor.expect("[")) return false;
  while (!cursor.peekSign("]")) {
    if (!out.empty() && !cursor.expect(",")) return false;
    if (!readSharding(cursor, out.emplace_back())) return false;
  }
  return cursor.expect("]");
}

bool readMesh(Cursor& cursor, DeviceMesh& out) {
  if (!cursor.expect("<") || !cursor.expect("[")) return false;
  while (!cursor.peekSign("]")) {
    if (!out.axes.empty() && !cursor.expect(",")) return false;
    auto name = cursor.string();
    if (!name || !cursor.expect("=")) return false;
    const auto size = cursor.integer();
    if (!size) return false;
    out.axes.push_back({std::move(*name), *size});
  }
  if (!cursor.expect("]")) return false;
  if (cursor.peekSign(",")) return refuse(cursor, "an order of devices of their own");
  return cursor.expect(">");
}

std::string printAxes(const std::vector<std::string>& axes) {
  std::vector<std::string> names;
  for (const std::string& axis : axes) names.push_back(quotedText(axis));
  return fmt::format("{{{}}}", fmt::join(names, ", "));
}

std::string print(const Sharding& sharding) {
  std::vector<std::string> dims;
  for (const auto& axes : sharding.dims) dims.push_back(printAxes(axes));
  return fmt::format("<{}, [{}]>", printSymbol(sharding.mesh), fmt::join(dims, ", "));
}

std::string print(const std::vector<Sharding>& shardings) {
  std::vector<std::string> each;
  for (const Sharding& s : shardings) each.push_back(print(s));
  return fmt::format("[{}]", fmt::join(each, ", "));
}

}  // namespace smalti::interop::stablehlo

namespace smalti::interop {

std::optional<Sharding> shardingIn(std::string_view attributes) {
  constexpr std::string_view kBefore = "#sdy.sharding";
  const size_t at = attributes.find(kBefore);
  if (at == std::string_view::npos) return std::nullopt;
  const stablehlo::Source source(attributes, "");
  stablehlo::Cursor cursor(source, at + kBefore.size(), attributes.size());
  Sharding sharding;
  if (!stablehlo::readSharding(cursor, sharding)) return std::nullopt;
  return sharding;
}

std::string attributesWith(const Sharding& sharding) {
  return fmt::format("{{sdy.sharding = #sdy.sharding{}}}", stablehlo::print(sharding));
}

}  // namespace smalti::interop
