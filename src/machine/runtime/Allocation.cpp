#include "machine/runtime/Allocation.h"

namespace smalti::machine {

void forget(Allocation& a, Poison kind, bool tracks) {
  const int64_t n = a.type.elements();
  poison(a.type.dtype, kind, a.data(), n);
  const bool undefined = tracks && !is_semaphore(a.type.dtype);
  a.allDefined = !undefined;
  if (undefined)
    a.defined.assign(n, 0);
  else
    a.defined.clear();
}

Result<std::unique_ptr<Allocation>> makeAllocation(Allocation::Kind kind, int index, std::string name, ArrayType type,
                                                   MemoryKind space, MemoryAccount& account, Poison poisonKind,
                                                   bool tracks) {
  if (auto ok = account.take(type.bytes(), name); !ok) return fail(std::move(ok.error()));
  auto storage = Array::allocate(type);
  if (!storage) {
    storage.error().where.push_back(name);
    return fail(std::move(storage.error()));
  }
  auto a = std::make_unique<Allocation>();
  a->kind = kind;
  a->index = index;
  a->name = std::move(name);
  a->type = std::move(type);
  a->space = space;
  a->storage = std::move(*storage);
  forget(*a, poisonKind, tracks);
  return a;
}

}  // namespace smalti::machine
