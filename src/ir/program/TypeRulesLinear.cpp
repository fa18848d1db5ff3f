// Rules of convolution, fft, and of factors of matrices.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/facts/ConvShapes.h"
#include "ir/program/TypeRules.h"

namespace smalti::rules {
namespace {

std::string matrices(const ArrayType& t, std::string_view what) {
  if (!is_float(t.dtype) && !is_complex(t.dtype)) return fmt::format("takes floats, not {}", name(t.dtype));
  const size_t rank = t.shape.size();
  if (rank < 2 || t.shape[rank - 2] != t.shape[rank - 1])
    return fmt::format("{} must be square matrices, but is {}", what, t.str());
  return "";
}

}  // namespace

std::string convolution(const TypedOp& op) {
  const bool floats = is_float(op.operand(0).dtype) && is_float(op.operand(1).dtype);
  const bool integers = is_integer(op.operand(0).dtype) && is_integer(op.operand(1).dtype);
  const bool complex = is_complex(op.result().dtype) && op.operand(0).dtype == op.result().dtype &&
                       op.operand(1).dtype == op.result().dtype;
  if (!complex && !(floats && is_float(op.result().dtype)) && !(integers && is_integer(op.result().dtype)))
    return fmt::format("convolves {} with {} to {}: floats give floats, integers integers", op.operand(0).str(),
                       op.operand(1).str(), op.result().str());
  const auto spatial = op.integers("input_spatial_dimensions");
  const Shape strides = op.entries("window_strides", spatial.size(), 1);
  const Shape padding = op.entries("padding", 2 * spatial.size(), 0);
  const Shape lhsDilation = op.entries("lhs_dilation", spatial.size(), 1);
  const Shape rhsDilation = op.entries("rhs_dilation", spatial.size(), 1);
  const ConvShapes shapes{.lhs = op.operand(0).shape,
                          .rhs = op.operand(1).shape,
                          .result = op.result().shape,
                          .lhsBatch = op.integer("input_batch_dimension"),
                          .lhsFeature = op.integer("input_feature_dimension"),
                          .rhsInput = op.integer("kernel_input_feature_dimension"),
                          .rhsOutput = op.integer("kernel_output_feature_dimension"),
                          .resultBatch = op.integer("output_batch_dimension"),
                          .resultFeature = op.integer("output_feature_dimension"),
                          .lhsSpatial = spatial,
                          .rhsSpatial = op.integers("kernel_spatial_dimensions"),
                          .resultSpatial = op.integers("output_spatial_dimensions"),
                          .strides = strides,
                          .padding = padding,
                          .lhsDilation = lhsDilation,
                          .rhsDilation = rhsDilation,
                          .reversals = static_cast<int64_t>(op.entries("window_reversal", spatial.size(), 0).size()),
                          .featureGroups = op.integer("feature_group_count", 1),
                          .batchGroups = op.integer("batch_group_count", 1),
                          .mayBeEmpty = true};
  Shape expected;
  if (auto wrong = resultOf(shapes, expected); !wrong.empty()) return wrong;
  op.infer(0, expected);
  return misfit(shapes);
}

std::string cholesky(const TypedOp& op) {
  if (auto wrong = matrices(op.operand(0), "the operand"); !wrong.empty()) return wrong;
  return sameType(op);
}

std::string triangularSolve(const TypedOp& op) {
  const ArrayType &a = op.operand(0), &b = op.operand(1);
  if (auto wrong = matrices(a, "a"); !wrong.empty()) return wrong;
  op.infer(0, b.shape);
  if (b != op.result()) return fmt::format("solves {} for {}: they must be equal", b.str(), op.result().str());
  const std::string_view transpose = op.text("transpose_a");
  if (transpose != "NO_TRANSPOSE" && transpose != "TRANSPOSE" && transpose != "ADJOINT")
    return fmt::format("transpose_a is {}, not one of NO_TRANSPOSE, TRANSPOSE, ADJOINT", transpose);
  const size_t rank = a.shape.size();
  const bool left = op.boolean("left_side");
  const bool fits = b.dtype == a.dtype && b.shape.size() == rank &&
                    std::equal(a.shape.begin(), a.shape.end() - 2, b.shape.begin()) &&
                    b.shape[left ? rank - 2 : rank - 1] == a.shape[rank - 1];
  if (fits) return "";
  return fmt::format("a is {}, b {}: their matrices do not fit with a on the {}", a.str(), b.str(),
                     left ? "left" : "right");
}

/// Along the last dimensions, as many as there are lengths.
std::string fft(const TypedOp& op) {
  const std::string_view type = op.text("fft_type");
  const ArrayType &in = op.operand(0), &out = op.result();
  const auto lengths = op.integers("fft_length");
  if (type != "FFT" && type != "IFFT" && type != "RFFT" && type != "IRFFT")
    return fmt::format("fft_type is {}, not one of FFT, IFFT, RFFT, IRFFT", type);
  if (lengths.empty() || lengths.size() > 3 || lengths.size() > in.shape.size())
    return fmt::format("transforms {} dimensions of {}", lengths.size(), in.str());
  const bool fromReal = type == "RFFT", toReal = type == "IRFFT";
  const DType complex = part_of(fromReal ? in.dtype : out.dtype) == DType::f64 ? DType::c128 : DType::c64;
  const DType from = fromReal ? part_of(complex) : complex, to = toReal ? part_of(complex) : complex;
  Shape transformed = in.shape;
  for (size_t d = 0; d < lengths.size(); ++d) transformed[in.shape.size() - lengths.size() + d] = lengths[d];
  if (fromReal) transformed.back() = lengths.back() == 0 ? 0 : lengths.back() / 2 + 1;
  op.infer(0, transformed);
  Shape whole = fromReal ? in.shape : out.shape;
  Shape half = whole;
  bool fits =
      whole.size() == in.shape.size() && whole.size() == out.shape.size() && in.dtype == from && out.dtype == to;
  for (size_t d = 0; fits && d < lengths.size(); ++d) fits = whole[whole.size() - lengths.size() + d] == lengths[d];
  if (fits && (fromReal || toReal)) half.back() = lengths.back() == 0 ? 0 : lengths.back() / 2 + 1;
  fits = fits && (toReal ? in.shape : out.shape) == half;
  if (fits) return "";
  return fmt::format("{} of lengths [{}] does not turn {} into {}", type, fmt::join(lengths, ", "), in.str(),
                     out.str());
}

/// batch × m × n; `why` says what is wrong.
struct Matrices {
  Shape batch{};
  int64_t m = 0, n = 0;
  std::string why{};

