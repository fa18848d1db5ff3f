#include "cpu/cache/BuildId.h"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <string_view>

#include "base/Arithmetic.h"
#include "base/Lasting.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ManagedStatic.h"

namespace smalti::cpu {
namespace {

struct Search {
  uintptr_t address;
  std::string id;
};

/// The build ID among the notes of a segment; empty when there is none. Notes are in memory that the loader has read.
std::string buildIdIn(const char* note, size_t bytes, size_t alignment) {
  const auto padded = [&](size_t n) { return roundUp(n, alignment); };
  constexpr std::string_view kOwner("GNU\0", 4);
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof header);
    const size_t nameAt = sizeof header, idAt = nameAt + padded(header.n_namesz), end = idAt + padded(header.n_descsz);
    if (end > bytes) return "";
    if (header.n_type == NT_GNU_BUILD_ID && std::string_view(note + nameAt, header.n_namesz) == kOwner)
      return llvm::toHex(llvm::StringRef(note + idAt, header.n_descsz), /*LowerCase=*/true);
    note += end;
    bytes -= end;
  }
  return "";
}

int look(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const std::basic_string_view<ElfW(Phdr)> segments(object->dlpi_phdr, object->dlpi_phnum);
  bool holdsIt = false;
  for (const ElfW(Phdr) & s : segments)
    holdsIt |= s.p_type == PT_LOAD && search.address - object->dlpi_addr - s.p_vaddr < s.p_memsz;
  if (!holdsIt) return 0;
  for (const ElfW(Phdr) & s : segments)
    if (s.p_type == PT_NOTE && search.id.empty())
      search.id =
          buildIdIn(reinterpret_cast<const char*>(object->dlpi_addr + s.p_vaddr), s.p_memsz, s.p_align == 8 ? 8 : 4);
  return 1;
}

}  // namespace

std::string buildIdAt(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), {}};
  ::dl_iterate_phdr(look, &search);
  return search.id;
}

const std::string& buildId() {
  static constinit Lasting<const std::string> id;
  return id.get([] {
    const std::string own = buildIdAt(reinterpret_cast<const void*>(&buildIdAt));
    return own.empty() ? own : own + " " + buildIdAt(reinterpret_cast<const void*>(&llvm::llvm_shutdown));
  });
}

}  // namespace smalti::cpu
