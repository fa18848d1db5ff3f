// The matrix unit by hand.
#include "lang/ops/Support.h"
#include "smalti/ops/tpu.h"

#include <fmt/format.h>

namespace smalti {

using lang::AtPlace;

namespace {

void checkMatrix(std::string_view op, const Shape& shape) {
  if (shape.size() != 2)
    lang::refuse({.code = "SM6304",
                  .message = fmt::format("'{}' works on matrices", op),
                  .place = {},
                  .need = "rank 2",
                  .have = fmt::format("rank {}", shape.size()),
                  .help = "reshape the value"});
}

void feed(std::string_view op, const Operand& lhs, int mxu_index, std::optional<int> load, lang::Attributes more = {}) {
  AtPlace place(lhs.at());
  checkMatrix(op, lhs.shape());
  more.emplace_back("mxu_index", int64_t{mxu_index});
  if (load) more.emplace_back("load_staged_rhs", int64_t{*load});
  const Array a = lhs.array();
  lang::bind(op, {&a, 1}, {}, std::move(more));
}

Array pop(std::string_view op, Shape shape, DType dtype, lang::Attributes attributes) {
  checkMatrix(op, shape);
  if (dtype != DType::f32 && dtype != DType::i32) lang::refuseDType(op, dtype, "f32 or i32 accumulators");
  return lang::bind1(op, {}, {dtype, std::move(shape)}, std::move(attributes));
}

}  // namespace

void matmul_push_rhs(const Operand& rhs, int staging_register, int mxu_index, bool transpose) {
  feed("matmul_push_rhs", rhs, mxu_index, {},
       {{"staging_register", int64_t{staging_register}}, {"transpose", transpose}});
}
void matmul_acc_lhs(int acc_addr, const Operand& lhs, int mxu_index, std::optional<int> load_staged_rhs) {
  feed("matmul_acc_lhs", lhs, mxu_index, load_staged_rhs, {{"acc", int64_t{acc_addr}}});
}
void matmul_lhs_fifo(const Operand& lhs, int mxu_index, std::optional<int> load_staged_rhs) {
  feed("matmul_lhs_fifo", lhs, mxu_index, load_staged_rhs);
}
Array matmul_pop(int acc_addr, Shape shape, DType dtype, int mxu_index, Location at) {
  AtPlace place(at);
  return pop("matmul_pop", std::move(shape), dtype, {{"acc", int64_t{acc_addr}}, {"mxu_index", int64_t{mxu_index}}});
}
Array matmul_pop_fifo(Shape shape, DType dtype, int mxu_index, Location at) {
  AtPlace place(at);
  return pop("matmul_pop_fifo", std::move(shape), dtype, {{"mxu_index", int64_t{mxu_index}}});
}

}  // namespace smalti
