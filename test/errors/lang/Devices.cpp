// Wrong programs of several devices: meshes, specs, collectives.
#include "WrongPrograms.h"

namespace pl = smalti;
using pl::_;

namespace {

const pl::Mesh kLine({{"x", 4}});
const pl::Mesh kGrid({{"x", 2}, {"y", 4}});

pl::Array same(const pl::Array& x) { return x; }

}  // namespace

// error[SM6230]: two mesh axes are named 'x'
//   --> test/errors/lang/Devices.cpp:23:63
//    23 | WRONG_PROGRAM(mesh_axis_twice) { pl::Mesh({{"x", 2}, {"x", 4}}); }
//       |                                                               ^
//   need: one axis or more, each with a name of its own and one device or more, 4096 devices at most in all
//   have: a mesh of {x: 2, x: 4}
//   help: write it as pl::Mesh({{"x", 2}, {"y", 4}})
WRONG_PROGRAM(mesh_axis_twice) { pl::Mesh({{"x", 2}, {"x", 4}}); }

// error[SM6230]: mesh axis 'x' has 0 devices
//   --> test/errors/lang/Devices.cpp:32:63
//    32 | WRONG_PROGRAM(mesh_axis_without_devices) { pl::Mesh({{"x", 0}}); }
//       |                                                               ^
//   need: one axis or more, each with a name of its own and one device or more, 4096 devices at most in all
//   have: a mesh of {x: 0}
//   help: write it as pl::Mesh({{"x", 2}, {"y", 4}})
WRONG_PROGRAM(mesh_axis_without_devices) { pl::Mesh({{"x", 0}}); }

// error[SM6230]: a mesh axis has no name
//   --> test/errors/lang/Devices.cpp:41:59
//    41 | WRONG_PROGRAM(mesh_axis_without_name) { pl::Mesh({{"", 2}}); }
//       |                                                           ^
//   need: one axis or more, each with a name of its own and one device or more, 4096 devices at most in all
//   have: a mesh of {: 2}
//   help: write it as pl::Mesh({{"x", 2}, {"y", 4}})
WRONG_PROGRAM(mesh_axis_without_name) { pl::Mesh({{"", 2}}); }

// error[SM6230]: a mesh has more devices than can be simulated
//   --> test/errors/lang/Devices.cpp:50:79
//    50 | WRONG_PROGRAM(mesh_larger_than_the_devices) { pl::Mesh({{"x", 128}, {"y", 64}}); }
//       |                                                                               ^
//   need: one axis or more, each with a name of its own and one device or more, 4096 devices at most in all
//   have: a mesh of {x: 128, y: 64}
//   help: write it as pl::Mesh({{"x", 2}, {"y", 4}})
WRONG_PROGRAM(mesh_larger_than_the_devices) { pl::Mesh({{"x", 128}, {"y", 64}}); }

// error[SM6230]: a mesh has no axes
//   --> test/errors/lang/Devices.cpp:59:72
//    59 | WRONG_PROGRAM(mesh_without_axes) { pl::Mesh(std::vector<pl::MeshAxis>{}); }
//       |                                                                        ^
//   need: one axis or more, each with a name of its own and one device or more, 4096 devices at most in all
//   have: none
//   help: write it as pl::Mesh({{"x", 2}, {"y", 4}})
WRONG_PROGRAM(mesh_without_axes) { pl::Mesh(std::vector<pl::MeshAxis>{}); }

// error[SM6231]: the spec of argument 0 names axis 'z', which the mesh has not
//   --> test/errors/lang/Devices.cpp:69:55
//    69 | WRONG_PROGRAM(spec_of_an_unknown_axis) { pl::shard_map(same, kLine, pl::P("z"), pl::P("x"))(pl::zeros({8, 128})); }
//       |                                                       ^
//    in function 'shard_map'
//   need: axes of {x: 4}
//   have: P('z')
//   help: name an axis of the mesh, or std::nullopt for a dimension that is not split
WRONG_PROGRAM(spec_of_an_unknown_axis) { pl::shard_map(same, kLine, pl::P("z"), pl::P("x"))(pl::zeros({8, 128})); }

