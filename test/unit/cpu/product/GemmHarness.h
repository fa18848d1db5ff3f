// Matrix products compiled and run on operands that end where a page ends, and the same products by a plain loop.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/jit/Jit.h"
#include "cpu/product/gemm/Gemm.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {

/// Bytes up to the end of a page after which nothing may be touched.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes) {
    const size_t page = sysconf(_SC_PAGESIZE);
    mapped_ = (bytes + page - 1) / page * page + page;
    base_ = static_cast<char*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + mapped_ - page, page, PROT_NONE);
    data_ = base_ + mapped_ - page - bytes;
  }
  ~Guarded() { munmap(base_, mapped_); }
  Guarded(const Guarded&) = delete;
  char* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  size_t bytes_, mapped_;
  char *base_, *data_;
};

using GemmFunction = void(const void*, int64_t, const void*, int64_t, void*, int64_t, void*);

struct CompiledGemm {
  std::shared_ptr<const LoadedCode> code;
  GemmFunction* run = nullptr;

  /// With the parameters that kept operands and added rows bring.
  template <class Signature>
  Signature* as() const {
    return reinterpret_cast<Signature*>(reinterpret_cast<void*>(run));
  }
};

inline Result<std::string> gemmObject(const GemmShape& shape, const Processor& processor, std::string& symbol) {
  ModuleBuilder builder(processor, "gemm");
  llvm::Function* f = emitGemm(*builder.module, planGemm(shape, processor));
  f->setLinkage(llvm::GlobalValue::ExternalLinkage);
  symbol = f->getName().str();
  return generateObject(std::move(builder), processor);
}

inline CompiledGemm compileGemm(const GemmShape& shape, const Processor& processor = hostProcessor()) {
  std::string symbol;
  auto object = gemmObject(shape, processor, symbol);
  if (!object) {
    ADD_FAILURE() << object.error().str();
    return {};
  }
  auto code = loadObject(*object, {});
  if (!code) {
    ADD_FAILURE() << code.error().str();
    return {};
  }
  CompiledGemm compiled{*code};
  compiled.run = compiled.code->function<GemmFunction>(symbol);
  EXPECT_NE(compiled.run, nullptr);
  return compiled;
}

inline double elementOf(const char* p, DType type) {
  switch (type) {
    case DType::i8:
      return *reinterpret_cast<const int8_t*>(p);
    case DType::u8:
      return *reinterpret_cast<const uint8_t*>(p);
    case DType::i32: {
      int32_t v;
      std::memcpy(&v, p, 4);
      return v;
    }
    case DType::f32: {
      float v;
      std::memcpy(&v, p, 4);
      return v;
    }
    default:
      break;
  }
  uint16_t bits;
  std::memcpy(&bits, p, 2);
  if (type == DType::bf16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  _Float16 half = std::bit_cast<_Float16>(bits);
  return static_cast<double>(half);
}

inline void setElement(char* p, DType type, float value) {
  if (type == DType::f32) std::memcpy(p, &value, 4);
  if (type == DType::i32) {
    const auto v = static_cast<int32_t>(value);
    std::memcpy(p, &v, 4);
  }
  if (type == DType::bf16) {
    const auto bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
    std::memcpy(p, &bits, 2);
  }
  if (type == DType::f16) {
    const auto half = static_cast<_Float16>(value);
    std::memcpy(p, &half, 2);
  }
  if (type == DType::i8 || type == DType::u8) *p = static_cast<char>(static_cast<int>(value));
}

/// A matrix whose rows are `stride` elements apart; the last row ends with its last element.
struct Matrix {
  int64_t rows, columns, stride;
  DType type;
  Guarded memory;
  Matrix(int64_t r, int64_t c, int64_t extra, DType t)
      : rows(r),
        columns(c),
        stride(c + extra),
        type(t),
        memory(r && c ? ((r - 1) * (c + extra) + c) * storage_bytes(t) : 0) {
    std::memset(memory.data(), 0x5a, memory.size());
  }
  char* at(int64_t i, int64_t j) const { return memory.data() + (i * stride + j) * storage_bytes(type); }
  double value(int64_t i, int64_t j) const { return elementOf(at(i, j), type); }
};

/// Operands of one product, filled at random; integers over their whole range.
struct GemmCase {
  GemmShape shape;
  Matrix a, b, c;
  GemmCase(const GemmShape& s, int64_t extra, unsigned seed)
      : shape(s),
        a(s.transposedA ? s.k : s.m, s.transposedA ? s.m : s.k, extra, s.a),
        b(s.transposedB ? s.n : s.k, s.transposedB ? s.k : s.n, extra, s.b),
        c(s.m, s.n, extra, s.c) {
    std::mt19937 engine(seed);
    fill(a, engine);
    fill(b, engine);
    fill(c, engine);
  }
  static void fill(const Matrix& x, std::mt19937& engine) {
    std::normal_distribution<float> normal;
    std::uniform_int_distribution<int> bytes(x.type == DType::u8 ? 0 : -128, x.type == DType::u8 ? 255 : 127);
    for (int64_t i = 0; i < x.rows; ++i)
      for (int64_t j = 0; j < x.columns; ++j)
        setElement(x.at(i, j), x.type, is_float(x.type) ? normal(engine) : static_cast<float>(bytes(engine)));
  }
  double left(int64_t i, int64_t k) const { return shape.transposedA ? a.value(k, i) : a.value(i, k); }
  double right(int64_t k, int64_t j) const { return shape.transposedB ? b.value(j, k) : b.value(k, j); }

  /// Runs the product and compares every element of C, and every byte between its rows.
  void check(GemmFunction* run, const Processor& processor = hostProcessor()) {
    std::vector<char> before(c.memory.data(), c.memory.data() + c.memory.size());
    const size_t bytes = planGemm(shape, processor).packedBytes;
    Guarded workspace((bytes + 63) / 64 * 64);
    std::memset(workspace.data(), 0xff, workspace.size());  // NaN: what was not written must not be used
    run(a.memory.data(), a.stride, b.memory.data(), b.stride, c.memory.data(), c.stride, workspace.data());
    int wrong = 0;
    for (int64_t i = 0; i < shape.m; ++i) {
      for (int64_t j = 0; j < shape.n; ++j) {
        const double old = shape.accumulate ? elementOf(before.data() + (c.at(i, j) - c.memory.data()), shape.c) : 0;
        double sum = old, size = std::abs(old);
        for (int64_t k = 0; k < shape.k; ++k) {
          sum += left(i, k) * right(k, j);
          size += std::abs(left(i, k) * right(k, j));
        }
        const double got = c.value(i, j);
        if (shape.c == DType::i32)
          wrong += static_cast<int32_t>(static_cast<int64_t>(sum)) != static_cast<int32_t>(got);
        else
          wrong += !(std::abs(got - sum) <= 1e-5 * size + 1e-30);
      }
      if (i + 1 < shape.m)
        wrong += std::memcmp(c.at(i, shape.n), before.data() + (c.at(i, shape.n) - c.memory.data()),
                             (c.stride - c.columns) * storage_bytes(c.type)) != 0;
    }
    EXPECT_EQ(wrong, 0) << shape.m << "x" << shape.n << "x" << shape.k << " " << name(shape.a) << " " << name(shape.b)
                        << " ta " << shape.transposedA << " tb " << shape.transposedB << " add " << shape.accumulate
                        << " stride + " << c.stride - c.columns;
  }
};

}  // namespace smalti::cpu
