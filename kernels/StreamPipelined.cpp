#include "StreamRows.h"
#include "smalti/kernels/stream.h"

namespace smalti::kernels {

PallasCall stream_pipelined_call(const ArrayType& x, const Epilogue& function, const StreamOptions& o) {
  const int64_t block = streamRows(x, o), columns = x.shape[1];
  const BlockSpec part{{block, columns}, [](auto i) { return std::tuple{i, 0}; }};
  auto kernel = [=](Ref x, Ref o) {
    auto body = [=](Ref x, Ref o) { o[_] = astype(function(x[_]), o.dtype()); };
    emit_pipeline(body, {.grid = {cdiv(x.dim(0), block)}, .in_specs = {part}, .out_specs = {part}})(x, o);
  };
  return pallas_call(kernel, {.out_shape = ShapeDtype{x.shape, x.dtype},
                              .in_specs = {BlockSpec(any_space)},
                              .out_specs = {BlockSpec(any_space)},
                              .name = "stream_pipelined"});
}

Array stream_pipelined(const Array& x, const Epilogue& f, const StreamOptions& o) {
  static constinit CallCache cache;
  return streamed(cache, x, f, o, stream_pipelined_call);
}

}  // namespace smalti::kernels
