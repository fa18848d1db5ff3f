#include "smalti/ops/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/ops/Support.h"

namespace smalti {

using lang::AtPlace;

Array broadcast_to(const Operand& x, Shape shape) {
  AtPlace place(x.at());
  const size_t skip = shape.size() - std::min(shape.size(), x.shape().size());
  bool fits = x.shape().size() <= shape.size();
  for (size_t i = 0; fits && i < x.shape().size(); ++i) fits = x.shape()[i] == shape[skip + i] || x.shape()[i] == 1;
  if (!fits)
    lang::refuse({.code = "SM6301",
                  .message = "a value cannot be broadcast to the shape it is needed in",
                  .place = {},
                  .need = fmt::format("shape [{}], or axes of size 1", fmt::join(shape, ", ")),
                  .have = fmt::format("shape [{}]", fmt::join(x.shape(), ", ")),
                  .help = "reshape the value, or take a slice of the target"});
  return lang::broadcastTo(x.array(), shape);
}

}  // namespace smalti
