#include "smalti/kernels/tiled_dot.h"

#include "CallCache.h"
#include "smalti/smalti.h"

namespace smalti::kernels {

PallasCall tiled_dot_call(const ArrayType& x, const TiledDotOptions& o) {
  const int64_t n = x.elements(), block = o.block ? o.block : std::clamp<int64_t>(n, 1, 16 * 1024);
  const BlockSpec part{{block}, [](auto i) { return std::tuple{i}; }};
  const BlockSpec one{{1}, [](auto) { return std::tuple{0}; }};
  auto kernel = [=, start = o.start](Ref x, Ref y, Ref accumulator, Ref o) {
    if (start == DotStart::copied) when(program_id(0) == 0, [&] { o[_] = accumulator[_]; });
    Array products = astype(x[_], f32) * astype(y[_], f32);
    if (n % block) products = where(program_id(0) * block + broadcasted_iota(i32, {block}, 0) < n, products, 0);
    o[_] += sum(products);
  };
  return pallas_call(kernel, {.out_shape = ShapeDtype{{1}, f32},
                              .grid = {cdiv(n, block)},
                              .in_specs = {part, part, one},
                              .out_specs = {one},
                              .input_output_aliases = {{2, 0}},
                              .name = "tiled_dot"});
}

Array tiled_dot(const Array& x, const Array& y, const Array& accumulator, const TiledDotOptions& o) {
  static constinit CallCache cache;
  const std::string key = (Key() << x.type() << y.type() << static_cast<int>(o.start) << o.block).str();
  return cache.get(key, [&] { return tiled_dot_call(x.type(), o); })(x, y, accumulator);
}

}  // namespace smalti::kernels
