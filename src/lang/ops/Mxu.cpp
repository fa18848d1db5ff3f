// Explicit use of the matrix unit.
#include "smalti/ops/tpu.h"

#include <fmt/format.h>

#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Support.h"

namespace smalti::lang {
namespace {

void lowerMatrixUnit(DialectLowering& l, const Op& op) {
  std::vector<mlir::NamedAttribute> attributes;
  for (const char* name : {"acc", "mxu_index", "staging_register", "load_staged_rhs"})
    copyInteger(l, op, name, attributes);
  if (const Attribute* transpose = op.find("transpose"))
    attributes.push_back(l.b.getNamedAttr("transpose", l.b.getBoolAttr(std::get<bool>(*transpose))));
  const std::string name = "tpu." + op.name;
  if (op.results.empty())
    l.create(name, valuesOf(l, op.operands), {}, attributes);
  else
    l.set(op.results[0], emitOne(l, op, name, attributes));
}

constexpr OpTable kMxuOps{
    OpRecord{.name = "matmul_acc_lhs", .types = noResults, .lower = lowerMatrixUnit, .effect = true},
    OpRecord{.name = "matmul_lhs_fifo", .types = noResults, .lower = lowerMatrixUnit, .effect = true},
    OpRecord{.name = "matmul_pop", .types = oneResult, .lower = lowerMatrixUnit, .effect = true},
    OpRecord{.name = "matmul_pop_fifo", .types = oneResult, .lower = lowerMatrixUnit, .effect = true},
    OpRecord{.name = "matmul_push_rhs", .types = noResults, .lower = lowerMatrixUnit, .effect = true},
};
const OpFamily kMxuFamily(kMxuOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {

using lang::SourceLocationScope;

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

/// Units, registers and accumulators are numbered from 0.
void checkNumber(std::string_view op, std::string_view what, int number) {
  if (number < 0)
    lang::refuse({.code = "SM6307",
                  .message = fmt::format("the {} of '{}' is below 0", what, op),
                  .place = {},
                  .need = "0 or more",
                  .have = fmt::format("{}", number),
                  .help = "count from 0"});
}

void feed(const lang::OpRecord& op, const Operand& lhs, int mxu_index, std::optional<int> load,
          lang::Attributes more = {}) {
  SourceLocationScope place(lhs.at());
  checkMatrix(op.name, lhs.shape());
  checkNumber(op.name, "matrix unit", mxu_index);
  if (load) checkNumber(op.name, "staging register", *load);
  more.emplace_back("mxu_index", int64_t{mxu_index});
  if (load) more.emplace_back("load_staged_rhs", int64_t{*load});
  const Array a = lhs.array();
  lang::bind(op, {&a, 1}, {}, std::move(more));
}

Array pop(const lang::OpRecord& op, Shape shape, DType dtype, int mxu_index, lang::Attributes attributes) {
  checkMatrix(op.name, shape);
  checkNumber(op.name, "matrix unit", mxu_index);
  attributes.emplace_back("mxu_index", int64_t{mxu_index});
  if (dtype != DType::f32 && dtype != DType::i32) lang::refuseDType(op.name, dtype, "f32 or i32 accumulators");
  return lang::bind1(op, {}, {dtype, std::move(shape)}, std::move(attributes));
}

}  // namespace

void matmul_push_rhs(const Operand& rhs, int staging_register, int mxu_index, bool transpose) {
  SourceLocationScope place(rhs.at());
  checkNumber("matmul_push_rhs", "staging register", staging_register);
  feed(lang::kMxuOps["matmul_push_rhs"], rhs, mxu_index, {},
       {{"staging_register", int64_t{staging_register}}, {"transpose", transpose}});
}
void matmul_acc_lhs(int acc_addr, const Operand& lhs, int mxu_index, std::optional<int> load_staged_rhs) {
  SourceLocationScope place(lhs.at());
  checkNumber("matmul_acc_lhs", "accumulator", acc_addr);
  feed(lang::kMxuOps["matmul_acc_lhs"], lhs, mxu_index, load_staged_rhs, {{"acc", int64_t{acc_addr}}});
}
void matmul_lhs_fifo(const Operand& lhs, int mxu_index, std::optional<int> load_staged_rhs) {
  feed(lang::kMxuOps["matmul_lhs_fifo"], lhs, mxu_index, load_staged_rhs);
}
Array matmul_pop(int acc_addr, Shape shape, DType dtype, int mxu_index, Location at) {
  SourceLocationScope place(at);
  checkNumber("matmul_pop", "accumulator", acc_addr);
  return pop(lang::kMxuOps["matmul_pop"], std::move(shape), dtype, mxu_index, {{"acc", int64_t{acc_addr}}});
}
Array matmul_pop_fifo(Shape shape, DType dtype, int mxu_index, Location at) {
  SourceLocationScope place(at);
  return pop(lang::kMxuOps["matmul_pop_fifo"], std::move(shape), dtype, mxu_index, {});
}

}  // namespace smalti