  explicit Matrices(const ArrayType& t) {
    if (!is_float(t.dtype) && !is_complex(t.dtype)) {
      why = fmt::format("takes floats, not {}", name(t.dtype));
    } else if (t.shape.size() < 2) {
      why = fmt::format("takes matrices, not {}", t.str());
    } else {
      batch.assign(t.shape.begin(), t.shape.end() - 2);
      m = t.shape[t.shape.size() - 2], n = t.shape.back();
    }
  }
  ArrayType vectors(DType dtype, int64_t length) const {
    Shape shape = batch;
    shape.push_back(length);
    return {dtype, shape};
  }
};

std::string resultsAre(const TypedOp& op, const std::vector<ArrayType>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) op.infer(static_cast<int>(i), expected[i].shape);
  for (size_t i = 0; i < expected.size(); ++i)
    if (const ArrayType& have = op.result(static_cast<int>(i)); have != expected[i])
      return fmt::format("has result {} of type {}, not {}", i, have.str(), expected[i].str());
  return "";
}

/// The eigenvectors in columns, the eigenvalues.
std::string eigh(const TypedOp& op) {
  const ArrayType& a = op.operand(0);
  if (auto wrong = matrices(a, "the operand"); !wrong.empty()) return wrong;
  const Matrices of(a);
  return resultsAre(op, {a, of.vectors(is_complex(a.dtype) ? part_of(a.dtype) : a.dtype, of.n)});
}

/// L and U in one matrix, the row that each row was exchanged with, the permutation of the rows that follows.
std::string luDecomposition(const TypedOp& op) {
  const ArrayType& a = op.operand(0);
  const Matrices of(a);
  if (!of.why.empty()) return of.why;
  return resultsAre(op, {a, of.vectors(DType::i32, std::min(of.m, of.n)), of.vectors(DType::i32, of.m)});
}

/// R above the reflectors in one matrix, the factors of the reflectors.
std::string qr(const TypedOp& op) {
  const ArrayType& a = op.operand(0);
  const Matrices of(a);
  if (!of.why.empty()) return of.why;
  return resultsAre(op, {a, of.vectors(a.dtype, std::min(of.m, of.n))});
}

std::string householderProduct(const TypedOp& op) {
  const ArrayType &a = op.operand(0), &factors = op.operand(1);
  const Matrices of(a);
  if (!of.why.empty()) return of.why;
  const int64_t count = factors.shape.empty() ? -1 : factors.shape.back();
  if (count < 0 || count > of.n || of.n > of.m || factors != of.vectors(a.dtype, count))
    return fmt::format("a is {}, the factors {}: as many as a has columns at most, and no more columns than rows",
                       a.str(), factors.str());
  return resultsAre(op, {a});
}

}  // namespace smalti::rules