// error[SM6231]: the spec of argument 0 uses axis 'x' twice
//   --> test/errors/lang/Devices.cpp:80:16
//    80 |   pl::shard_map(same, kLine, pl::P("x", "x"), pl::P("x"))(pl::zeros({8, 128}));
//       |                ^
//    in function 'shard_map'
//   need: each axis once
//   have: P('x', 'x')
//   help: an axis splits one dimension
WRONG_PROGRAM(spec_that_uses_an_axis_twice) {
  pl::shard_map(same, kLine, pl::P("x", "x"), pl::P("x"))(pl::zeros({8, 128}));
}

// error[SM6231]: dimension 0 of argument 0 does not divide over the mesh
//   --> test/errors/lang/Devices.cpp:92:16
//    92 |   pl::shard_map(same, kGrid, pl::P(std::tuple{"x", "y"}), pl::P("x"))(pl::zeros({12, 128}));
//       |                ^
//    in function 'shard_map'
//   need: a multiple of 8, the devices along x and y
//   have: 12 of f32[12,128]
//   help: pad the array, or split another dimension
WRONG_PROGRAM(spec_that_does_not_divide) {
  pl::shard_map(same, kGrid, pl::P(std::tuple{"x", "y"}), pl::P("x"))(pl::zeros({12, 128}));
}

// error[SM6231]: the spec of argument 0 has more entries than the array has dimensions
//   --> test/errors/lang/Devices.cpp:104:16
//   104 |   pl::shard_map(same, kLine, pl::P("x", std::nullopt, std::nullopt), pl::P("x"))(pl::zeros({8, 128}));
//       |                ^
//    in function 'shard_map'
//   need: at most 2 entries, for f32[8,128]
//   have: P('x', None, None)
//   help: give an entry per dimension; those behind the last are whole
WRONG_PROGRAM(spec_with_more_entries_than_dimensions) {
  pl::shard_map(same, kLine, pl::P("x", std::nullopt, std::nullopt), pl::P("x"))(pl::zeros({8, 128}));
}

// error[SM6231]: `in_specs` and the arguments do not match
//   --> test/errors/lang/Devices.cpp:116:16
//   116 |   pl::shard_map([](const pl::Array& a, const pl::Array& b, const pl::Array& c) { return a + b + c; }, kLine,
//       |                ^
//    in function 'shard_map'
//   need: one spec for all, or 3 specs
//   have: 2 specs
//   help: give a PartitionSpec for each argument, in order
WRONG_PROGRAM(specs_for_another_number_of_arguments) {
  pl::shard_map([](const pl::Array& a, const pl::Array& b, const pl::Array& c) { return a + b + c; }, kLine,
                {pl::P("x"), pl::P("x")}, pl::P("x"))(pl::zeros({8}), pl::zeros({8}), pl::zeros({8}));
}

// error[SM6231]: `out_specs` and the results do not match
//   --> test/errors/lang/Devices.cpp:129:16
//   129 |   pl::shard_map([](const pl::Array& a) { return std::tuple{a, a, a}; }, kLine, pl::P("x"),
//       |                ^
//    in function 'shard_map'
//   need: one spec for all, or 3 specs
//   have: 2 specs
//   help: give a PartitionSpec for each result, in order
WRONG_PROGRAM(specs_for_another_number_of_results) {
  pl::shard_map([](const pl::Array& a) { return std::tuple{a, a, a}; }, kLine, pl::P("x"),
                {pl::P("x"), pl::P()})(pl::zeros({8, 128}));
}

// error[SM6231]: the spec of result 0 has more entries than the array has dimensions
//   --> test/errors/lang/Devices.cpp:142:16
//   142 |   pl::shard_map([](const pl::Array& a) { return pl::sum(a); }, kLine, pl::P("x"), pl::P("x"))(pl::zeros({8, 128}));
//       |                ^
//    in function 'shard_map'
//   need: at most 0 entries, for f32[]
//   have: P('x')
//   help: give an entry per dimension; those behind the last are whole
WRONG_PROGRAM(spec_of_a_result_with_more_entries_than_dimensions) {
  pl::shard_map([](const pl::Array& a) { return pl::sum(a); }, kLine, pl::P("x"), pl::P("x"))(pl::zeros({8, 128}));
}

