// Member templates of AttrTypeReader that both its attribute and its type half use.
#pragma once

#include <fmt/format.h>

#include "interop/bytecode/AttrTypeReader.h"

namespace smalti::interop::bytecode {

template <class T>
T AttrTypeReader::attributePart(Frame& f, const char* what) {
  const uint32_t i = f.cursor.index(what, model_.attributes.size());
  if (!f.cursor.ok()) return {};
  mlir::Attribute a = resolve(model_.attributes, attributes_, i, f.nodes);
  if (!a) return {};
  if (T wanted = mlir::dyn_cast<T>(a)) return wanted;
  f.cursor.fail("SM2105", fmt::format("{} is an attribute of another kind", what));
  return {};
}

template <class T>
std::vector<T> AttrTypeReader::attributeParts(Frame& f, const char* what) {
  std::vector<T> parts(f.cursor.count(what));
  for (T& part : parts) part = attributePart<T>(f, what);
  return f.cursor.ok() ? parts : std::vector<T>{};
}

}  // namespace smalti::interop::bytecode
