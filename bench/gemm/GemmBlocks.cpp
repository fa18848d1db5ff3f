// Matrix products as fractions of the limit of their instruction, on one core, in rounds {limit, product, limit}.
//   bench_gemm [SECONDS_PER_ROW] [ROW_PREFIX…]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "cpu/jit/Jit.h"
#include "cpu/product/gemm/Gemm.h"
#include "limits/Loops.h"
#include "llvm/IR/Module.h"

namespace {

using namespace smalti;
using namespace smalti::cpu;
using GemmFunction = void(const void*, int64_t, const void*, int64_t, void*, int64_t, void*);

/// A round is valid if its two limits differ by at most this fraction and neither is slow compared with all.
constexpr double kTolerance = .03;

/// Processor time of this thread: excludes the time of other threads on the core, but not their effect on caches.
double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

[[noreturn]] void refuse(const Diagnostic& d) {
  std::fputs(d.str().c_str(), stderr);
  std::exit(3);
}

std::shared_ptr<const LoadedCode> load(ModuleBuilder&& builder, CompileReport* report = nullptr) {
  auto object = generateObject(std::move(builder), hostProcessor(), report);
  if (!object) refuse(object.error());
  auto code = loadObject(*object, {}, report);
  if (!code) refuse(code.error());
  return *code;
}

/// Operations per second of a loop at the limit of one core.
double rateOf(bench::Arithmetic limit) {
  const double begin = now();
  const double operations = limit(2000);
  return operations / (now() - begin);
}

struct Memory {
  void* data = nullptr;
  explicit Memory(size_t bytes) {
    data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096 + 4096);
    std::memset(data, 0, bytes);
  }
  ~Memory() { std::free(data); }
  Memory(const Memory&) = delete;
};

struct Row {
  std::string name;
  GemmShape shape;
  int64_t stride = 0;  ///< of all operands, elements; 0: dense
};

void measure(const Row& row, bench::Arithmetic limit, double seconds) {
  const GemmShape& s = row.shape;
  CompileReport warm, report;
  std::string symbol;
  std::shared_ptr<const LoadedCode> code;
  std::vector<double> compile;
  for (int i = 0; i < 5; ++i) {  // the first one warms the compiler up
    const double begin = now();
    ModuleBuilder builder(hostProcessor(), "gemm");
    llvm::Function* f = emitGemm(*builder.module, planGemm(s, hostProcessor()));
    f->setLinkage(llvm::GlobalValue::ExternalLinkage);
    symbol = f->getName().str();
    report = {};
    code = load(std::move(builder), &report);
    code->symbol(symbol);
    compile.push_back((now() - begin) * 1e3);
  }
  auto* run = code->function<GemmFunction>(symbol);
  const int64_t lda = row.stride ? row.stride : s.transposedA ? s.m : s.k;
  const int64_t ldb = row.stride ? row.stride : s.transposedB ? s.k : s.n;
  const int64_t ldc = row.stride ? row.stride : s.n;
  const GemmPlan plan = planGemm(s, hostProcessor());
  Memory a((s.transposedA ? s.k : s.m) * lda * storage_bytes(s.a)),
      b((s.transposedB ? s.n : s.k) * ldb * storage_bytes(s.b));
  Memory c(s.m * ldc * 4), workspace(plan.packedBytes);
  const double operations = 2. * s.m * s.n * s.k;
  run(a.data, lda, b.data, ldb, c.data, ldc, workspace.data);
  double once = now();
  run(a.data, lda, b.data, ldb, c.data, ldc, workspace.data);
  once = now() - once;
  const int repeats = std::max(1, static_cast<int>(2e-3 / once));
  struct Round {
    double before, after, ratio;
  };
  std::vector<Round> rounds;
  double before = rateOf(limit);
  for (const double end = now() + seconds; now() < end || rounds.size() < 5;) {
    const double begin = now();
    for (int i = 0; i < repeats; ++i) run(a.data, lda, b.data, ldb, c.data, ldc, workspace.data);
    const double rate = operations * repeats / (now() - begin);
    const double after = rateOf(limit);
    rounds.push_back({before, after, 2 * rate / (before + after)});
    before = after;
  }
  std::vector<double> valid, all, limits;
  for (const Round& r : rounds) limits.push_back(r.after);
  const double usual = median(limits);
  for (const Round& r : rounds) {
    all.push_back(r.ratio);
    const double low = std::min(r.before, r.after), high = std::max(r.before, r.after);
    if (low >= (1 - kTolerance) * high && low >= (1 - 2 * kTolerance) * usual) valid.push_back(r.ratio);
  }
  std::printf("%-26s %6.3f %6.3f  %4zu of %4zu  %7.1f G/s  %5.1f ms %6lld bytes  %dx%d %lldx%lldx%lld\n",
              row.name.c_str(), median(valid), median(all), valid.size(), all.size(), usual * 1e-9,
              median({compile.begin() + 1, compile.end()}), static_cast<long long>(report.objectBytes), plan.tileRows,
              plan.tileColumns, static_cast<long long>(plan.blockRows), static_cast<long long>(plan.blockColumns),
              static_cast<long long>(plan.blockDepth));
  std::fflush(stdout);
}