// error[SM5003]: result 0 of a shard_map must be equal on devices that hold the same part of it, but is not
//   --> test/errors/lang/Devices.cpp:152:16
//   152 |   pl::shard_map([](const pl::Array& a) { return a + pl::axis_index("x"); }, kLine, pl::P(),
//       |                ^
//   have: different elements on devices (x=0) and (x=1)
//   help: name in out_specs every mesh axis over which the result differs
WRONG_PROGRAM(result_that_differs_where_the_spec_says_it_does_not) {
  pl::shard_map([](const pl::Array& a) { return a + pl::axis_index("x"); }, kLine, pl::P(),
                pl::P())(pl::zeros({8, 128}));
}

// error[SM6232]: unbound axis name: x
//   --> test/errors/lang/Devices.cpp:163:57
//   163 | WRONG_PROGRAM(collective_outside_a_shard_map) { pl::psum(pl::zeros({8}), "x"); }
//       |                                                         ^
//   need: a shard_map around, whose mesh has the axis
//   have: no mesh
//   help: shard_map(f, mesh, in_specs, out_specs) runs f on each device of a mesh
WRONG_PROGRAM(collective_outside_a_shard_map) { pl::psum(pl::zeros({8}), "x"); }

// error[SM6232]: unbound axis name: x
//   --> test/errors/lang/Devices.cpp:172:63
//   172 | WRONG_PROGRAM(axis_index_outside_a_shard_map) { pl::axis_index("x"); }
//       |                                                               ^
//   need: a shard_map around, whose mesh has the axis
//   have: no mesh
//   help: shard_map(f, mesh, in_specs, out_specs) runs f on each device of a mesh
WRONG_PROGRAM(axis_index_outside_a_shard_map) { pl::axis_index("x"); }

// error[SM6232]: unbound axis name: rows
//   --> test/errors/lang/Devices.cpp:183:57
//   183 |   pl::shard_map([](const pl::Array& a) { return pl::psum(a, "rows"); }, kLine, pl::P("x"), pl::P())(pl::zeros({8}));
//       |                                                         ^
//    in function 'shard_map'
//   need: an axis of the mesh around
//   have: {x: 4}
//   help: shard_map(f, mesh, in_specs, out_specs) runs f on each device of a mesh
WRONG_PROGRAM(collective_over_an_unknown_axis) {
  pl::shard_map([](const pl::Array& a) { return pl::psum(a, "rows"); }, kLine, pl::P("x"), pl::P())(pl::zeros({8}));
}

// error[SM6232]: 'psum' cannot be called inside a kernel
//   --> test/errors/lang/Devices.cpp:195:79
//   195 |   const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::psum(x[_], "x"); },
//       |                                                                               ^
//    in kernel 'sum'
//   need: a call in the function of a shard_map, outside kernels
//   have: kernel 'sum'
//   help: write it with make_async_remote_copy, or call it before or after the kernel
WRONG_PROGRAM(collective_inside_a_kernel) {
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::psum(x[_], "x"); },
                                    {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .name = "sum"});
  pl::shard_map([=](const pl::Array& a) -> pl::Array { return call(a); }, kLine, pl::P("x"),
                pl::P())(pl::zeros({32, 128}));
}

// error[SM6233]: psum names axis 'x' twice
//   --> test/errors/lang/Devices.cpp:210:57
//   210 |   pl::shard_map([](const pl::Array& a) { return pl::psum(a, {"x", "x"}); }, kLine, pl::P("x"), pl::P())(pl::zeros({8}));
//       |                                                         ^
//    in function 'shard_map'
//   need: each axis once
//   have: axes x, x
//   help: leave one of them out
WRONG_PROGRAM(collective_that_names_an_axis_twice) {
  pl::shard_map([](const pl::Array& a) { return pl::psum(a, {"x", "x"}); }, kLine, pl::P("x"), pl::P())(pl::zeros({8}));
}

// error[SM6233]: psum names no axis
//   --> test/errors/lang/Devices.cpp:222:57
//   222 |   pl::shard_map([](const pl::Array& a) { return pl::psum(a, std::vector<std::string>{}); }, kLine, pl::P("x"),
//       |                                                         ^
//    in function 'shard_map'
//   need: an axis of the mesh
//   have: none
//   help: the mesh is {x: 4}
WRONG_PROGRAM(collective_without_an_axis) {
  pl::shard_map([](const pl::Array& a) { return pl::psum(a, std::vector<std::string>{}); }, kLine, pl::P("x"),
                pl::P())(pl::zeros({8}));
}

