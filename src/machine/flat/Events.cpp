#include "machine/flat/Events.h"

namespace smalti::machine::flat {

InstructionEvents::InstructionEvents(const FlatProgram& program) : code_(program.code.data()) {
  const OpTable& table = program.table;
  for (int32_t type : table.typeOf) types_.push_back(table.types[static_cast<size_t>(type)]);
  std::vector<std::vector<size_t>> guests(table.ops.size());  // ops without instructions, by whom they come with
  for (size_t i = 0; i < table.ops.size(); ++i) {
    const OpTable::Op& op = table.ops[i];
    const ValueType* types = types_.data() + op.firstType;
    ops_.push_back({.name = table.names[static_cast<size_t>(op.name)],
                    .kind = op.kind,
                    .operands = {types, static_cast<size_t>(op.numOperands)},
                    .results = {types + op.numOperands, static_cast<size_t>(op.numResults)},
                    .place = &program.places[static_cast<size_t>(op.place)]});
    if (op.comesWith >= 0 && static_cast<size_t>(op.comesWith) != i)
      guests[static_cast<size_t>(op.comesWith)].push_back(i);
  }
  std::vector<bool> begun(ops_.size());
  for (int32_t number : table.opOf) {
    const auto op = static_cast<size_t>(number);
    first_.push_back(events_.size());
    if (!begun[op])
      for (size_t guest : guests[op]) events_.push_back({&ops_[guest], true});
    events_.push_back({&ops_[op], !begun[op]});
    begun[op] = true;
  }
  first_.push_back(events_.size());
}

}  // namespace smalti::machine::flat
