#include "OpSamples.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "eval/FloatFormats.h"
#include "machine/FlatProgram.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace smalti::cpu::testing {
namespace {

const std::vector<std::string> kAll{"f32",       "bf16", "f16", "f8e5m2", "f8e4m3fn", "f8e4m3b11fnuz",
                                    "f8e8m0fnu", "i32",  "i16", "i8",     "i4"};
const std::vector<std::string> kFloats{"f32", "bf16", "f16", "f8e5m2", "f8e4m3fn"};
const std::vector<std::string> kIntegers{"i32", "i16", "i8", "i4"};

using Samples = std::vector<OpSample>;

std::string v(const SampleValue& value) { return vectorOf(value.dtype, value.shape); }

void moves(Samples& all) {
  for (const std::string& t : kAll) {
    const SampleValue a{t, {9, 130}}, b{t, {9, 5}}, turned{t, {130, 9}}, joined{t, {9, 135}}, deep{t, {3, 18, 33}};
    all.push_back({"vector.load", t, {a}, a, "$r = vector.shape_cast $0 : " + v(a) + " to " + v(a)});
    all.push_back({"tpu.transpose", t, {a}, turned, "$r = tpu.transpose $0, [1, 0] : " + v(a) + " -> " + v(turned)});
    for (const auto& [order, shape] : std::vector<std::pair<std::string, Shape>>{
             {"[0, 2, 1]", {3, 33, 18}}, {"[1, 0, 2]", {18, 3, 33}}, {"[2, 1, 0]", {33, 18, 3}}}) {
      const SampleValue out{t, shape};
      all.push_back(
          {"tpu.transpose", t, {deep}, out, "$r = tpu.transpose $0, " + order + " : " + v(deep) + " -> " + v(out)});
    }
    all.push_back({"tpu.concatenate",
                   t,
                   {a, b},
                   joined,
                   "$r = tpu.concatenate $0, $1 in 1 : " + v(a) + ", " + v(b) + " -> " + v(joined)});
    const SampleValue long1{t, {1170}}, row{t, {130}}, part{t, {4, 50}}, every{t, {5, 43}};
    all.push_back({"vector.shape_cast", t, {a}, long1, "$r = vector.shape_cast $0 : " + v(a) + " to " + v(long1)});
    all.push_back({"vector.extract", t, {a}, row, "$r = vector.extract $0[4] : " + v(row) + " from " + v(a)});
    all.push_back(
        {"vector.extract", t, {a}, {t, {}}, "$r = vector.extract $0[4, 129] : " + vectorOf(t, {}) + " from " + v(a)});
    all.push_back({"vector.extract_strided_slice",
                   t,
                   {a},
                   part,
                   "$r = vector.extract_strided_slice $0 {offsets = [5, 77], sizes = [4, 50], strides = [1, 1]} : " +
                       v(a) + " to " + v(part)});
    all.push_back({"vector.broadcast", t, {row}, a, "$r = vector.broadcast $0 : " + v(row) + " to " + v(a)});
    for (const auto& [amount, attributes] :
         std::vector<std::pair<int, std::string>>{{0, " dim 1"},
                                                  {5, " dim 1"},
                                                  {-3, " dim 0"},
                                                  {1000, " dim 1"},
                                                  {7, " dim 1 {stride = 3 : si32, stride_dimension = 0 : si32}"},
                                                  {-2, " dim 0 {stride = 4 : si32, stride_dimension = 1 : si32}"}})
      all.push_back({"tpu.dynamic_rotate",
                     t,
                     {a},
                     a,
                     fmt::format("$a = arith.constant {} : i32\n$r = tpu.dynamic_rotate $0 by $a{} : {}, i32 -> {}",
                                 amount, attributes, v(a), v(a))});
    for (const std::string index : {"i32", "i16", "i8"})
      for (const std::string dims : {"[0]", "[1]", "[0, 1]"}) {
        const SampleValue at{index, a.shape};
        all.push_back({"tpu.dynamic_gather",
                       t,
                       {a, at},
                       a,
                       "$r = tpu.dynamic_gather $0[$1] in " + dims + " : " + v(a) + ", " + v(at) + " -> " + v(a)});
      }
    for (const int axis : {0, 1})
      for (const std::string kind : {"arg_max", "arg_min"})
        for (const Shape& shape : {Shape{9, 130}, Shape{70, 3}, Shape{1, 1}}) {
          const SampleValue in{t, shape}, out{"i32", {shape[1 - static_cast<size_t>(axis)]}};
          all.push_back(
              {"tpu.reduce_index",
               t,
               {in},
               out,
               fmt::format("$r = tpu.reduce_index $0 {{axis = {} : i32, kind = #tpu.reduction_kind<{}>}} : {} -> {}",
                           axis, kind, v(in), v(out))});
        }
  }
}

void reductions(Samples& all) {
  const auto add = [&](const std::string& kind, const std::string& t, bool mild) {
    for (const auto& [dims, rest] : std::vector<std::pair<std::string, Shape>>{
             {"[2]", {4, 9}}, {"[1]", {4, 70}}, {"[0]", {9, 70}}, {"[1, 2]", {4}}, {"[0, 2]", {9}}}) {
      const SampleValue in{t, {4, 9, 70}}, out{t, rest};
      all.push_back({"vector.multi_reduction",
                     t,
                     {in, out},
                     out,
                     "$r = vector.multi_reduction <" + kind + ">, $0, $1 " + dims + " : " + v(in) + " to " + v(out),
                     mild});
      all.push_back({"vector.multi_reduction",
                     t,
                     {in},
                     out,
                     "$a = arith.constant dense<" + std::string(t[0] == 'i' ? "0" : "0.0") + "> : " + v(out) +
                         "\n$r = vector.multi_reduction <" + kind + ">, $0, $a " + dims + " : " + v(in) + " to " +
                         v(out),
                     mild});
    }
  };
  for (const std::string& t : kFloats) {
    for (const std::string kind : {"maximumf", "minimumf"}) add(kind, t, false);
    add("add", t, true);
  }
  for (const std::string& t : kIntegers)
    for (const std::string kind : {"add", "mul", "maxsi", "minsi", "maxui", "minui", "and", "or", "xor"})
      add(kind, t, false);
}

void bits(Samples& all) {
  const auto bitcast = [&](const std::string& from, const Shape& a, const std::string& to, const Shape& b) {
    const SampleValue in{from, a}, out{to, b};
    all.push_back({"tpu.bitcast", from + " → " + to, {in}, out, "$r = tpu.bitcast $0 : " + v(in) + " -> " + v(out)});
  };
  bitcast("f32", {8, 130}, "i32", {8, 130});
  bitcast("f32", {8, 130}, "bf16", {16, 130});
  bitcast("i32", {8, 130}, "i8", {32, 130});
  bitcast("i32", {8, 130}, "i4", {64, 130});
  bitcast("i16", {8, 130}, "f8e5m2", {16, 130});
  bitcast("bf16", {16, 130}, "f32", {8, 130});
  bitcast("i8", {32, 130}, "i32", {8, 130});
  bitcast("i4", {16, 130}, "i8", {8, 130});
  bitcast("f8e4m3fn", {32, 130}, "i16", {16, 130});
  const auto pack = [&](const std::string& from, const std::string& to, int parts, const std::string& type) {
    const SampleValue in{from, {8, 130}}, out{"i32", {8, 130}};
    std::string names, types;
    for (int k = 0; k < parts; ++k) {
      names += fmt::format("{}${}", k ? ", " : "", k % 2);
      types += (k ? ", " : "") + v(in);
    }
    all.push_back(
        {"tpu.pack_elementwise",
         from + " → " + to,
         {in, in},
         out,
         "$r = tpu.pack_elementwise " + names + " {target_type = " + type + "} : " + types + " -> " + v(out)});
  };
  pack("f32", "bf16", 2, "bf16");
  pack("f32", "f8e5m2", 4, "f8E5M2");
  pack("f32", "f8e4m3fn", 4, "f8E4M3FN");
  pack("i32", "i16", 2, "i16");
  pack("i32", "i8", 4, "i8");
  pack("i32", "i4", 8, "i4");
  const auto unpack = [&](const std::string& from, int index, const std::string& type, const std::string& to) {
    const SampleValue in{"i32", {8, 130}}, out{to, {8, 130}};
    all.push_back({"tpu.unpack_elementwise",
                   from + " → " + to,
                   {in},
                   out,
                   fmt::format("$r = tpu.unpack_elementwise $0, {} {{source_type = {}}} : {} -> {}", index, type, v(in),
                               v(out))});
  };
  unpack("bf16", 1, "bf16", "f32");
  unpack("f8e5m2", 3, "f8E5M2", "f32");
  unpack("f8e4m3fn", 0, "f8E4M3FN", "f32");
  unpack("i16", 1, "i16", "i32");
  unpack("i8", 2, "i8", "i32");
  unpack("i4", 7, "i4", "i32");
  for (const auto& [t, type] : std::vector<std::pair<std::string, std::string>>{
           {"bf16", ""}, {"f16", ""}, {"f8e5m2", ""}, {"f8e4m3fn", ""}, {"f8e4m3b11fnuz", ""}, {"i8", ""}}) {
    const SampleValue in{"f32", {8, 130}}, random{"i32", {8, 130}}, out{t, {8, 130}};
    all.push_back({"tpu.stochastic_convert",
                   "f32 → " + t,
                   {in, random},
                   out,
                   "$r = tpu.stochastic_convert $0, $1 : " + v(in) + ", " + v(random) + " -> " + v(out)});
  }
  for (const std::string t : {"f32", "bf16"})
    for (const auto& [exponent, mantissa] : {std::pair{5, 10}, {4, 3}, {8, 2}, {1, 0}, {11, 52}}) {
      const SampleValue x{t, {8, 130}};
      all.push_back({"tpu.reduce_precision",
                     t,
                     {x},
                     x,
                     fmt::format("$r = tpu.reduce_precision $0 {{exponent_bits = {} : i32, mantissa_bits = {} : i32}} "
                                 ": {} -> {}",
                                 exponent, mantissa, v(x), v(x))});
    }
  for (const std::string& t : kIntegers) {
    const SampleValue out{t, {20, 300}};
    for (const std::string dims : {"0", "1", "0, 1"})
      all.push_back({"tpu.iota", t, {}, out, "$r = tpu.iota {dimensions = array<i32: " + dims + ">} : " + v(out)});
  }
}

void choices(Samples& all) {
  const SampleValue chosen{"i32", {8, 130}}, bits{"i1", {8, 130}};
  for (const std::string& t : kAll) {
    const SampleValue x{t, {8, 130}};
    all.push_back({"arith.select",
                   t,
                   {chosen, x, x},
                   x,
                   "$a = arith.constant dense<0> : " + v(chosen) + "\n$b = arith.cmpi sgt, $0, $a : " + v(chosen) +
                       "\n$r = arith.select $b, $1, $2 : " + v(bits) + ", " + v(x)});
  }
  const SampleValue index{"index", {8, 130}};
  for (const std::string op : {"arith.index_cast", "arith.index_castui"})
    for (const std::string& t : kIntegers) {
      const SampleValue x{t, {8, 130}};
      all.push_back(
          {op,
           t,
           {x},
           x,
           "$a = " + op + " $0 : " + v(x) + " to " + v(index) + "\n$r = " + op + " $a : " + v(index) + " to " + v(x)});
    }
  all.push_back(
      {"tpu.assume_multiple",
       "i32",
       {},
       chosen,
       "$a = arith.constant 8 : i32\n$b = tpu.assume_multiple $a, 8 : i32\n$r = vector.broadcast $b : i32 to " +
           v(chosen)});
}

void products(Samples& all) {
  const auto add = [&](const std::string& in, const std::string& out, const std::string& dims, const Shape& l,
                       const Shape& r) {
    const SampleValue lhs{in, l}, rhs{in, r}, acc{out, {24, 40}};
    all.push_back({"tpu.matmul",
                   in + " → " + out,
                   {lhs, rhs, acc},
                   acc,
                   "$r = tpu.matmul $0, $1, $2 {dimension_numbers = #tpu.dot_dimension_numbers<" + dims +
                       ">, transpose_lhs_hint = false} : " + v(lhs) + ", " + v(rhs) + ", " + v(acc) + " -> " + v(acc),
                   true});
  };
  for (const auto& [in, out] : std::vector<std::pair<std::string, std::string>>{{"f32", "f32"},
                                                                                {"bf16", "f32"},
                                                                                {"bf16", "bf16"},
                                                                                {"f16", "f32"},
                                                                                {"f8e5m2", "f32"},
                                                                                {"f8e4m3fn", "f32"},
                                                                                {"i8", "i32"},
                                                                                {"i4", "i32"},
                                                                                {"i8", "f32"}}) {
    add(in, out, "[1], [0], [0], [1], [0, 0, 1, 1], [], []", {24, 50}, {50, 40});
    add(in, out, "[1], [1], [0], [0], [0, 0, 1, 0], [], []", {24, 50}, {40, 50});
    add(in, out, "[0], [0], [1], [1], [0, 1, 1, 1], [], []", {50, 24}, {50, 40});
  }
}

void convolutions(Samples& all) {
  for (const auto& [in, out] : std::vector<std::pair<std::string, std::string>>{{"f32", "f32"},
                                                                                {"bf16", "f32"},
                                                                                {"bf16", "bf16"},
                                                                                {"f16", "f32"},
                                                                                {"f8e5m2", "f32"},
                                                                                {"f8e4m3fn", "f32"},
                                                                                {"i8", "i32"},
                                                                                {"i8", "i8"},
                                                                                {"i4", "i32"}}) {
    const SampleValue lhs{in, {2, 9, 11, 6}}, rhs{in, {3, 2, 6, 20}}, acc{out, {2, 9, 5, 20}};
    all.push_back({"tpu.conv",
                   in + " → " + out,
                   {lhs, rhs, acc},
                   acc,
                   "$r = tpu.conv $0, $1, $2 {dimension_numbers = #tpu.conv_dimension_numbers<0, 3, [1, 2], 2, 3, "
                   "[0, 1], 0, 3, [1, 2]>, lhs_dilation = array<i64: 1, 1>, padding = array<i64: 1, 1, 0, 0>, "
                   "rhs_dilation = array<i64: 1, 2>, window_reversal = array<i1: false, true>, "
                   "window_strides = array<i64: 1, 2>} : " +
                       v(lhs) + ", " + v(rhs) + ", " + v(acc) + " -> " + v(acc),
                   true});
  }
}

}  // namespace