// error[SM6233]: axis_index_groups of psum do not cover the devices
//   --> test/errors/lang/Devices.cpp:235:57
//   235 |   pl::shard_map([](const pl::Array& a) { return pl::psum(a, "x", {{{0, 1}, {2}}}); }, kLine, pl::P("x"),
//       |                                                         ^
//    in function 'shard_map'
//   need: each index from 0 to 3 once
//   have: [[0, 1], [2]]
//   help: name every index along the axes; a group may hold one alone
WRONG_PROGRAM(groups_that_leave_a_device_out) {
  pl::shard_map([](const pl::Array& a) { return pl::psum(a, "x", {{{0, 1}, {2}}}); }, kLine, pl::P("x"),
                pl::P("x"))(pl::zeros({8}));
}

// error[SM6233]: axis_index_groups of all_gather do not cover the devices
//   --> test/errors/lang/Devices.cpp:248:63
//   248 |   pl::shard_map([](const pl::Array& a) { return pl::all_gather(a, "x", {.axis_index_groups = {{0, 1, 2}, {3}}}); },
//       |                                                               ^
//    in function 'shard_map'
//   need: each index from 0 to 3 once, in groups of one size
//   have: [[0, 1, 2], [3]]
//   help: name every index along the axes; a group may hold one alone
WRONG_PROGRAM(groups_of_several_sizes) {
  pl::shard_map([](const pl::Array& a) { return pl::all_gather(a, "x", {.axis_index_groups = {{0, 1, 2}, {3}}}); },
                kLine, pl::P("x"), pl::P("x"))(pl::zeros({8}));
}

// error[SM6233]: axis 2 of all_gather is none of the array
//   --> test/errors/lang/Devices.cpp:261:63
//   261 |   pl::shard_map([](const pl::Array& a) { return pl::all_gather(a, "x", {.axis = 2, .tiled = true}); }, kLine,
//       |                                                               ^
//    in function 'shard_map'
//   need: an axis from 0 to 1
//   have: axis 2 of 2 axes
//   help: axes count from 0; negative ones from the end
WRONG_PROGRAM(gather_along_an_axis_that_is_not_there) {
  pl::shard_map([](const pl::Array& a) { return pl::all_gather(a, "x", {.axis = 2, .tiled = true}); }, kLine,
                pl::P("x"), pl::P())(pl::zeros({8, 128}));
}

// error[SM6233]: scatter_dimension 1 of psum_scatter does not divide into its devices
//   --> test/errors/lang/Devices.cpp:274:65
//   274 |   pl::shard_map([](const pl::Array& a) { return pl::psum_scatter(a, "x", {.scatter_dimension = 1, .tiled = true}); },
//       |                                                                 ^
//    in function 'shard_map'
//   need: a multiple of 4
//   have: 126 of f32[2,126]
//   help: pad the array, or choose another axis
WRONG_PROGRAM(scatter_that_does_not_divide) {
  pl::shard_map([](const pl::Array& a) { return pl::psum_scatter(a, "x", {.scatter_dimension = 1, .tiled = true}); },
                kLine, pl::P("x"), pl::P("x"))(pl::zeros({8, 126}));
}

// error[SM6233]: scatter_dimension 0 of psum_scatter is not as long as there are devices
//   --> test/errors/lang/Devices.cpp:287:65
//   287 |   pl::shard_map([](const pl::Array& a) { return pl::psum_scatter(a, "x"); }, kLine, pl::P("x"),
//       |                                                                 ^
//    in function 'shard_map'
//   need: 4
//   have: 2 of f32[2,128]
//   help: set .tiled = true to split an axis that is a multiple of it
WRONG_PROGRAM(scatter_of_another_size_than_the_devices) {
  pl::shard_map([](const pl::Array& a) { return pl::psum_scatter(a, "x"); }, kLine, pl::P("x"),
                pl::P("x"))(pl::zeros({8, 128}));
}

