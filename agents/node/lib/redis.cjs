// Commands of the Redis clients ioredis and node-redis. Their diagnostics channels (of their newest versions)
// do not say over which connection a command goes, nor when; so the agent looks at the few inner functions
// that all their versions have: where a command is made, and where it becomes bytes. It counts arguments
// and bytes and reads the name; keys and values stay where they are.
'use strict';

const net = require('net');
const { followFiles } = require('./modules.cjs');
const { nameOf } = require('./redis-commands.cjs');

const COMMAND = Symbol('slowpath.command');

function follow(recording) {
  const newCommand = () => ({ context: recording.newNumber(), cause: recording.currentContext() });
  const send = (command, socket) => {
    const connection = recording.connectionOf(socket);
    recording.tellRedis(command, connection, connection.nextNumber(), connection.offset);
    connection.offset += command.bytes;
  };
  followFiles(recording, [
    [
      /[/\\]ioredis[/\\]built[/\\]Command\.js$/,
      (exports) => followIoredis(exports?.default, recording, newCommand, send),
    ],
    [
      /[/\\]@redis[/\\]client[/\\]dist[/\\]lib[/\\]client[/\\]commands-queue\.js$/,
      (exports) => followQueue(exports?.default, recording, newCommand),
    ],
    [
      /[/\\]@redis[/\\]client[/\\]dist[/\\]lib[/\\](client[/\\]RESP2|RESP)[/\\]encoder\.js$/,
      (exports) => followEncoder(exports, recording, newCommand, send),
    ],
    [
      /[/\\]@redis[/\\]client[/\\]dist[/\\]lib[/\\]client[/\\]pool\.js$/,
      (exports) => followPool(exports?.RedisClientPool, recording),
    ],
  ]);
}

/** ioredis makes a Command where the application asks, and turns it into bytes just before it writes. */
function followIoredis(Command, recording, newCommand, send) {
  const { initPromise, toWritable } = Command?.prototype ?? {};
  if (typeof initPromise !== 'function' || typeof toWritable !== 'function') return;
  const made = recording.guarded((command) => (command[COMMAND] = newCommand()));
  Command.prototype.initPromise = function () {
    if (recording.on) made(this);
    return initPromise.apply(this, arguments);
  };
  const written = recording.guarded((command, [bytes, socket]) => {
    const told = command[COMMAND] ?? newCommand();
    told.name = nameOf(command.name);
    told.argumentCount = command.args.length;
    told.bytes = Buffer.byteLength(bytes);
    if (socket instanceof net.Socket) send(told, socket);
  });
  Command.prototype.toWritable = function (socket) {
    const bytes = toWritable.apply(this, arguments);
    if (recording.on) written(this, [bytes, socket]);
    return bytes;
  };
}

/** node-redis takes the words of a command where the application asks… */
const commandOfWords = new WeakMap();
function followQueue(CommandsQueue, recording, newCommand) {
  const { addCommand } = CommandsQueue?.prototype ?? {};
  if (typeof addCommand !== 'function') return;
  const made = recording.guarded((words) => commandOfWords.set(words, newCommand()));
  CommandsQueue.prototype.addCommand = function (words) {
    if (recording.on) made(words);
    return addCommand.apply(this, arguments);
  };
}

/** … encodes them later, in the order on the wire, and writes the pieces to its socket at once. */
function followEncoder(exports, recording, newCommand, send) {
  const encode = exports?.default;
  if (typeof encode !== 'function') return;
  let encoded; // the command whose first piece is written next
  const isEncoded = recording.guarded((words, pieces) => {
    encoded = commandOfWords.get(words) ?? newCommand();
    encoded.name = nameOf(words[0]);
    encoded.argumentCount = words.length - 1;
    encoded.firstPiece = pieces[0];
    encoded.bytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  });
  exports.default = function (words) {
    const pieces = encode.apply(this, arguments);
    if (recording.on) isEncoded(words, pieces);
    return pieces;
  };

  const isWritten = recording.guarded((socket, piece) => {
    const command = encoded;
    encoded = undefined;
    if (recording.on && command.firstPiece === piece) send(command, socket);
    command.firstPiece = undefined;
  });
  const write = net.Socket.prototype.write;
  net.Socket.prototype.write = function (piece) {
    if (encoded !== undefined) isWritten(this, piece);
    return write.apply(this, arguments);
  };
}

/** A pool of node-redis keeps work until a client has done somebody else's, and begins it there. */
function followPool(Pool, recording) {
  const { execute } = Pool?.prototype ?? {};
  if (typeof execute !== 'function') return;
  Pool.prototype.execute = function (work, ...rest) {
    if (!recording.on || typeof work !== 'function') return execute.apply(this, arguments);
    const context = recording.currentContext();
    return execute.call(this, (client) => recording.inContext(context, () => work(client)), ...rest);
  };
}

module.exports = { follow };