std::string vectorOf(const std::string& dtype, const Shape& shape) {
  std::string element = dtype;
  if (element.starts_with("f8"))
    std::transform(element.begin() + 1, element.end(), element.begin() + 1,
                   [](unsigned char c) { return std::toupper(c); });
  return shape.empty() ? element : fmt::format("vector<{}x{}>", fmt::join(shape, "x"), element);
}

Array sampleNumbers(DType t, const Shape& shape, uint64_t seed, bool mild) {
  std::mt19937_64 random(seed);
  auto a = Array::allocate({t, shape}).value();
  const int bytes = storage_bytes(t), bits = bit_width(t);
  static constexpr uint32_t kFloats[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000,
                                         0xbf800000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff,
                                         0x4f000000, 0xcf000000, 0x4f800000, 0x3f000000, 0x3fc00000, 0x40200000};
  for (int64_t i = 0; i < a.elements(); ++i) {
    uint64_t v = random();
    if (mild) {
      eval::elementFromDouble(t, static_cast<double>(random() % 7) - 3, a.data() + i * bytes);
      continue;
    }
    if (t == DType::f32) {
      if (random() % 10 == 0) v = kFloats[random() % std::size(kFloats)];
      if (random() % 2) {  // of moderate size
        const float f = static_cast<float>(static_cast<int64_t>(random() % 2000001) - 1000000) / 65536.0f;
        v = std::bit_cast<uint32_t>(f);
      }
    } else if (t == DType::bf16 && random() % 10 == 0) {
      v = kFloats[random() % std::size(kFloats)] >> 16;
    } else if (is_integer(t) && random() % 4 == 0) {
      v = random() % 5 == 0 ? uint64_t{1} << (bits - 1) : static_cast<uint64_t>(static_cast<int64_t>(random() % 7) - 3);
    }
    if (t == DType::pred) v &= 1;
    if (bits < 8 && t != DType::pred) {
      const int shift = 64 - bits;
      v = static_cast<uint64_t>(static_cast<int64_t>(v << shift) >> shift);
      if (is_float(t)) v &= (uint64_t{1} << bits) - 1;
    }
    std::memcpy(a.data() + i * bytes, &v, static_cast<size_t>(bytes));
  }
  return a;
}