// error[SM6233]: ppermute sources and destinations must be unique
//   --> test/errors/lang/Devices.cpp:300:61
//   300 |   pl::shard_map([](const pl::Array& a) { return pl::ppermute(a, "x", {{0, 1}, {2, 1}}); }, kLine, pl::P("x"),
//       |                                                             ^
//    in function 'shard_map'
//   need: each target once
//   have: target 1 twice
//   help: a device sends to one and hears from one; use all_gather for more
WRONG_PROGRAM(permutation_with_a_target_twice) {
  pl::shard_map([](const pl::Array& a) { return pl::ppermute(a, "x", {{0, 1}, {2, 1}}); }, kLine, pl::P("x"),
                pl::P("x"))(pl::zeros({8}));
}

// error[SM6233]: ppermute has a target that is not there
//   --> test/errors/lang/Devices.cpp:313:61
//   313 |   pl::shard_map([](const pl::Array& a) { return pl::ppermute(a, "x", {{0, 4}}); }, kLine, pl::P("x"),
//       |                                                             ^
//    in function 'shard_map'
//   need: an index from 0 to 3
//   have: 4
//   help: indices count the devices along the axes
WRONG_PROGRAM(permutation_to_a_device_that_is_not_there) {
  pl::shard_map([](const pl::Array& a) { return pl::ppermute(a, "x", {{0, 4}}); }, kLine, pl::P("x"),
                pl::P("x"))(pl::zeros({8}));
}

// error[SM6233]: the permutation of pshuffle has another length than there are devices
//   --> test/errors/lang/Devices.cpp:326:61
//   326 |   pl::shard_map([](const pl::Array& a) { return pl::pshuffle(a, "x", {1, 0}); }, kLine, pl::P("x"),
//       |                                                             ^
//    in function 'shard_map'
//   need: 4 entries
//   have: 2
//   help: give the source of each device along the axes
WRONG_PROGRAM(shuffle_of_another_length) {
  pl::shard_map([](const pl::Array& a) { return pl::pshuffle(a, "x", {1, 0}); }, kLine, pl::P("x"),
                pl::P("x"))(pl::zeros({8}));
}

// error[SM6233]: the source of pbroadcast is not there
//   --> test/errors/lang/Devices.cpp:339:63
//   339 |   pl::shard_map([](const pl::Array& a) { return pl::pbroadcast(a, "x", -1); }, kLine, pl::P("x"),
//       |                                                               ^
//    in function 'shard_map'
//   need: an index from 0 to 3
//   have: -1
//   help: indices count the devices along the axis
WRONG_PROGRAM(broadcast_from_a_device_that_is_not_there) {
  pl::shard_map([](const pl::Array& a) { return pl::pbroadcast(a, "x", -1); }, kLine, pl::P("x"),
                pl::P())(pl::zeros({8}));
}

// error[SM6233]: split_axis 1 of all_to_all does not divide into its devices
//   --> test/errors/lang/Devices.cpp:352:63
//   352 |   pl::shard_map([](const pl::Array& a) { return pl::all_to_all(a, "x", 1, 0, {.tiled = true}); }, kLine, pl::P("x"),
//       |                                                               ^
//    in function 'shard_map'
//   need: a multiple of 4
//   have: 130 of f32[2,130]
//   help: pad the array, or choose another axis
WRONG_PROGRAM(all_to_all_that_does_not_divide) {
  pl::shard_map([](const pl::Array& a) { return pl::all_to_all(a, "x", 1, 0, {.tiled = true}); }, kLine, pl::P("x"),
                pl::P("x"))(pl::zeros({8, 130}));
}

// error[SM6234]: a shard_map is called inside another
//   --> test/errors/lang/Devices.cpp:365:35
//   365 |   const auto inner = pl::shard_map(same, kLine, pl::P("x"), pl::P("x"));
//       |                                   ^
//    in function 'shard_map'
//   need: a call on whole arrays
//   have: the devices of {x: 4}
//   help: one mesh with more axes splits further: name them in the specs
WRONG_PROGRAM(shard_map_inside_a_shard_map) {
  const auto inner = pl::shard_map(same, kLine, pl::P("x"), pl::P("x"));
  pl::shard_map([=](const pl::Array& a) -> pl::Array { return inner(a); }, kLine, pl::P("x"),
                pl::P("x"))(pl::zeros({16, 128}));
}

