#include "smalti/kernels/collective_matmul.h"

#include "CallCache.h"
#include "Ring.h"

namespace smalti::kernels {
namespace {

void requireProduct(std::string_view kernel, const ArrayType& x, const ArrayType& w, int64_t rows) {
  if (x.shape.size() == 2 && w.shape.size() == 2 && x.shape[1] == w.shape[0] && x.shape[0] % rows == 0 &&
      x.dtype == w.dtype && is_float(x.dtype))
    return;
  raise({.code = "SM6701",
         .message = std::string(kernel) + " takes two matrices of floats that fit each other",
         .place = {},
         .need = "[m, k] and [k, p] of one dtype" +
                 (rows > 1 ? ", m a multiple of the " + std::to_string(rows) + " devices" : std::string()),
         .have = x.str() + " and " + w.str(),
         .help = "transpose, convert or pad one of them"});
}

Array product(const Operand& x, const Operand& w) {
  return dot(x, w, {.preferred_element_type = f32, .precision = Precision::highest});
}

std::string keyOf(const ArrayType& x, const ArrayType& w, const std::string& axis, const CollectiveOptions& o) {
  return (Key() << x << w << axis << devicesAlong(axis) << o.collective_id).str();
}

}  // namespace

PallasCall all_gather_matmul_call(const ArrayType& x, const ArrayType& w, const std::string& axis,
                                  const CollectiveOptions& o) {
  requireProduct("all_gather_matmul", x, w, 1);
  const int64_t rows = x.shape[0], n = devicesAlong(axis);
  auto kernel = [=](Ref x, Ref w, Ref o, Ref slots, Ref send, Ref receive, Ref capacity) {
    const Ring ring(axis);
    ring.barrierWithNeighbours();
    slots[0] = x[_];
    RingRotation{slots, send, receive, capacity}.run(ring, [&](const Ref& part, int64_t step) {
      const Array row = ring.before(static_cast<int32_t>(step)) * static_cast<int32_t>(rows);
      o[ds(row, rows)] = astype(product(part[_], w[_]), o.dtype());
    });
  };
  return pallas_call(kernel, {.out_shape = ShapeDtype{{n * rows, w.shape[1]}, x.dtype},
                              .scratch_shapes = RingRotation::scratch(x),
                              .name = "all_gather_matmul",
                              .compiler_params = {.collective_id = o.collective_id}});
}

PallasCall matmul_reduce_scatter_call(const ArrayType& x, const ArrayType& w, const std::string& axis,
                                      const CollectiveOptions& o) {
  const int64_t n = devicesAlong(axis);
  requireProduct("matmul_reduce_scatter", x, w, n);
  const int64_t rows = x.shape[0] / n;
  auto kernel = [=](Ref x, Ref w, Ref o, Ref slots, Ref send, Ref receive, Ref capacity) {
    const Ring ring(axis);
    ring.barrierWithNeighbours();
    RingReduction{slots, send, receive, capacity}.run(
        ring, [&](const Array& part) { return product(x[ds(part * static_cast<int32_t>(rows), rows)], w[_]); });
    o[_] = astype(slots[(n - 1) % 2], o.dtype());
  };
  return pallas_call(kernel, {.out_shape = ShapeDtype{{rows, w.shape[1]}, x.dtype},
                              .scratch_shapes = RingReduction::scratch({f32, {rows, w.shape[1]}}),
                              .name = "matmul_reduce_scatter",
                              .compiler_params = {.collective_id = o.collective_id}});
}

Array all_gather_matmul(const Array& x, const Array& w, const std::string& axis, const CollectiveOptions& o) {
  static constinit CallCache cache;
  return cache.get(keyOf(x.type(), w.type(), axis, o),
                   [&] { return all_gather_matmul_call(x.type(), w.type(), axis, o); })(x, w);
}

Array matmul_reduce_scatter(const Array& x, const Array& w, const std::string& axis, const CollectiveOptions& o) {
  static constinit CallCache cache;
  return cache.get(keyOf(x.type(), w.type(), axis, o),
                   [&] { return matmul_reduce_scatter_call(x.type(), w.type(), axis, o); })(x, w);
}

}  // namespace smalti::kernels
