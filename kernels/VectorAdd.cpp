#include "smalti/kernels/vector_add.h"

#include "CallCache.h"
#include "Reshaped.h"
#include "smalti/smalti.h"

namespace smalti::kernels {

PallasCall vector_add_call(const ArrayType& x, int64_t block) {
  const int64_t n = x.elements();
  if (block == 0) block = std::clamp<int64_t>(n, 1, 64 * 1024);
  const BlockSpec part{{block}, [](auto i) { return std::tuple{i}; }};
  return pallas_call([](Ref x, Ref y, Ref o) { o[_] = x[_] + y[_]; },
                     {.out_shape = ShapeDtype{{n}, x.dtype},
                      .grid = {cdiv(n, block)},
                      .in_specs = {part, part},
                      .out_specs = {part},
                      .name = "vector_add",
                      .compiler_params = {.dimension_semantics = {parallel}}});
}

Array vector_add(const Array& x, const Array& y, int64_t block) {
  static constinit CallCache cache;
  if (x.type() != y.type())
    raise({.code = "SM6701",
           .message = "vector_add takes arrays of one shape and dtype",
           .place = {},
           .need = x.type().str(),
           .have = y.type().str(),
           .help = "broadcast or convert one of them first"});
  const ArrayType flat{x.dtype(), {x.elements()}};
  const PallasCall call = cache.get((Key() << flat << block).str(), [&] { return vector_add_call(flat, block); });
  const Array sum = call(reshaped(x, flat.shape), reshaped(y, flat.shape));
  return reshaped(sum, x.shape());
}

}  // namespace smalti::kernels