// error[SM6234]: a shard_map is called inside a kernel
//   --> test/errors/lang/Devices.cpp:379:35
//   379 |   const auto inner = pl::shard_map(same, kLine, pl::P("x"), pl::P("x"));
//       |                                   ^
//    in kernel 'kernel'
//   need: a call on whole arrays
//   have: kernel 'kernel'
//   help: call the kernel in the function of the shard_map
WRONG_PROGRAM(shard_map_inside_a_kernel) {
  const auto inner = pl::shard_map(same, kLine, pl::P("x"), pl::P("x"));
  pl::pallas_call([=](pl::Ref x, pl::Ref o) { o[_] = pl::Array(inner(x[_])); },
                  {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}})(pl::zeros({8, 128}));
}

// error[SM6234]: the function of a shard_map takes the wrong number of arrays
//   --> test/errors/lang/Devices.cpp:393:16
//   393 |   pl::shard_map([](const pl::Array& a, const pl::Array& b) { return a + b; }, kLine, pl::P("x"),
//       |                ^
//    in function 'shard_map'
//   need: a function of 1 array
//   have: one of 2
//   help: it takes one array for each argument of the shard_map
WRONG_PROGRAM(shard_map_of_another_number_of_arrays) {
  pl::shard_map([](const pl::Array& a, const pl::Array& b) { return a + b; }, kLine, pl::P("x"),
                pl::P("x"))(pl::zeros({8, 128}));
}

// error[SM6202]: a call inside a shard_map names another mesh
//   --> test/errors/lang/Devices.cpp:406:36
//   406 |   const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
//       |                                    ^
//    in function 'shard_map'
//   need: the mesh around, {x: 4}
//   have: .mesh = {z: 2}
//   help: leave .mesh out: inside a shard_map it is known
WRONG_PROGRAM(kernel_with_another_mesh_than_the_one_around) {
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
                                    {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .mesh = {{"z", 2}}});
  pl::shard_map([=](const pl::Array& a) -> pl::Array { return call(a); }, kLine, pl::P("x"),
                pl::P("x"))(pl::zeros({32, 128}));
}

// error[SM6201]: a call gives a different number of results
//   --> test/errors/lang/Devices.cpp:420:36
//   420 |   const pl::Array y = pl::shard_map([](const pl::Array& a) { return std::tuple{a, a}; }, kLine, pl::P("x"),
//       |                                    ^
//   need: 1 result
//   have: 2
//   help: take<N>() with that number, or results[i]
WRONG_PROGRAM(results_of_a_shard_map_taken_as_another_number) {
  const pl::Array y = pl::shard_map([](const pl::Array& a) { return std::tuple{a, a}; }, kLine, pl::P("x"),
                                    pl::P("x"))(pl::zeros({8, 128}));
}

// error[SM6235]: a mesh of cores has a name and one core or more
//   --> test/errors/lang/Devices.cpp:432:13
//   432 |   pl::kernel([](pl::Ref o) { o[_] = 0; }, {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .mesh = {"core", 0}});
//       |             ^
//   need: a CoreMesh like {"core", 2}
//   have: {"core", 0}
//   help: a chip has one or two TensorCores
WRONG_PROGRAM(kernel_of_no_cores) {
  pl::kernel([](pl::Ref o) { o[_] = 0; }, {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .mesh = {"core", 0}});
}

// error[SM6235]: dimension_semantics must be left out for a mesh of cores
//   --> test/errors/lang/Devices.cpp:443:13
//   443 |   pl::kernel([](pl::Ref o) { o[_] = 0; }, {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
//       |             ^
//   need: none
//   have: 1
//   help: the mesh is the only axis, and is `parallel`
WRONG_PROGRAM(kernel_of_cores_with_dimension_semantics) {
  pl::kernel([](pl::Ref o) { o[_] = 0; }, {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
                                           .mesh = {"core", 2},
                                           .compiler_params = {.dimension_semantics = {pl::arbitrary}}});
}

// error[SM6235]: a core_map is called outside a run_state
//   --> test/errors/lang/Devices.cpp:456:15
//   456 |   pl::core_map({"core", 2}, [] {});
//       |               ^
//   need: a call in the function of a run_state, outside kernels
//   have: no run_state
//   help: run_state(f, {arrays}) gives f the Refs
WRONG_PROGRAM(core_map_outside_a_run_state) {
  pl::core_map({"core", 2}, [] {});
}