std::string apart(const Array& a, const Array& b, int64_t ulp) {
  const DType t = a.dtype();
  const int bytes = storage_bytes(t);
  for (int64_t i = 0; i < a.elements(); ++i) {
    const std::byte *p = a.data() + i * bytes, *q = b.data() + i * bytes;
    if (std::memcmp(p, q, static_cast<size_t>(bytes)) == 0) continue;
    const double x = eval::elementAsDouble(t, p), y = eval::elementAsDouble(t, q);
    if (is_float(t)) {
      if (std::isnan(x) && std::isnan(y)) continue;
      // Of narrow floats consecutiveRowsOfB, where the f32 before the rounding differs.
      const double unit = t == DType::f32 ? 0x1p-23 : t == DType::bf16 ? 0x1p-7 : t == DType::f16 ? 0x1p-10 : 0x1p-2;
      const double most = static_cast<double>(t == DType::f32 ? ulp : std::min<int64_t>(ulp, 1)) * unit;
      const double least = t == DType::f16 || t == DType::f8e5m2 ? 0x1p-14 : bytes == 1 ? 0x1p-6 : 0x1p-126;
      if (std::isfinite(x) && std::isfinite(y) && std::abs(x - y) <= most * std::max({std::abs(x), std::abs(y), least}))
        continue;
    }
    return fmt::format("element {}: {} natively, {} on the machine", i, x, y);
  }
  return "";
}

