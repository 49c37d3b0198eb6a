// How the add-on is told (addon.c): its calls are cheap, but each argument of one is not. So numbers go by an
// array that both see, and a connection's addresses only when its slot in the add-on's table had another one:
// however many connections come and go, the table stays as it is.
'use strict';

// Places in the array; the same in addon.c.
const MOMENT = 0;
const SLOT = 1;
const CONTEXT = 2;
const CAUSE = 3;
const NUMBER = 4;
const VERSION = 5;
const STATUS = 6;
const BYTES = 7;
const OFFSET = 5;
const ARGUMENTS = 6;

const SLOTS = 1024;

function teller(native) {
  const { numbers, request, response, redis, connection } = native;
  /** Which connection has which slot; 0: none. */
  const owners = new Array(SLOTS).fill(0);

  function tellPlace(context, cause, to, number) {
    const slot = to.id % SLOTS;
    if (owners[slot] !== to.id) {
      connection(slot, to.id, to.fd, to.localAddress, to.localPort, to.remoteAddress, to.remotePort);
      owners[slot] = to.id;
    }
    numbers[SLOT] = slot;
    numbers[CONTEXT] = context;
    numbers[CAUSE] = cause;
    numbers[NUMBER] = number;
  }

  return {
    /**
     * That a request begins at one of its ends: `work` is {context, cause, connection, number, version}; `bytes` went over the
     * connection so far, of those that the end tells.
     */
    tellRequest(moment, work, bytes, method, path) {
      tellPlace(work.context, work.cause, work.connection, work.number);
      numbers[MOMENT] = moment;
      numbers[VERSION] = work.version;
      numbers[BYTES] = bytes;
      request(method, path);
    },
    tellResponse(moment, work, status) {
      tellPlace(work.context, work.cause, work.connection, work.number);
      numbers[MOMENT] = moment;
      numbers[VERSION] = work.version;
      numbers[STATUS] = status;
      response();
    },
    /** `command`: {context, cause, name, argumentCount, bytes}. */
    tellRedis(command, to, number, offset) {
      tellPlace(command.context, command.cause, to, number);
      numbers[OFFSET] = offset;
      numbers[BYTES] = command.bytes;
      numbers[ARGUMENTS] = command.argumentCount;
      redis(command.name);
    },
  };
}

module.exports = { teller };
