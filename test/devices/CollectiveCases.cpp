// Collectives of shard_map: test/python/device_programs.py compares each case with jax.lax's.
#include "Cases.h"

namespace smalti::devices::test {

Array numbers(Shape shape, DType dtype) {
  Array x = unwrap(Array::allocate({i32, std::move(shape)}));
  for (int64_t i = 0; i < x.elements(); ++i) x.as<int32_t>()[i] = static_cast<int32_t>((i * 37 + 11) % 101);
  return dtype == i32 ? x : astype(x, dtype);
}

void collectiveCases(Cases& cases) {
  const Mesh line({{"x", 8}}), grid({{"x", 2}, {"y", 4}});
  const Array a = numbers({8, 16}), n = numbers({8, 16}, i32), long8 = numbers({64, 3});
  const P xy("x", "y"), x("x"), whole;
  const auto onGrid = [&](std::string name, const DeviceFunction& f, const P& out = P("x", "y")) {
    cases.add(std::move(name), f, grid, xy, out, {a});
  };
  const auto onLine = [&](std::string name, const DeviceFunction& f, const Array& in, const P& out = P("x")) {
    cases.add(std::move(name), f, line, x, out, {in});
  };
  onGrid("psum_y", [](const Array& v) { return psum(v, "y"); }, x);
  onGrid("psum_x", [](const Array& v) { return psum(v, "x"); }, P(std::nullopt, "y"));
  onGrid("psum_xy", [](const Array& v) { return psum(v, {"x", "y"}); }, whole);
  onGrid("pmean_yx", [](const Array& v) { return pmean(v, {"y", "x"}); }, whole);
  onGrid("pmax_y", [](const Array& v) { return pmax(v, "y"); }, x);
  onGrid("pmin_x", [](const Array& v) { return pmin(v, "x"); }, P(std::nullopt, "y"));
  onLine("psum_number", [](const Array& v) { return v * psum(3, "x"); }, a);
  onLine("psum_bool", [](const Array& v) { return psum(v > 50, "x"); }, a, whole);
  onLine("psum_groups", [](const Array& v) { return psum(v, "x", {{{0, 2, 4}, {1, 3, 5, 6, 7}}}); }, n);
  onLine("pmean_of_integers", [](const Array& v) { return pmean(v, "x"); }, n, whole);
  onGrid("all_gather_y", [](const Array& v) { return all_gather(v, "y"); }, P(std::nullopt, "x"));
  onGrid("all_gather_tiled", [](const Array& v) { return all_gather(v, "y", {.axis = 1, .tiled = true}); }, x);
  onGrid("all_gather_yx", [](const Array& v) { return all_gather(v, {"y", "x"}, {.axis = -1}); }, whole);
  onLine(
      "all_gather_groups",
      [](const Array& v) {
        return all_gather(v, "x", {.axis_index_groups = {{2, 0}, {1, 3}, {7, 6}, {4, 5}}, .tiled = true});
      },
      a);
  onGrid("psum_scatter_tiled",
         [](const Array& v) { return psum_scatter(v, "y", {.scatter_dimension = 1, .tiled = true}); });
  onLine("psum_scatter_untiled", [](const Array& v) { return psum_scatter(v, "x"); }, long8);
  onLine(
      "psum_scatter_groups",
      [](const Array& v) {
        return psum_scatter(v, "x",
                            {.scatter_dimension = 1, .axis_index_groups = {{0, 1, 2, 3}, {7, 6, 5, 4}}, .tiled = true});
      },
      a);
  onGrid("ppermute_ring", [](const Array& v) { return ppermute(v, "y", {{0, 1}, {1, 2}, {2, 3}, {3, 0}}); });
  onLine("ppermute_some", [](const Array& v) { return ppermute(v, "x", {{0, 7}, {3, 1}}); }, a);
  onGrid("ppermute_xy", [](const Array& v) { return ppermute(v, {"x", "y"}, {{0, 5}, {5, 0}, {7, 2}}); });
  onLine("pshuffle", [](const Array& v) { return pshuffle(v, "x", {7, 6, 5, 4, 3, 2, 1, 0}); }, a);
  onGrid("pbroadcast", [](const Array& v) { return pbroadcast(v, "y", 2); }, x);
  onLine("all_to_all_0_1", [](const Array& v) { return all_to_all(v, "x", 0, 1); }, long8);
  onLine("all_to_all_1_0", [](const Array& v) { return all_to_all(reshape(v, {3, 8}), "x", 1, 0); }, long8);
  onLine("all_to_all_same", [](const Array& v) { return all_to_all(v, "x", 0, 0); }, long8);
  onGrid("all_to_all_tiled", [](const Array& v) { return all_to_all(v, "y", 1, 0, {.tiled = true}); });
  onLine(
      "all_to_all_groups",
      [](const Array& v) {
        return all_to_all(v, "x", 1, 0, {.axis_index_groups = {{0, 1}, {3, 2}, {4, 6}, {5, 7}}, .tiled = true});
      },
      a);
  onGrid("axis_index", [](const Array& v) {
    return v + axis_index("x") * 10 + axis_index("y") * 100 + axis_index({"y", "x"}) * 1000 + axis_size({"x", "y"});
  });
  onLine(
      "in_a_loop",
      [](const Array& v) {
        return fori_loop(
            0, 3,
            [](const Array& i, const Array& c) {
              return ppermute(c, "x", {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 0}}) +
                     astype(i, f32);
            },
            v);
      },
      a);
  onLine(
      "softmax_over_devices",
      [](const Array& v) {
        const Array e = exp(v - pmax(max(v), "x"));
        return e / psum(sum(e), "x");
      },
      a);
  onLine(
      "in_a_branch_of_a_group",
      [](const Array& v) {
        return cond(
            axis_index("x") < 4, [&] { return psum(v, "x", {{{0, 1, 2, 3}, {4, 5, 6, 7}}}); }, [&] { return v * 2; });
      },
      a);
  cases.add(
      "two_arguments",
      [](const Array& rows, const Array& weights) { return std::tuple{psum(dot(rows, weights), "y"), weights * 2}; },
      grid, {xy, P("y", std::nullopt)}, {x, P("y")}, {numbers({8, 16}), numbers({16, 4})});
  cases.add("over_both_axes", [](const Array& v) { return v + axis_index({"x", "y"}); }, grid, P(std::tuple{"x", "y"}),
            P(std::tuple{"x", "y"}), {a});
  cases.add("captured_array", [c = numbers({16})](const Array& v) { return v + c; }, line, x, x, {a});
}

}  // namespace smalti::devices::test
