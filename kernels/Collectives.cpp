#include "smalti/kernels/collectives.h"

#include "CallCache.h"
#include "Ring.h"

namespace smalti::kernels {
namespace {

using MakeCollective = PallasCall (*)(const ArrayType&, const std::string&, const CollectiveOptions&);

/// One call per name, type, axis and number of devices along it.
Array called(std::string_view name, const Array& x, const std::string& axis, const CollectiveOptions& o,
             MakeCollective make) {
  static constinit CallCache cache;
  const std::string key = (Key() << name << x.type() << axis << devicesAlong(axis) << o.collective_id).str();
  return cache.get(key, [&] { return make(x.type(), axis, o); })(x);
}

void requireRows(std::string_view kernel, const ArrayType& x, int64_t multiple) {
  if (!x.shape.empty() && x.shape[0] % multiple == 0) return;
  raise({.code = "SM6701",
         .message = std::string(kernel) + " cannot split its rows over the devices",
         .place = {},
         .need = "rows in a multiple of " + std::to_string(multiple),
         .have = x.str(),
         .help = "pad the rows"});
}

ShapeDtype like(const ArrayType& x, int64_t rows) {
  ShapeDtype out{x.shape, x.dtype};
  out.shape[0] = rows;
  return out;
}

Call inHbm(const ShapeDtype& out, std::vector<MemoryRef> scratch, const char* name, const CollectiveOptions& o) {
  return {.out_shape = out,
          .in_specs = {BlockSpec(any_space)},
          .out_specs = {BlockSpec(any_space)},
          .scratch_shapes = std::move(scratch),
          .name = name,
          .compiler_params = {.collective_id = o.collective_id}};
}

/// Parts of `rows` rows travel once around the ring, each from the device that has it: in step s a device passes on
/// what came in step s - 1. `half` 0 and 1 are the halves of the rows, of which the second goes left; -1: all go right.
void passAround(const Ring& ring, const Ref& o, int64_t rows, const Ref& send, const Ref& receive, bool bothWays) {
  for (int64_t step = 0; step + 1 < ring.devices; ++step) {
    const int64_t ways = bothWays ? 2 : 1, height = rows / ways;
    std::vector<AsyncCopyDescriptor> copies;
    for (int64_t way = 0; way < ways; ++way) {
      const Array part = ring.before(static_cast<int32_t>(way == 0 ? step : ring.devices - step));
      const Ref mine = o.at(ds(part * static_cast<int32_t>(rows) + static_cast<int32_t>(way * height), height));
      copies.push_back(make_async_remote_copy(mine, mine, send.at(way), receive.at(way, step),
                                              ring.device(way == 0 ? ring.right : ring.left)));
      copies.back().start();
    }
    for (const auto& copy : copies) copy.wait();
  }
}

}  // namespace

PallasCall right_permute_call(const ArrayType& x, const std::string& axis, const CollectiveOptions& o) {
  auto kernel = [=](Ref x, Ref o, Ref send, Ref receive) {
    const Ring ring(axis);
    ring.barrierWithNeighbours();
    async_remote_copy(x, o, send, receive, ring.device(ring.right)).wait();
  };
  return pallas_call(kernel,
                     inHbm({x.shape, x.dtype}, {semaphore_type::dma(), semaphore_type::dma()}, "right_permute", o));
}

PallasCall all_gather_rows_call(const ArrayType& x, const std::string& axis, GatherPath path,
                                const CollectiveOptions& o) {
  const int64_t rows = x.shape.empty() ? 0 : x.shape[0], n = devicesAlong(axis);
  requireRows("all_gather_rows", x, path == GatherPath::bidirectional ? 2 : 1);
  auto direct = [=](Ref x, Ref o, Ref local, Ref send, Ref receive) {
    const Ring ring(axis);
    const Ref mine = o.at(ds(ring.me * static_cast<int32_t>(rows), rows));
    const auto own = async_copy(x, mine, local);
    ring.barrierWithAll();
    std::vector<AsyncCopyDescriptor> copies;
    for (int64_t i = 1; i < ring.devices; ++i) {
      const Array to = ring.before(static_cast<int32_t>(ring.devices - i));
      copies.push_back(make_async_remote_copy(x, mine, send.at(0), receive.at(0, i - 1), ring.device(to)));
      copies.back().start();
    }
    own.wait();
    for (const auto& copy : copies) copy.wait();
  };
  auto around = [=](Ref x, Ref o, Ref local, Ref send, Ref receive) {
    const Ring ring(axis);
    async_copy(x, o.at(ds(ring.me * static_cast<int32_t>(rows), rows)), local).wait();
    ring.barrierWithNeighbours();
    passAround(ring, o, rows, send, receive, path == GatherPath::bidirectional);
  };
  const Call call =
      inHbm(like(x, n * rows),
            {semaphore_type::dma(), semaphore_type::dma({2}), semaphore_type::dma({2, std::max<int64_t>(n - 1, 1)})},
            "all_gather", o);
  return path == GatherPath::direct ? pallas_call(direct, call) : pallas_call(around, call);
}

PallasCall all_to_all_parts_call(const ArrayType& x, const std::string& axis, const CollectiveOptions& o) {
  const int64_t n = devicesAlong(axis);
  if (x.shape.empty() || x.shape[0] != n)
    raise({.code = "SM6701",
           .message = "all_to_all_parts takes a part for each device",
           .place = {},
           .need = std::to_string(n) + " parts along dimension 0",
           .have = x.str(),
           .help = "reshape the array to [devices, …]"});
  auto kernel = [=](Ref x, Ref o, Ref local, Ref send, Ref receive) {
    const Ring ring(axis);
    const auto own = async_copy(x.at(ring.me), o.at(ring.me), local);
    ring.barrierWithAll();
    std::vector<AsyncCopyDescriptor> copies;
    for (int64_t i = 1; i < ring.devices; ++i) {
      const Array to = ring.before(static_cast<int32_t>(ring.devices - i));
      copies.push_back(make_async_remote_copy(x.at(to), o.at(ring.me), send, receive.at(i - 1), ring.device(to)));
      copies.back().start();
    }
    own.wait();
    for (const auto& copy : copies) copy.wait();
  };
  return pallas_call(
      kernel, inHbm({x.shape, x.dtype},
                    {semaphore_type::dma(), semaphore_type::dma(), semaphore_type::dma({std::max<int64_t>(n - 1, 1)})},
                    "all_to_all", o));
}

PallasCall reduce_scatter_rows_call(const ArrayType& x, const std::string& axis, const CollectiveOptions& o) {
  requireRows("reduce_scatter_rows", x, devicesAlong(axis));
  const int64_t rows = x.shape[0] / devicesAlong(axis);
  auto kernel = [=](Ref x, Ref o, Ref slots, Ref send, Ref receive, Ref capacity) {
    const Ring ring(axis);
    ring.barrierWithNeighbours();
    RingReduction{slots, send, receive, capacity}.run(
        ring, [&](const Array& part) { return x[ds(part * static_cast<int32_t>(rows), rows)].value(); });
    o[_] = slots[(ring.devices - 1) % 2];
  };
  const ShapeDtype out = like(x, rows);
  return pallas_call(kernel, {.out_shape = out,
                              .scratch_shapes = RingReduction::scratch(out.type()),
                              .name = "reduce_scatter",
                              .compiler_params = {.collective_id = o.collective_id}});
}

PallasCall all_reduce_rows_call(const ArrayType& x, const std::string& axis, const CollectiveOptions& o) {
  const int64_t n = devicesAlong(axis);
  requireRows("all_reduce_rows", x, n);
  const int64_t rows = x.shape[0] / n;
  auto kernel = [=](Ref x, Ref o, Ref slots, Ref send, Ref receive, Ref capacity, Ref gather_send, Ref gather_receive) {
    const Ring ring(axis);
    ring.barrierWithNeighbours();
    RingReduction{slots, send, receive, capacity}.run(
        ring, [&](const Array& part) { return x[ds(part * static_cast<int32_t>(rows), rows)].value(); });
    o[ds(ring.me * static_cast<int32_t>(rows), rows)] = slots[(ring.devices - 1) % 2];
    passAround(ring, o, rows, gather_send, gather_receive, false);
  };
  const ShapeDtype part = like(x, rows);
  std::vector<MemoryRef> scratch = RingReduction::scratch(part.type());
  scratch.push_back(semaphore_type::dma({1}));
  scratch.push_back(semaphore_type::dma({1, std::max<int64_t>(n - 1, 1)}));
  return pallas_call(kernel, {.out_shape = ShapeDtype{x.shape, x.dtype},
                              .scratch_shapes = scratch,
                              .name = "all_reduce",
                              .compiler_params = {.collective_id = o.collective_id}});
}

Array right_permute(const Array& x, const std::string& axis, const CollectiveOptions& o) {
  return called("right_permute", x, axis, o, right_permute_call);
}

Array all_gather_rows(const Array& x, const std::string& axis, GatherPath path, const CollectiveOptions& o) {
  static constinit CallCache cache;
  const std::string key =
      (Key() << x.type() << axis << devicesAlong(axis) << static_cast<int>(path) << o.collective_id).str();
  return cache.get(key, [&] { return all_gather_rows_call(x.type(), axis, path, o); })(x);
}

Array reduce_scatter_rows(const Array& x, const std::string& axis, const CollectiveOptions& o) {
  return called("reduce_scatter", x, axis, o, reduce_scatter_rows_call);
}

Array all_reduce_rows(const Array& x, const std::string& axis, const CollectiveOptions& o) {
  return called("all_reduce", x, axis, o, all_reduce_rows_call);
}

Array all_to_all_parts(const Array& x, const std::string& axis, const CollectiveOptions& o) {
  return called("all_to_all", x, axis, o, all_to_all_parts_call);
}

}  // namespace smalti::kernels
