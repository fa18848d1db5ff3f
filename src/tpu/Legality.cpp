#include "tpu/Legality.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "tpu/Vmem.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {

std::string_view name(Fits fits) {
  switch (fits) {
    case Fits::yes:
      return "yes";
    case Fits::no:
      return "no";
    case Fits::uncertain:
      return "uncertain";
  }
  return "";
}

void Judge::refuse(const Reason& why, mlir::Location at, Text text) const {
  std::vector<std::string> where{fmt::format("kernel '{}'", kernel.name), fmt::format("chip {}", chip.name)};
  where.insert(where.end(), text.where.begin(), text.where.end());
  out_.push_back({&why,
                  {.code = std::string(why.code),
                   .message = std::move(text.message),
                   .place = placeOf(at),
                   .where = std::move(where),
                   .need = std::move(text.need),
                   .have = std::move(text.have),
                   .help = std::move(text.help)}});
}

Verdict judge(const KernelPackage& kernel, const Chip& chip) {
  Verdict verdict;
  mlir::func::FuncOp f = kernel.kernelFunction();
  if (!f) return verdict;
  const Judge judge(kernel, chip, verdict.refusals);
  const std::span<const Rule> tables[]{typeRules(),  scalarRules(),     matmulRules(), indexRules(), reshapeRules(),
                                       maskRules(),  strideRules(),     gatherRules(), copyRules(),  controlRules(),
                                       blockRules(), generationRules(), queueRules(),  vmemRules(),  semaphoreRules()};
  f.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    for (const auto& table : tables)
      for (const Rule& rule : table)
        if (rule.onOp) rule.onOp(op, judge);
  });
  for (const auto& table : tables)
    for (const Rule& rule : table)
      if (rule.onKernel) rule.onKernel(judge);
  std::set<std::string> said;  // an unrolled loop repeats the ops of one line
  std::erase_if(verdict.refusals, [&](const Refusal& r) { return !said.insert(r.diagnostic.str()).second; });
  std::stable_sort(verdict.refusals.begin(), verdict.refusals.end(),
                   [](const Refusal& a, const Refusal& b) { return a.reason->stage < b.reason->stage; });
  const VmemMap vmem = vmemOf(kernel, chip);
  verdict.vmemBytes = vmem.bytes();
  verdict.fits = vmem.fits();
  // Some ops overflow VMEM with blocks of any size.
  const auto overflows = [](const Refusal& r) { return r.reason == &reason::kVmem; };
  if (verdict.fits == Fits::yes && llvm::any_of(verdict.refusals, overflows)) verdict.fits = Fits::no;
  return verdict;
}

namespace {

Status firstOf(std::vector<Diagnostic> found) {
  if (found.empty()) return {};
  Diagnostic d = std::move(found.front());
  d.related.assign(std::make_move_iterator(found.begin() + 1), std::make_move_iterator(found.end()));
  return fail(std::move(d));
}

}  // namespace

Result<std::vector<Diagnostic>> refusalsOf(const KernelPackage& kernel, std::string_view chips) {
  const auto found = findChips(chips);
  if (!found) return fail(found.error());
  std::vector<Diagnostic> refusals;
  for (const Chip& chip : *found)
    for (Refusal& r : judge(kernel, chip).refusals) refusals.push_back(std::move(r.diagnostic));
  return refusals;
}

Status checkLegal(const KernelPackage& kernel, std::string_view chips) {
  if (chips.empty()) return firstOf(notLowered(kernel));
  auto refusals = refusalsOf(kernel, chips);
  return refusals ? firstOf(std::move(*refusals)) : fail(std::move(refusals.error()));
}

}  // namespace smalti::tpu
