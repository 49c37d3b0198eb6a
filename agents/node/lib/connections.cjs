// What the agent knows of a socket: its number, its addresses (which are gone when it closes) and how many
// requests went over it. The count is right from the socket's first byte or it is not given at all: where
// bytes went out before the agent looked, requests have number 0 and the bytes must tell. Reads no data.
'use strict';

const KEY = Symbol('slowpath.connection');

class Connection {
  constructor(socket, recording, isNew) {
    this.socket = socket;
    this.id = recording.newNumber();
    const handle = socket._handle;
    this.fd = handle && handle.fd >= 0 ? handle.fd : -1;
    this.localAddress = withoutMapping(socket.localAddress);
    this.localPort = socket.localPort || 0;
    this.remoteAddress = withoutMapping(socket.remoteAddress);
    this.remotePort = socket.remotePort || 0;
    /** Bytes written before the next Redis command; kept by redis.cjs. */
    this.offset = 0;
    this.startCounting(recording, isNew);
  }

  startCounting(recording, isNew) {
    this.turn = recording.turn;
    // A client that has asked before has written, and so has a server that was asked before.
    const written = isNew ? 0 : this.socket.bytesWritten;
    this.isCounted = written === 0;
    this.count = 0;
    this.offset = written;
  }

  /** The number of the request or command that comes now. */
  nextNumber() {
    return this.isCounted ? ++this.count : 0;
  }
}

/**
 * To be asked just before the request or command is counted, when the socket is connected. `isNew`: it was
 * only just connected, and what it counts as written is waiting still.
 */
function connectionOf(socket, recording, isNew = false) {
  const known = socket[KEY];
  if (known === undefined) return (socket[KEY] = new Connection(socket, recording, isNew));
  if (known.turn !== recording.turn) known.startCounting(recording, isNew);
  return known;
}

/** A socket for both kinds of addresses shows those of IPv4 in another form than the other end does. */
const withoutMapping = (address) =>
  address === undefined ? '' : address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;

module.exports = { connectionOf };
