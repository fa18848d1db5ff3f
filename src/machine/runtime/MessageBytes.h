// Messages between devices as bytes, and back. What other processes send is not trusted: what cannot be read is refused
// here, what fits no memory by the Inbox.
#pragma once

#include <optional>

#include "base/io/ByteStream.h"
#include "machine/Transport.h"

namespace smalti::machine {

void write(ByteWriter&, const PutMessage&);
void write(ByteWriter&, const SignalMessage&);
/// `data` and `mask` are spans of what is read from. Check `ok` of the reader after it.
PutMessage readPut(ByteReader&);
SignalMessage readSignal(ByteReader&);

}  // namespace smalti::machine