std::vector<Row> allRows() {
  std::vector<Row> rows;
  for (const int64_t n : {512, 1024, 1920, 2048, 3840, 4096}) rows.push_back({"f32 " + std::to_string(n), {n, n, n}});
  for (const int64_t n : {128, 192, 256}) {
    rows.push_back({"f32 block " + std::to_string(n), {n, n, n}});
    for (const int64_t stride : {1024, 4096})
      rows.push_back({"f32 block " + std::to_string(n) + " ld " + std::to_string(stride), {n, n, n}, stride});
    rows.push_back({"f32 block add " + std::to_string(n), {.m = n, .n = n, .k = n, .accumulate = true}});
    rows.push_back({"f32 block bt " + std::to_string(n), {.m = n, .n = n, .k = n, .transposedB = true}});
    rows.push_back({"f32 block at " + std::to_string(n), {.m = n, .n = n, .k = n, .transposedA = true}});
  }
  for (const int64_t m : {1, 8, 16, 32, 64}) rows.push_back({"f32 rows " + std::to_string(m), {m, 128, 128}});
  rows.push_back({"f32 rows 8 deep", {8, 1024, 1024}});
  rows.push_back({"f32 rows 8 deep ld 4096", {8, 1024, 1024}, 4096});
  rows.push_back({"f32 bt 1024", {.m = 1024, .n = 1024, .k = 1024, .transposedB = true}});
  rows.push_back({"f32 at 1024", {.m = 1024, .n = 1024, .k = 1024, .transposedA = true}});
  rows.push_back({"f32 qk 256x512x64", {.m = 256, .n = 512, .k = 64, .transposedB = true}});
  for (const int64_t n : {128, 256, 512, 1024, 2048, 4096})
    rows.push_back({"bf16 " + std::to_string(n), {n, n, n, DType::bf16, DType::bf16}});
  rows.push_back({"bf16 rows 8", {8, 128, 128, DType::bf16, DType::bf16}});
  for (const int64_t n : {128, 256, 512, 1024, 2048, 4096})
    rows.push_back({"i8 " + std::to_string(n), {n, n, n, DType::i8, DType::i8, DType::i32}});
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const Processor& p = hostProcessor();
  const bench::Arithmetic f32 = bench::fmaLoop(), i8 = bench::int8DotLoop() ? bench::int8DotLoop() : f32;
  const bench::Arithmetic bf16 = p.fastBf16Dot ? bench::bf16DotLoop() : f32;
  std::printf("%s: f32 %.1f G/s\n", p.name.c_str(), rateOf(f32) * 1e-9);
  std::printf("%-26s %6s %6s  %12s  %11s  %8s\n", "", "valid", "all", "rounds", "limit", "compile");
  for (const Row& row : allRows()) {
    bool wanted = argc <= 2;
    for (int i = 2; i < argc; ++i) wanted |= row.name.starts_with(argv[i]);
    if (!wanted) continue;
    measure(row, row.shape.a == DType::bf16 ? bf16 : row.shape.a == DType::i8 ? i8 : f32, seconds);
  }
}