const std::vector<OpSample>& opSamples() {
  static const Samples kSamples = [] {
    Samples all;
    moves(all);
    reductions(all);
    bits(all);
    choices(all);
    products(all);
    convolutions(all);
    return all;
  }();
  return kSamples;
}

bool accepted(const std::string& text) {
  static const auto context = makeContext();
  mlir::ScopedDiagnosticHandler quiet(context.get(), [](mlir::Diagnostic&) { return mlir::success(); });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  return module && machine::compile(*module->getOps<mlir::func::FuncOp>().begin(), {});
}

std::vector<Val> addOperands(TextKernel& k, const OpSample& sample) {
  std::vector<Val> operands;
  for (const SampleValue& in : sample.in) operands.push_back(k.input({.dtype = in.dtype, .array = in.shape}));
  return operands;
}

void addSample(TextKernel& k, const OpSample& sample, std::vector<Val> operands) {
  for (Val& o : operands) o = k.load(o);
  const Val result = k.fresh(vectorOf(sample.out.dtype, sample.out.shape));
  std::string lines;
  std::map<char, std::string> own;
  for (size_t i = 0; i < sample.lines.size(); ++i) {
    if (sample.lines[i] != '$') {
      lines += sample.lines[i];
      continue;
    }
    const char name = sample.lines[++i];
    if (name == 'r') {
      lines += result.name;
    } else if (name >= '0' && name <= '9') {
      lines += operands[static_cast<size_t>(name - '0')].name;
    } else {
      if (own[name].empty()) own[name] = k.fresh("").name;
      lines += own[name];
    }
  }
  k.raw(lines);
  const Shape shape = sample.out.shape.empty() ? Shape{1, 1} : sample.out.shape;
  k.store(sample.out.shape.empty() ? k.splat(result, shape) : result,
          k.output({.dtype = sample.out.dtype, .array = shape}));
}

}  // namespace smalti::cpu::testing
