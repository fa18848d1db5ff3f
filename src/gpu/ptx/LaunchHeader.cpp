#include "gpu/ptx/LaunchHeader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Text.h"
#include "cpu/runtime/CallArrays.h"

namespace smalti::gpu {
namespace {

/// "{0}" is the symbol, "{1}" the file, "{2}" the GPUs, "{3}" the kernel, "{4}" and "{5}" are empty without tensor
/// maps.
constexpr const char* kBeginning =
    R"(/* Kernel {3} for NVIDIA GPUs ({2}), made by Smalti. A program launches it with the CUDA driver:
 *
 *   cuModuleLoad(&module, "{1}");
 *   cuModuleGetFunction(&function, module, {0}_FUNCTION);
 *   cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, {0}_SHARED_BYTES);
 *   void *arguments[] = {{&arrays, &workspace, &ended, &points, &iterations{4}}};
 *   cuLaunchKernel(function, blocks, 1, 1, {0}_THREADS, 1, 1, {0}_SHARED_BYTES, stream, arguments, NULL);
 *
 * arrays     CUdeviceptr: the addresses of the arrays below, in their order
 * workspace  CUdeviceptr: {0}_WORKSPACE_BYTES for each block
 * ended      CUdeviceptr: an int32_t that is 0 before; after: 0 done, 1 an access out of bounds or the like, 2 a block
 *            outside its array, 3 more iterations than allowed. The results are valid only if it is 0, or
 *            -1: scalars were loaded from outside of a ref, which are undefined
 *            -2: an index map gave a block of an input outside its array, which is undefined
 * points     long long: {0}_points()
 * iterations long long: the most iterations of loops in a block
 * blocks     from 1 to points: as many as the GPU runs at once, cuOccupancyMaxActiveBlocksPerMultiprocessor{5} */
)";

/// "{0}" is the symbol.
constexpr const char* kMapsArgument = R"(
 * maps       CUtensorMap[{0}_MAPS]: {0}_encode_maps(maps, addresses), which needs #include <cuda.h> before this header)";

/// "{0}" is the symbol, "{1}" the number of maps, "{2}" their rows. The constants are those of TensorMaps.cpp.
constexpr const char* kEncodeMaps =
    R"(/* Tensor maps of arrays, from which the kernel copies boxes. */
enum {{ {0}_MAPS = {1} }};
#ifdef CUDA_VERSION
/* addresses: of all arrays, in their order, on the GPU; each is a multiple of 16 bytes. CUDA 12.0 or later. */
static inline CUresult {0}_encode_maps(CUtensorMap *maps, const CUdeviceptr *addresses) {{
  static const struct {{
    int array;
    CUtensorMapDataType type;
    cuuint32_t rank;
    cuuint64_t extents[{3}], strides[{3}];
    cuuint32_t box[{3}], steps[{3}];
  }} rows[] = {{
{2}  }};
  for (int i = 0; i < {0}_MAPS; ++i) {{
    const CUresult result = cuTensorMapEncodeTiled(
        &maps[i], rows[i].type, rows[i].rank, (void *)(size_t)addresses[rows[i].array], rows[i].extents, rows[i].strides,
        rows[i].box, rows[i].steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) return result;
  }}
  return CUDA_SUCCESS;
}}
#endif
)";

std::string guardOf(const std::string& symbol) {
  std::string guard = symbol + "_LAUNCH_H";
  for (char& c : guard) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return guard;
}

/// The number of points: the product of the grid's sizes, of which each call passes the dynamic ones.
std::string pointsFunction(const DeviceKernel& kernel, const std::string& symbol) {
  std::vector<std::string> factors;
  int dynamic = 0;
  for (const int64_t bound : kernel.sharedBounds)
    factors.push_back(bound == kDynamicBound ? fmt::format("(long long)sizes[{}]", dynamic++)
                                             : fmt::format("{}LL", bound));
  if (factors.empty()) factors.emplace_back("1LL");
  return fmt::format(
      "/* The number of grid points that run in any order, divided among blocks. */\nstatic inline long long "
      "{}_points({}) {{ return {}; }}\n",
      symbol, dynamic ? "const int *sizes /* of the dynamic axes */" : "void", fmt::join(factors, " * "));
}

std::string encodeMapsFunction(const DeviceKernel& kernel, const std::string& symbol) {
  std::string rows;
  for (const TensorMap& map : kernel.maps)
    rows += fmt::format("      {{{}, CU_TENSOR_MAP_DATA_TYPE_UINT{}, {}, {{{}}}, {{{}}}, {{{}}}, {{{}}}}},\n",
                        map.array, map.elementBytes * 8, map.extents.size(), fmt::join(map.extents, ", "),
                        fmt::join(byteStrides(map), ", "), fmt::join(map.box, ", "),
                        fmt::join(std::vector<int>(map.box.size(), 1), ", "));
  return fmt::format(fmt::runtime(kEncodeMaps), symbol, kernel.maps.size(), rows, TensorMap::kMaxDimensions);
}

}  // namespace

std::string launchHeader(const KernelPackage& package, const DeviceKernel& kernel, const Architecture& architecture,
                         const std::string& symbol, const std::string& file) {
  const cpu::KernelArrays arrays(package, eval::Poison::intMin, kernel.written);
  std::string text = fmt::format(fmt::runtime(kBeginning), symbol, cComment(file), architecture.name,
                                 cComment(package.name), kernel.maps.empty() ? "" : ", maps",
                                 kernel.maps.empty() ? "" : fmt::format(fmt::runtime(kMapsArgument), symbol));
  const std::string guard = guardOf(symbol);
  text += fmt::format("#ifndef {0}\n#define {0}\n#define {1}_FUNCTION \"{2}\"\n", guard, symbol, kKernelSymbol);
  text += fmt::format("enum {{ {0}_THREADS = {1}, {0}_SHARED_BYTES = {2} }};\n", symbol, kernel.allThreads(),
                      kernel.sharedBytes);
  text += fmt::format("static const long long {}_WORKSPACE_BYTES = {};\n", symbol, kernel.workspaceBytes);
  std::vector<int64_t> bytes;
  std::string list;
  for (size_t i = 0; i < package.operands.size(); ++i) {
    bytes.push_back(arrays.operandBytes(i));
    list += fmt::format(" * {:>2}  operand {}: {}", bytes.size() - 1, i, package.operands[i].str());
    if (const int alias = arrays.aliasOf(i); alias >= 0)
      list += fmt::format(", at the same address as result {}", alias);
    list += "\n";
  }
  for (size_t i = 0; i < package.results.size(); ++i) {
    bytes.push_back(arrays.resultBytes(i));
    list += fmt::format(" * {:>2}  result {}: {}\n", bytes.size() - 1, i, package.results[i].str());
  }
  text += fmt::format("/* The arrays, row-major, at multiples of 16 bytes:\n{} */\nenum {{ {}_ARRAYS = {} }};\n", list,
                      symbol, bytes.size());
  text += fmt::format("static const long long {}_ARRAY_BYTES[] = {{{}}};\n", symbol, fmt::join(bytes, ", "));
  text += pointsFunction(kernel, symbol);
  if (!kernel.maps.empty()) text += encodeMapsFunction(kernel, symbol);
  return text + "#endif\n";
}

}  // namespace smalti::gpu
