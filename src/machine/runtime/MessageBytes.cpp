#include "machine/runtime/MessageBytes.h"

namespace smalti::machine {
namespace {

/// A dtype that there is; any other is read as one that no memory of a kernel has.
DType readDType(ByteReader& r) {
  const auto number = r.get<uint8_t>();
  return number < kNumDTypes ? static_cast<DType>(number) : DType::c128;
}

void write(ByteWriter& w, const Sender& s) {
  w.add(s.device);
  w.add(s.core);
  w.add(s.place.file);
  w.add(s.place.line);
  w.add(s.place.column);
}
Sender readSender(ByteReader& r) {
  Sender s;
  s.device = r.get<int>();
  s.core = r.get<int>();
  s.place.file = r.text();
  s.place.line = r.get<int>();
  s.place.column = r.get<int>();
  return s;
}

void write(ByteWriter& w, const Address& a) {
  w.add(a.allocation.kind);
  w.add(a.allocation.index);
  w.add(a.allocation.device);
  w.add(a.allocation.core);
  w.add(a.type.dtype);
  w.add(a.type.shape);
  w.add(a.offset);
  w.add(a.shape);
  w.add(a.strides);
  w.add(static_cast<uint64_t>(a.transforms.size()));
  for (const RefTransform& t : a.transforms) {
    w.add(t.kind);
    w.add(t.dtype);
    w.add(t.shape);
    w.add(t.starts);
  }
  w.add(a.padding);
  w.add(a.present);
}
Address readAddress(ByteReader& r) {
  Address a;
  a.allocation.kind = r.get<AllocationKind>();
  a.allocation.index = r.get<int>();
  a.allocation.device = r.get<int>();
  a.allocation.core = r.get<int>();
  a.type.dtype = readDType(r);
  a.type.shape = r.numbers<int64_t>();
  a.offset = r.get<int64_t>();
  a.shape = r.numbers<int64_t>();
  a.strides = r.numbers<int64_t>();
  for (auto n = r.get<uint64_t>(); n > 0 && r.ok(); --n) {
    RefTransform t{.kind = r.get<RefTransform::Kind>(), .dtype = readDType(r), .shape = {}, .starts = {}};
    t.shape = r.numbers<int64_t>();
    t.starts = r.numbers<int64_t>();
    a.transforms.push_back(std::move(t));
  }
  a.padding = r.numbers<int64_t>();
  a.present = r.numbers<int64_t>();
  return a;
}

}  // namespace

void write(ByteWriter& w, const PutMessage& m) {
  w.add(m.id);
  write(w, m.sender);
  write(w, m.target);
  write(w, m.semaphore);
  w.add(m.credit);
  w.addList(m.data);
  w.addList(m.mask);
}
PutMessage readPut(ByteReader& r) {
  PutMessage m;
  m.id = r.get<int64_t>();
  m.sender = readSender(r);
  m.target = readAddress(r);
  m.semaphore = readAddress(r);
  m.credit = r.get<int64_t>();
  m.data = r.list(1);
  const auto mask = r.list(1);
  m.mask = {reinterpret_cast<const uint8_t*>(mask.data()), mask.size()};
  return m;
}

void write(ByteWriter& w, const SignalMessage& m) {
  write(w, m.sender);
  write(w, m.semaphore);
  w.add(m.amount);
}
SignalMessage readSignal(ByteReader& r) {
  SignalMessage m;
  m.sender = readSender(r);
  m.semaphore = readAddress(r);
  m.amount = r.get<int64_t>();
  return m;
}

}  // namespace smalti::machine
