#include "smalti/kernels/stream.h"

#include "StreamRows.h"

namespace smalti::kernels {

PallasCall stream_call(const ArrayType& x, const Epilogue& function, const StreamOptions& o) {
  const int64_t block = streamRows(x, o), rows = x.shape[0], columns = x.shape[1];
  const int64_t steps = rows / block, tail = rows % block;

  auto kernel = [=](Ref x, Ref o, Ref in, Ref out, Ref in_sem, Ref out_sem) {
    auto fetch = [&](const Array& slot, const Array& i) {
      return make_async_copy(x.at(ds(i * block, block)), in.at(slot), in_sem.at(slot));
    };
    auto write = [&](const Array& slot, const Array& i) {
      return make_async_copy(out.at(slot), o.at(ds(i * block, block)), out_sem.at(slot));
    };
    auto number = [](int64_t n) { return Operand(n).array(); };

    if (steps > 0) fetch(number(0), number(0)).start();
    loop(0, steps, [&](const Array& i) {
      const Array slot = rem(i, 2);
      when(i + 1 < steps, [&] { fetch(1 - slot, i + 1).start(); });
      fetch(slot, i).wait();
      when(i >= 2, [&] { write(slot, i - 2).wait(); });  // the block that is about to be overwritten
      out[slot] = astype(function(in[slot]), out.dtype());
      write(slot, i).start();
    });
    for (int64_t i = std::max<int64_t>(steps - 2, 0); i < steps; ++i) write(number(i % 2), number(i)).wait();

    if (tail > 0) {
      sync_copy(x.at(ds(steps * block, tail)), in.at(0, ds(0, tail)));
      out[{0, ds(0, tail)}] = astype(function(in[{0, ds(0, tail)}]), out.dtype());
      sync_copy(out.at(0, ds(0, tail)), o.at(ds(steps * block, tail)));
    }
  };
  const MemoryRef buffers = vmem({2, block, columns}, x.dtype), semaphores = semaphore_type::dma({2});
  return pallas_call(kernel, {.out_shape = ShapeDtype{x.shape, x.dtype},
                              .in_specs = {BlockSpec(any_space)},
                              .out_specs = {BlockSpec(any_space)},
                              .scratch_shapes = {buffers, buffers, semaphores, semaphores},
                              .name = "stream"});
}

Array stream(const Array& x, const Epilogue& f, const StreamOptions& o) {
  static constinit CallCache cache;
  return streamed(cache, x, f, o, stream_call);
}

}  // namespace smalti::kernels