// error[SM6235]: a core_map is called in a traced loop, branch or function inside its run_state
//   --> test/errors/lang/Devices.cpp:471:67
//   471 |           pl::fori_loop(0, 3, [&](const pl::Array&) { pl::core_map({"core", 1}, [&] { pl::sync_copy(r, r); }); });
//       |                                                                   ^
//    in function 'main'
//   need: a call in the function of the run_state itself
//   have: a call in another part of function 'main'
//   help: put the loop into the core_map's function, or the run_state into the loop's
WRONG_PROGRAM(core_map_in_a_loop_of_a_run_state) {
  pl::jit([](const pl::Array& x) {
    return pl::run_state(
        [](pl::Ref r) {
          pl::fori_loop(0, 3, [&](const pl::Array&) { pl::core_map({"core", 1}, [&] { pl::sync_copy(r, r); }); });
        },
        {x})[0];
  })(pl::zeros({8, 128}));
}

// error[SM6235]: the function of a run_state takes the wrong number of Refs
//   --> test/errors/lang/Devices.cpp:485:16
//   485 |   pl::run_state([](pl::Ref x, pl::Ref y) { pl::core_map({"core", 2}, [&] { pl::sync_copy(x, y); }); },
//       |                ^
//   need: 1 Ref
//   have: a function of 2
//   help: it takes a Ref for each array
WRONG_PROGRAM(run_state_of_another_number_of_refs) {
  pl::run_state([](pl::Ref x, pl::Ref y) { pl::core_map({"core", 2}, [&] { pl::sync_copy(x, y); }); },
                {pl::zeros({8, 128})});
}

// error[SM6106]: 'reading a Ref' exists inside kernels only
//   --> test/errors/lang/Devices.cpp:495:36
//   495 |   pl::run_state([](pl::Ref x) { x[_] = 1; }, {pl::zeros({8, 128})});
//       |                                    ^
//   help: call it in a function that is passed to pallas_call
WRONG_PROGRAM(ref_of_a_run_state_outside_a_core_map) {
  pl::run_state([](pl::Ref x) { x[_] = 1; }, {pl::zeros({8, 128})});
}

// error[SM6236]: collective_id has to be unspecified when a kernel does not use its barrier
//   --> test/errors/lang/Devices.cpp:507:18
//   507 |   pl::pallas_call(
//       |                  ^
//    in kernel 'kernel'
//   need: get_barrier_semaphore() in the kernel, or no collective_id
//   have: collective_id = 3
//   help: leave it out: a kernel without a barrier of its own begins with one of all devices
WRONG_PROGRAM(collective_id_without_a_barrier) {
  pl::pallas_call(
      [](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .compiler_params = {.collective_id = 3}})(pl::zeros({8, 128}));
}

// error[SM3014]: the kernel uses the barrier semaphore, but its call has no collective_id
//   --> test/errors/lang/Devices.cpp:521:90
//   521 |   pl::pallas_call([](pl::Ref x, pl::Ref o) { pl::semaphore_wait(pl::get_barrier_semaphore()); },
//       |                                                                                          ^
//    in kernel 'waits'
//   need: a collective_id, which says with which kernels the barrier is shared
//   have: none
//   help: give the call a collective_id: pltpu.CompilerParams(collective_id=0), in C++ .compiler_params = {.collective_id = 0}
WRONG_PROGRAM(barrier_without_a_collective_id) {
  pl::pallas_call([](pl::Ref x, pl::Ref o) { pl::semaphore_wait(pl::get_barrier_semaphore()); },
                  {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .name = "waits"})(pl::zeros({8, 128}));
}

// error[SM6508]: device_id names axis 'y' twice
//   --> test/errors/lang/Devices.cpp:536:62
//   536 |                          pl::Ref sem) { pl::async_remote_copy(x, o, sem, sem, {{{"x", "y"}, 1}, {"y", 0}}).wait(); },
//       |                                                              ^
//    in kernel 'kernel'
//   need: one index per axis of the mesh
//   have: a mesh of {x: 2, y: 4}
//   help: axes that a dict leaves out are this device's own
WRONG_PROGRAM(device_id_that_names_an_axis_twice) {
  const auto call =
      pl::pallas_call([](pl::Ref x, pl::Ref o,
                         pl::Ref sem) { pl::async_remote_copy(x, o, sem, sem, {{{"x", "y"}, 1}, {"y", 0}}).wait(); },
                      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
                       .in_specs = {pl::BlockSpec(pl::any_space)},
                       .out_specs = {pl::BlockSpec(pl::any_space)},
                       .scratch_shapes = {pl::semaphore_type::dma()}});
  pl::shard_map([=](const pl::Array& a) -> pl::Array { return call(a); }, kGrid, pl::P("x", "y"),
                pl::P("x", "y"))(pl::zeros({16, 512}));
}

