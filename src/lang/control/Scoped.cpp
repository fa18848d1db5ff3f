// run_scoped, empty_ref: ops "run_scoped", whose region takes Refs to new memory, and "empty_ref".
#include <fmt/format.h>

#include "lang/debug/Debug.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/Place.h"
#include "lang/trace/Trace.h"
#include "smalti/memory.h"

namespace smalti {
namespace {

using lang::AtPlace, lang::Trace;

/// Where the memory is; error SM6120 where a kernel cannot allocate.
MemorySpace checkedSpace(const MemoryRef& type) {
  const MemorySpace space = type.space == MemorySpace::unspecified ? MemorySpace::vmem : type.space;
  const bool semaphores = space == MemorySpace::semaphore;
  const bool possible = space == MemorySpace::vmem || space == MemorySpace::smem || semaphores;
  if (!possible || semaphores != is_semaphore(type.dtype))
    lang::refuse({.code = "SM6120",
                  .message = fmt::format("Cannot allocate {}{}", ArrayType{type.dtype, type.shape}.str(),
                                         possible                    ? ""
                                         : space == MemorySpace::hbm ? " in HBM"
                                         : space == MemorySpace::any ? " in ANY"
                                                                     : " in host memory"),
                  .place = {},
                  .need = "VMEM or SMEM for arrays, semaphore_type for semaphores",
                  .help = possible ? "write semaphore_type::dma() or semaphore_type::regular()"
                                   : "give the kernel an output of its own as work space, in any_space"});
  return space;
}

/// "poison" stands on what is filled before it is used (E8).
lang::Attributes poisoned() {
  if (!lang::poisonBuffersEnabled()) return {};
  return {{"poison", true}};
}

}  // namespace

detail::Arrays detail::run_scoped(const std::vector<MemoryRef>& types, const std::function<Arrays(const Ref*)>& body) {
  const Location at = types.empty() ? Location() : types[0].at;
  std::vector<std::pair<ArrayType, MemorySpace>> refs;
  Trace* trace = nullptr;
  {
    AtPlace place(at);
    trace = &lang::kernelTrace("run_scoped");
  }
  for (const MemoryRef& t : types) {
    AtPlace place(t.at);
    refs.emplace_back(ArrayType{t.dtype, t.shape}, checkedSpace(t));
  }
  std::vector<ArrayType> results;
  std::vector<bool> weak;
  lang::Attributes attributes = poisoned();
  Block block = trace->refBlock(refs, [&](std::span<const Ref> inside) {
    Arrays values = body(inside.data());
    for (const Array& v : values) {
      results.push_back(v.type());
      weak.push_back(v.weak_type());
    }
    return values;
  });
  AtPlace place(at);
  std::vector<Block> regions;
  regions.push_back(std::move(block));
  Arrays values = trace->record("run_scoped", {}, results, std::move(attributes), std::move(regions));
  for (size_t i = 0; i < values.size(); ++i) values[i] = values[i].with_weak_type(weak[i]);
  return values;
}

Ref empty_ref(const MemoryRef& type) {
  AtPlace place(type.at);
  Trace& trace = lang::kernelTrace("empty_ref");
  const MemorySpace space = checkedSpace(type);
  return trace.recordRef("empty_ref", {}, {type.dtype, type.shape}, space, poisoned());
}

Ref empty_ref_like(const Ref& x, Location at) {
  const MemorySpace space = x.memory_space();
  const bool here = space == MemorySpace::smem || space == MemorySpace::semaphore;
  return empty_ref({x.shape(), x.dtype(), here ? space : MemorySpace::vmem, at});
}

}  // namespace smalti
