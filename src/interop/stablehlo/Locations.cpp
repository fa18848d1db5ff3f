#include "interop/stablehlo/Locations.h"

#include "ir/Place.h"

namespace smalti::interop::stablehlo {
namespace {
constexpr int kMaxDepth = 500;  // one call frame takes two levels
}

bool LocationReader::trailing(Cursor& cursor, SourcePlace& place) {
  if (cursor.peekWord() != "loc") return true;
  cursor.word();
  SourcePlace found;
  if (!cursor.expect("(") || !body(cursor, found, 0) || !cursor.expect(")")) return false;
  if (found.known()) place = std::move(found);
  return true;
}

/// "file":line:column, with an optional range behind it.
bool LocationReader::file(Cursor& cursor, std::string name, SourcePlace& place) {
  const auto line = cursor.integer();
  if (!line || !cursor.expect(":")) return false;
  const auto column = cursor.integer();
  if (!column) return false;
  if (*line > 0 && *line <= INT32_MAX && *column >= 0 && *column < INT32_MAX)
    place = placeIn(name, static_cast<int>(*line), static_cast<int>(*column));
  if (cursor.takeWord("to")) {
    if (!cursor.take(":") && (!cursor.integer() || !cursor.expect(":"))) return false;
    return cursor.integer().has_value();
  }
  return true;
}

bool LocationReader::alias(Cursor& cursor, SourcePlace& place, int depth) {
  const std::string name(cursor.suffixId());
  if (const auto known = resolved_.find(name); known != resolved_.end()) {
    place = known->second;
    return true;
  }
  const auto definition = aliases_.find(name);
  if (definition == aliases_.end()) return cursor.expected("a defined location alias");
  resolved_[name];  // ends cycles
  if (depth > kMaxDepth) return true;
  Cursor inner(source_, definition->second.first, definition->second.second);
  SourcePlace found;
  if (!inner.expectWord("loc") || !inner.expect("(") || !body(inner, found, depth + 1))
    return cursor.error(inner.takeError());
  place = resolved_[name] = found;
  return true;
}

bool LocationReader::body(Cursor& cursor, SourcePlace& place, int depth) {
  if (depth > kMaxDepth + 1)
    return cursor.error({.code = "SM2009",
                         .message = "a location is nested too deeply",
                         .place = {},
                         .help = "print the module without debug info"});
  if (cursor.takeWord("unknown")) return true;
  if (cursor.take("#")) return alias(cursor, place, depth);
  if (cursor.takeWord("callsite")) {
    SourcePlace caller;
    if (!cursor.expect("(") || !body(cursor, place, depth + 1) || !cursor.expectWord("at") ||
        !body(cursor, caller, depth + 1) || !cursor.expect(")"))
      return false;
    if (!place.known()) place = std::move(caller);
    return true;
  }
  if (cursor.takeWord("fused")) {
    if (cursor.take("<") && (!cursor.balanced('>') || !cursor.expect(">"))) return false;
    if (!cursor.expect("[")) return false;
    for (bool first = true; !cursor.peekSign("]"); first = false) {
      SourcePlace part;
      if ((!first && !cursor.expect(",")) || !body(cursor, part, depth + 1)) return false;
      if (!place.known()) place = std::move(part);
    }
    return cursor.expect("]");
  }
  if (!cursor.peekSign("\"")) return cursor.expected("a location");
  auto name = cursor.string();
  if (!name) return false;
  if (cursor.take(":")) return file(cursor, std::move(*name), place);
  if (!cursor.take("(")) return true;
  return body(cursor, place, depth + 1) && cursor.expect(")");
}

}  // namespace smalti::interop::stablehlo
