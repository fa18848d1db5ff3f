// bench_cuda_pack ROWS FOLDER [WORD]: the benchmark of ./do pack gpu. Compiles kernels that bench_cuda_kernels has
// written to ROWS for all GPUs, those whose rows contain WORD; each becomes a folder of code and its launch, which
// tools/gpu/run_calls measures.
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Options.h"
#include "base/io/File.h"
#include "cpu/runtime/CallArrays.h"
#include "driver/Module.h"
#include "driver/target/cuda/Cuda.h"
#include "gpu/pack/CallText.h"

namespace {

using namespace smalti;
using nlohmann::json;

/// The fastest blocks on an H100 (docs/performance_gpu.md); for parts of attention that have not been measured, those
/// with the best static figures.
struct Choice {
  std::string_view row, part, blocks;
};
constexpr Choice kChoices[] = {
    {"bf16 4096 × 4096 × 4096", "", "256 × 128 × 64"},
    {"bf16 8192 × 8192 × 8192", "", "256 × 128 × 64"},
    {"bf16 4096 × 22016 × 4096", "", "256 × 128 × 64"},
    {"f8e4m3fn 8192 × 8192 × 8192", "", "256 × 128 × 128"},
    {"grouped bf16 8192 × 4096 × 4096, 8 groups", "", "128 × 256 × 64"},
    {"bf16 attention D=64 4096", "", "64 × 128"},
    {"bf16 attention D=64 4096", "", "128 × 128"},
    {"bf16 attention D=64 4096 causal", "", "64 × 64"},
    {"bf16 attention D=64 4096 causal", "", "128 × 128"},
    {"bf16 attention D=64 16384", "", "64 × 128"},
    {"bf16 attention D=64 16384", "", "128 × 128"},
    {"bf16 attention D=64 16384 causal", "", "64 × 128"},
    {"bf16 attention D=64 16384 causal", "", "128 × 128"},
    {"bf16 attention D=128 4096", "", "128 × 128"},
    {"bf16 attention D=128 4096 causal", "", "128 × 64"},
    {"bf16 attention D=128 4096 causal", "", "128 × 128"},
    {"bf16 attention D=128 16384", "", "128 × 128"},
    {"bf16 attention D=128 16384 causal", "", "128 × 64"},
    {"bf16 attention D=128 16384 causal", "", "128 × 128"},
    {"bf16 attention backward D=64 4096", "delta", "16 rows"},
    {"bf16 attention backward D=64 4096", "queries", "128 × 128"},
    {"bf16 attention backward D=64 4096", "queries", "32 × 128"},
    {"bf16 attention backward D=64 4096", "keys", "64 × 128"},
    {"bf16 attention backward D=64 4096", "keys", "64 × 64"},
    {"bf16 attention backward D=64 4096 causal", "delta", "16 rows"},
    {"bf16 attention backward D=64 4096 causal", "queries", "128 × 128"},
    {"bf16 attention backward D=64 4096 causal", "keys", "64 × 64"},
    {"bf16 attention backward D=128 4096", "delta", "16 rows"},
    {"bf16 attention backward D=128 4096", "queries", "128 × 128"},
    {"bf16 attention backward D=128 4096", "keys", "64 × 128"},
    {"bf16 attention backward D=128 4096 causal", "delta", "16 rows"},
    {"bf16 attention backward D=128 4096 causal", "queries", "128 × 128"},
    {"bf16 attention backward D=128 4096 causal", "keys", "64 × 64"},
    {"softmax f32 16384 × 4096", "", "2 rows"},
    {"rms_norm f32 16384 × 4096", "", "2 rows"},
    {"layer_norm f32 16384 × 4096", "", "1 rows"},
    {"chain f32 16384 × 4096", "", "1 rows"},
    {"softmax bf16 16384 × 4096", "", "1 rows"},
    {"rms_norm bf16 16384 × 4096", "", "1 rows"},
    {"layer_norm bf16 16384 × 4096", "", "1 rows"},
    {"chain bf16 16384 × 4096", "", "1 rows"},
    {"decode 64 × 4096 keys, pages of 128", "", "1 pages"},
    {"decode 64 × 4096 keys, pages of 128", "", "2 pages"},
};

/// Elements that a kernel needs to be some numbers: given in rows.json, or the lengths and the page table of decoding.
std::vector<std::vector<int32_t>> storedOperands(const json& row, const json& module) {
  if (row["kind"] != "decode") return module["given"].get<std::vector<std::vector<int32_t>>>();
  const json& s = row["sizes"];
  const int32_t batch = s["batch"], length = s["length"], pages = batch * (length / s["page"].get<int32_t>());
  std::vector<int32_t> table(static_cast<size_t>(pages));
  // Every page once, since the factor is odd and the number of pages is a power of two.
  for (int32_t i = 0; i < pages; ++i) table[static_cast<size_t>(i)] = (i * 1237 + 5) % pages;
  return {std::vector<int32_t>(static_cast<size_t>(batch), length), table};
}

struct Range {
  double centre = 0, radius = 1;
};

/// Queries such that scores have a standard deviation of 1, as those of normal inputs; logarithms of sums of
/// exponentials of such scores.
Range rangeOf(const std::string& kind, size_t operand) {
  if ((kind.starts_with("attention") && operand == 0) || (kind == "decode" && operand == 2)) return {0, 3};
  if (kind == "attention backward" && operand == 4) return {13, 1};
  return {};
}

/// The operand that has the same array: pages of keys, and of values, that a step works on together.
std::optional<size_t> sameAs(const std::string& kind, size_t operand, size_t operands) {
  if (kind != "decode" || operand < 3) return std::nullopt;
  const size_t pages = (operands - 3) / 2, first = operand < 3 + pages ? 3 : 3 + pages;
  return operand == first ? std::nullopt : std::optional(first);
}

/// "flops N" or "bytes N", which the runner divides by the time. The products of the backward pass are counted as often
/// as its kernels compute them.
std::string workOf(const json& row, const std::string& part) {
  const json& s = row["sizes"];
  const std::string kind = row["kind"];
  if (kind == "matmul" || kind == "grouped")
    return fmt::format("flops {}", 2 * s["m"].get<int64_t>() * s["n"].get<int64_t>() * s["k"].get<int64_t>());
  if (kind == "decode")
    return fmt::format("bytes {}", 4 * s["batch"].get<int64_t>() * s["key_heads"].get<int64_t>() *
                                       s["length"].get<int64_t>() * s["size"].get<int64_t>());
  if (kind.starts_with("attention")) {
    const int64_t rows = s["batch"].get<int64_t>() * s["heads"].get<int64_t>() * s["length"].get<int64_t>(),
                  size = s["size"];
    if (part == "delta") return fmt::format("bytes {}", rows * (2 * 2 * size + 4));
    const int64_t products = part == "queries" ? 3 : part == "keys" ? 4 : 2;
    return fmt::format("flops {}",
                       2 * products * rows * s["length"].get<int64_t>() * size / (s["causal"].get<bool>() ? 2 : 1));
  }
  const int64_t elements = s["rows"].get<int64_t>() * s["columns"].get<int64_t>();
  return fmt::format("bytes {}", 2 * elements * (s["dtype"] == "f32" ? 4 : 2));
}

/// The kind of the check and its sizes (tools/gpu/run_calls/expect.c).
std::string checkOf(const json& row, const std::string& part) {
  std::string text = part.empty() ? row["kind"].get<std::string>() : part;
  for (const auto& [name, value] : row["sizes"].items()) {
    if (value.is_boolean()) text += fmt::format(" {}={}", name, value.get<bool>() ? 1 : 0);
    if (value.is_number()) text += fmt::format(" {}={}", name, value.get<int64_t>());
  }
  if (row["kind"] == "matmul") text += fmt::format(" transposed={}", row["sizes"]["dtype"] == "f8e4m3fn" ? 1 : 0);
  if (row["kind"] == "grouped") {
    int64_t end = 0;
    const auto groups = row["sizes"]["group_sizes"].get<std::vector<int64_t>>();
    text += fmt::format(" groups={}", groups.size());
    for (size_t g = 0; g < groups.size(); ++g) text += fmt::format(" end{}={}", g, end += groups[g]);
  }
  return text;
}

Result<std::vector<ArrayType>> typesOf(const json& texts) {
  std::vector<ArrayType> types;
  for (const std::string text : texts) {
    auto type = driver::parseArrayType(text);
    if (!type) return fail(std::move(type.error()));
    types.push_back(std::move(*type));
  }
  return types;
}

Result<KernelPackage> loadKernel(const std::string& file, const json& module) {
  auto loaded = driver::loadModule(file);
  if (!loaded) return fail(std::move(loaded.error()));
  const auto arguments = typesOf(module["arguments"]), results = typesOf(module["results"]);
  if (!arguments) return fail(arguments.error());
  if (!results) return fail(results.error());
  if (Status ok = driver::setShapes(*loaded, *arguments, *results); !ok) return fail(ok.error());
  return driver::kernelForGpus(*loaded->kernel(0), {});
}

Status packKernel(const std::string& rows, const std::string& to, const json& row, const json& module,
                  cpu::CompileCache* cache) {
  auto package = loadKernel(rows + "/" + module["file"].get<std::string>(), module);
  if (!package) return fail(std::move(package.error()));
  const auto codes = gpu::packCode(*package, cache, eval::Poison::intMin, true);
  if (!codes) return fail(codes.error());
  const auto stored = storedOperands(row, module);
  std::vector<int32_t> gridSizes;
  for (const std::vector<int32_t>& values : stored) gridSizes.push_back(values.at(0));
  const std::string kind = row["kind"], part = module["part"];
  std::filesystem::create_directories(to);
  gpu::CallText text(*codes, gridSizes);
  const cpu::KernelArrays arrays(*package, eval::Poison::intMin, codes->front().kernel.lowered.written);
  for (size_t i = 0; i < package->operands.size(); ++i) {
    const int64_t bytes = arrays.operandBytes(i);
    if (i < stored.size()) {
      text.operandFromFile(bytes);
      const std::string_view data(reinterpret_cast<const char*>(stored[i].data()), stored[i].size() * sizeof(int32_t));
      if (Status ok = writeFile(fmt::format("{}/operand{}.bin", to, i), {data}); !ok) return ok;
    } else if (const auto same = sameAs(kind, i, package->operands.size())) {
      text.operandAs(bytes, *same);
    } else {
      const auto [centre, radius] = rangeOf(kind, i);
      text.randomOperand(bytes, package->operands[i].dtype, centre, radius);
    }
  }
  for (size_t i = 0; i < package->results.size(); ++i)
    text.result(arrays.resultBytes(i), arrays.insideResult(i), false);
  text.line("row " + row["name"].get<std::string>());
  if (!part.empty()) text.line("part " + part);
  text.line("blocks " + module["blocks"].get<std::string>());
  text.line("work " + workOf(row, part));
  text.line("check " + checkOf(row, part));
  if (Status ok = gpu::writeCode(*codes, to); !ok) return ok;
  return writeFile(to + "/call.txt", {text.end()});
}

/// The row's module with the choice's blocks; null: there is none.
const json* moduleOf(const json& row, const Choice& choice) {
  for (const json& module : row["modules"])
    if (module["part"] == choice.part && module["blocks"] == choice.blocks) return &module;
  return nullptr;
}

int pack(const std::string& rows, const std::string& folder, const std::string& word) {
  json all;
  std::ifstream(rows + "/rows.json") >> all;
  const Options defaults;
  const auto cache = cpu::openCache(defaults.cache, defaults.cacheLimitMib << 20);
  int number = 0;
  for (const Choice& choice : kChoices) {
    ++number;
    if (choice.row.find(word) == choice.row.npos) continue;
    const auto row = std::ranges::find_if(all, [&](const json& r) { return r["name"] == choice.row; });
    const json* module = row == all.end() ? nullptr : moduleOf(*row, choice);
    const std::string what =
        fmt::format("{}{}{}, blocks {}", choice.row, choice.part.empty() ? "" : ", ", choice.part, choice.blocks);
    if (!module) return std::cerr << what << ": not in rows.json\n", 1;
    std::cout << fmt::format("{:>3} of {}: {}\n", number, std::size(kChoices), what) << std::flush;
    if (Status ok = packKernel(rows, fmt::format("{}/{:02}", folder, number), *row, *module, cache.get()); !ok)
      return std::cerr << what << ":\n" << ok.error().str() << '\n', 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4 || *argv[1] == '-') return std::cerr << "usage: bench_cuda_pack ROWS FOLDER [WORD]\n", 2;
  return pack(argv[1], argv[2], argc > 3 ? argv[3] : "");
}
