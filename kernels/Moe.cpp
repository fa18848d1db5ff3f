#include "smalti/kernels/moe.h"

#include "CallCache.h"
#include "Ring.h"

namespace smalti::kernels {
namespace {

void requireRows(std::string_view kernel, bool fits, std::string need, const ArrayType& x) {
  if (fits) return;
  raise({.code = "SM6701",
         .message = std::string(kernel) + " takes rows that are arrays of their own",
         .place = {},
         .need = std::move(need),
         .have = x.str(),
         .help = "reshape rows of d elements to [d / 128, 128]"});
}

/// What both kernels are made of: `rows` rows of x leave, and as many as `received` says come in, in any order. All
/// have one size, so that one semaphore counts them.
void exchangeRows(const Ref& any, const Ref& sent, const Ref& came, const Operand& leaving, const Operand& coming,
                  const Ring& ring) {
  const auto row = make_async_remote_copy(any, any, sent, came, ring.device(ring.me));
  loop(0, leaving, [&](const Array&) { row.wait_send(); });
  loop(0, coming, [&](const Array&) { row.wait_recv(); });
}

Array total(const Ref& counts, int64_t n) {
  Array sum = counts[0];
  for (int64_t i = 1; i < n; ++i) sum = sum + counts[i];
  return sum;
}

Call between(std::vector<ShapeDtype> outs, const char* name, int64_t collectiveId) {
  const BlockSpec hbm(any_space);
  return {.out_shape = outs,
          .in_specs = {hbm, hbm},
          .out_specs = std::vector<BlockSpec>(outs.size(), hbm),
          .scratch_shapes = {semaphore_type::dma(), semaphore_type::dma()},
          .num_scalar_prefetch = 3,
          .input_output_aliases = {{4, 0}},  // zeros, over which rows are written
          .name = name,
          .compiler_params = {.collective_id = collectiveId}};
}

}  // namespace

Routing moe_route(const Array& device, const std::string& axis) {
  const int64_t rows = device.dim(0), n = devicesAlong(axis);
  const Array from = reshape(device, {rows, 1}), to = reshape(device, {1, rows});
  const Shape square{rows, rows};
  const Array earlier = broadcasted_iota(i32, square, 1) < broadcasted_iota(i32, square, 0);
  const Array place = sum(astype(from == to, i32) * astype(earlier, i32), {.axes = {1}});
  const Array sent = sum(astype(from == broadcasted_iota(i32, {rows, n}, 1), i32), {.axes = {0}});
  return {device, place, all_to_all(sent, axis, 0, 0, {.tiled = true})};
}

PallasCall moe_dispatch_call(const ArrayType& x, const std::string& axis, const CollectiveOptions& o) {
  requireRows("moe_dispatch", x.shape.size() == 3, "[rows, r, c]", x);
  const int64_t rows = x.shape[0], n = devicesAlong(axis);
  auto kernel = [=](Ref device, Ref place, Ref received, Ref x, Ref, Ref o, Ref sent, Ref came) {
    const Ring ring(axis);
    ring.barrierWithAll();
    loop(0, rows, [&](const Array& i) {
      async_remote_copy(x.at(i), o.at(ring.me, place[i].value()), sent, came, ring.device(device[i]));
    });
    exchangeRows(x.at(0), sent, came, rows, total(received, n), ring);
  };
  return pallas_call(kernel, between({{{n, rows, x.shape[1], x.shape[2]}, x.dtype}}, "moe_dispatch", o.collective_id));
}

PallasCall moe_combine_call(const ArrayType& y, const std::string& axis, const CollectiveOptions& o) {
  const int64_t n = devicesAlong(axis);
  requireRows("moe_combine", y.shape.size() == 4 && y.shape[0] == n, "[" + std::to_string(n) + ", rows, r, c]", y);
  const int64_t rows = y.shape[1];
  auto kernel = [=](Ref device, Ref place, Ref received, Ref y, Ref, Ref back, Ref o, Ref sent, Ref came) {
    const Ring ring(axis);
    ring.barrierWithAll();
    loop(0, n, [&](const Array& from) {
      loop(0, received[from], [&](const Array& i) {
        async_remote_copy(y.at(from, i), back.at(ring.me, i), sent, came, ring.device(from));
      });
    });
    exchangeRows(y.at(0, 0), sent, came, total(received, n), rows, ring);
    loop(0, rows, [&](const Array& i) { async_copy(back.at(device[i].value(), place[i].value()), o.at(i), came); });
    loop(0, rows, [&](const Array&) { make_async_copy(back.at(0, 0), o.at(0), came).wait(); });
  };
  const ShapeDtype all{y.shape, y.dtype}, out{{rows, y.shape[2], y.shape[3]}, y.dtype};
  return pallas_call(kernel, between({all, out}, "moe_combine", o.collective_id));
}

Array moe_dispatch(const Array& x, const Routing& routing, const std::string& axis, const CollectiveOptions& o) {
  static constinit CallCache cache;
  const int64_t n = devicesAlong(axis);
  const PallasCall call = cache.get((Key() << x.type() << axis << n << o.collective_id).str(),
                                    [&] { return moe_dispatch_call(x.type(), axis, o); });
  return call(routing.device, routing.place, routing.received, x, zeros({n, x.dim(0), x.dim(1), x.dim(2)}, x.dtype()));
}

Array moe_combine(const Array& y, const Routing& routing, const std::string& axis, const CollectiveOptions& o) {
  static constinit CallCache cache;
  const PallasCall call = cache.get((Key() << y.type() << axis << devicesAlong(axis) << o.collective_id).str(),
                                    [&] { return moe_combine_call(y.type(), axis, o); });
  return call(routing.device, routing.place, routing.received, y, zeros(y.shape(), y.dtype()))[1];
}

}  // namespace smalti::kernels