// error[SM6508]: device_id 8 is outside the 8 devices of mesh axis 'x', 'y'
//   --> test/errors/lang/Devices.cpp:555:68
//   555 |       [](pl::Ref x, pl::Ref o, pl::Ref sem) { pl::async_remote_copy(x, o, sem, sem, {{{"x", "y"}, 8}}).wait(); },
//       |                                                                    ^
//    in kernel 'kernel'
//   need: one index per axis of the mesh
//   have: a mesh of {x: 2, y: 4}
//   help: axes that a dict leaves out are this device's own
WRONG_PROGRAM(device_id_outside_of_several_axes) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref sem) { pl::async_remote_copy(x, o, sem, sem, {{{"x", "y"}, 8}}).wait(); },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
       .in_specs = {pl::BlockSpec(pl::any_space)},
       .out_specs = {pl::BlockSpec(pl::any_space)},
       .scratch_shapes = {pl::semaphore_type::dma()}});
  pl::shard_map([=](const pl::Array& a) -> pl::Array { return call(a); }, kGrid, pl::P("x", "y"),
                pl::P("x", "y"))(pl::zeros({16, 512}));
}

// error[SM6233]: ppermute names axes in another order than the mesh
//   --> test/errors/lang/Devices.cpp:573:61
//   573 |   pl::shard_map([](const pl::Array& a) { return pl::ppermute(a, {"y", "x"}, {{0, 1}}); }, kGrid, pl::P("x", "y"),
//       |                                                             ^
//    in function 'shard_map'
//   need: the order of the mesh's axes
//   have: axes y, x of the mesh {x: 2, y: 4}
//   help: name them in the mesh's order, in which the devices are then numbered
WRONG_PROGRAM(permutation_along_axes_in_another_order) {
  pl::shard_map([](const pl::Array& a) { return pl::ppermute(a, {"y", "x"}, {{0, 1}}); }, kGrid, pl::P("x", "y"),
                pl::P("x", "y"))(pl::zeros({16, 512}));
}

// error[SM6126]: a while_loop that polls a semaphore would be removed, since nothing uses its results
//   --> test/errors/lang/Devices.cpp:587:23
//   587 |         pl::while_loop([&](const pl::Array&) { return pl::semaphore_read(sem) < 1; },
//       |                       ^
//    in kernel 'kernel'
//   need: a use of a result of the loop, such as a carry with the count that was read
//   help: wait with semaphore_wait, or return the count as a carry and store it
WRONG_PROGRAM(polling_that_nothing_uses) {
  pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref sem) {
        pl::while_loop([&](const pl::Array&) { return pl::semaphore_read(sem) < 1; },
                       [](const pl::Array& c) { return c; }, pl::zeros({}, pl::i32));
        o[_] = x[_];
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .scratch_shapes = {pl::semaphore_type::regular()}})(
      pl::zeros({8, 128}));
}

// error[SM6126]: a while_loop that polls a semaphore would be removed, since nothing uses its results
//   --> test/errors/lang/Devices.cpp:606:25
//   606 |           pl::while_loop([](const pl::Array& count) { return count < 1; },
//       |                         ^
//    in kernel 'kernel'
//   need: a use of a result of the loop, such as a carry with the count that was read
//   help: wait with semaphore_wait, or return the count as a carry and store it
WRONG_PROGRAM(polling_in_a_branch) {
  pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref sem) {
        pl::when(pl::program_id(0) == 0, [&] {
          pl::while_loop([](const pl::Array& count) { return count < 1; },
                         [&](const pl::Array&) { return pl::semaphore_read(sem); }, pl::zeros({}, pl::i32));
        });
        o[_] = x[_];
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .grid = {1}, .scratch_shapes = {pl::semaphore_type::regular()}})(
      pl::zeros({8, 128}));
}
